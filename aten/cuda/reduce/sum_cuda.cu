// sum, mean, nansum, prod.
#include "aten/cuda/reduce/operations.cuh"

namespace at::cuda {
namespace {

// Wraps around, as integer sums do.
struct IntegerSum {
  uint64_t sum = 0;
  KD_DEVICE void add(int64_t v) { sum += static_cast<uint64_t>(v); }
  KD_DEVICE void add(const IntegerSum& other) { sum += other.sum; }
};
struct ComplexSum {
  ExactSum<double> real, imag;
  KD_DEVICE void add(c10::complex<double> v) {
    real.add(v.real());
    imag.add(v.imag());
  }
  KD_DEVICE void add(const ComplexSum& other) {
    real.add(other.real);
    imag.add(other.imag);
  }
};

template <class T>
struct SumState {
  using type = ExactSum<T>;
};
template <>
struct SumState<int64_t> {
  using type = IntegerSum;
};
template <>
struct SumState<c10::complex<double>> {
  using type = ComplexSum;
};

template <class T, bool kSkipNan>
struct SumOf {
  using Compute = T;
  using State = typename SumState<T>::type;
  static constexpr bool kOrdered = false;

  static KD_DEVICE void step(State& s, const T* x, int n, int64_t, int64_t, const ReduceParams&) {
#pragma unroll
    for (int i = 0; i < n; ++i) {
      if constexpr (kSkipNan)
        s.add(x[i] == x[i] ? x[i] : T(0));
      else
        s.add(x[i]);
    }
  }
  static KD_DEVICE void join(State& into, const State& from) {
    into.add(from);
  }
  static KD_DEVICE void finish(const State& s, const ReduceResults& results, const ReduceParams& params) {
    if constexpr (kIsComplex<T>) {
      results.put<0>(c10::complex<double>(s.real.value() / params.divisor, s.imag.value() / params.divisor));
    } else if constexpr (std::is_same_v<T, int64_t>) {
      const auto sum = static_cast<int64_t>(s.sum);
      if (params.divisor == 1)
        results.put<0>(sum);
      else
        results.put<0>(static_cast<double>(sum) / params.divisor);
    } else {
      results.put<0>(s.value() / params.divisor);
    }
  }
};
template <class T>
using Sum = SumOf<T, false>;
template <class T>
using NanSum = SumOf<T, true>;

template <class T>
struct Product {
  using Compute = T;
  struct State {
    T value = T(1);
  };
  static constexpr bool kOrdered = false;

  static KD_DEVICE T times(T a, T b) {
    if constexpr (std::is_same_v<T, int64_t>)
      return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else if constexpr (kIsComplex<T>)
      return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
    else
      return a * b;
  }
  static KD_DEVICE void step(State& s, const T* x, int n, int64_t, int64_t, const ReduceParams&) {
#pragma unroll
    for (int i = 0; i < n; ++i) s.value = times(s.value, x[i]);
  }
  static KD_DEVICE void join(State& into, const State& from) {
    into.value = times(into.value, from.value);
  }
  static KD_DEVICE void finish(const State& s, const ReduceResults& results, const ReduceParams&) {
    results.put<0>(s.value);
  }
};

}  // namespace

namespace reductions {

#if KD_CUDA_HAS(sum)
ReduceLaunchers sum(ScalarType dtype, const ReduceParams&) {
  return c10::isComplexType(dtype) ? reduce_launchers<Sum<c10::complex<double>>>() : launchers_of_real<Sum>(dtype);
}
#endif
#if KD_CUDA_HAS(nansum)
ReduceLaunchers nansum(ScalarType dtype, const ReduceParams& params) {
  if (dtype == ScalarType::Double) return reduce_launchers<NanSum<double>>();
  return c10::isFloatingType(dtype) ? reduce_launchers<NanSum<float>>() : sum(dtype, params);
}
#endif
// In double: products of many float elements leave its range on the way.
#if KD_CUDA_HAS(prod)
ReduceLaunchers prod(ScalarType dtype, const ReduceParams&) {
  if (c10::isComplexType(dtype)) return reduce_launchers<Product<c10::complex<double>>>();
  return c10::isFloatingType(dtype) ? reduce_launchers<Product<double>>() : reduce_launchers<Product<int64_t>>();
}
#endif

}  // namespace reductions
}  // namespace at::cuda
