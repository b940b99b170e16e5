// cumsum, cumprod.
#include "aten/cuda/scan/scan.cuh"

namespace at::cuda {
namespace {

template <bool kProduct, class T>
struct Cumulate {
  using Compute = T;
  struct State {
    T value = kProduct ? T(1) : T(0);
  };
  static constexpr bool kOneByOne = false, kIndices = false;

  static KD_DEVICE State of(T x, int64_t) {
    State state;
    state.value = x;
    return state;
  }
  static KD_DEVICE State join(const State& a, const State& b) {
    if constexpr (std::is_same_v<T, int64_t>) {
      const auto x = static_cast<uint64_t>(a.value), y = static_cast<uint64_t>(b.value);  // wraps around
      return of(static_cast<int64_t>(kProduct ? x * y : x + y), 0);
    } else if constexpr (kIsComplex<T> && kProduct) {
      const T x = a.value, y = b.value;
      return of(T(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()), 0);
    } else {
      return of(kProduct ? a.value * b.value : a.value + b.value, 0);
    }
  }
  static KD_DEVICE T value(const State& state) { return state.value; }
};

template <bool kProduct>
ScanLaunchers launchers(ScalarType dtype) {
  if (c10::isComplexType(dtype)) return scan_launchers<Cumulate<kProduct, c10::complex<double>>>();
  if (c10::isFloatingType(dtype)) return scan_launchers<Cumulate<kProduct, double>>();
  return scan_launchers<Cumulate<kProduct, int64_t>>();
}

}  // namespace

ScanLaunchers cumsum_launchers(ScalarType dtype) {
  return launchers<false>(dtype);
}
ScanLaunchers cumprod_launchers(ScalarType dtype) {
  return launchers<true>(dtype);
}

}  // namespace at::cuda
