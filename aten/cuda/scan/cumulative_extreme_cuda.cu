// cummax, cummin: of equal elements the last one is named, and after a NaN all is NaN.
#include "aten/cuda/reduce/extreme.cuh"
#include "aten/cuda/scan/scan.cuh"

namespace at::cuda {
namespace {

template <bool kMax, class T>
struct CumulativeExtreme {
  using Compute = T;
  struct State {
    T best = neutral<T, kMax>();
    int64_t where = 0;
  };
  static constexpr bool kOneByOne = false, kIndices = true;

  static KD_DEVICE State of(T x, int64_t index) {
    State state;
    state.best = x;
    state.where = index;
    return state;
  }
  static KD_DEVICE State join(const State& a, const State& b) {
    const bool later = b.best != b.best || (a.best == a.best && (kMax ? b.best >= a.best : b.best <= a.best));
    return later ? b : a;
  }
  static KD_DEVICE T value(const State& state) { return state.best; }
  static KD_DEVICE int64_t index(const State& state) { return state.where; }
};

template <bool kMax>
ScanLaunchers launchers(ScalarType dtype) {
  if (dtype == ScalarType::Double) return scan_launchers<CumulativeExtreme<kMax, double>>();
  if (c10::isFloatingType(dtype)) return scan_launchers<CumulativeExtreme<kMax, float>>();
  return scan_launchers<CumulativeExtreme<kMax, int64_t>>();
}

}  // namespace

ScanLaunchers cummax_launchers(ScalarType dtype) {
  return launchers<true>(dtype);
}
ScanLaunchers cummin_launchers(ScalarType dtype) {
  return launchers<false>(dtype);
}

}  // namespace at::cuda
