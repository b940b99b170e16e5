// Vector norms and logsumexp, in double: squares and exponentials of float elements leave its range.
#include "aten/cuda/reduce/operations.cuh"

namespace at::cuda {
namespace {

enum class NormKind { kZero, kOne, kTwo, kInf, kNegInf, kPower };

KD_DEVICE double magnitude(double v) {
  return ::fabs(v);
}
KD_DEVICE double magnitude(c10::complex<double> v) {
  return ::hypot(v.real(), v.imag());
}

template <NormKind kKind, class T>
struct Norm {
  using Compute = T;
  struct State {
    double value = kKind == NormKind::kNegInf ? std::numeric_limits<double>::infinity() : 0.0;
  };
  static constexpr bool kOrdered = false;

  static KD_DEVICE void take(State& s, double v) {
    if constexpr (kKind == NormKind::kInf) {
      if (s.value == s.value && !(v <= s.value)) s.value = v;
    } else if constexpr (kKind == NormKind::kNegInf) {
      if (s.value == s.value && !(v >= s.value)) s.value = v;
    } else {
      s.value += v;
    }
  }
  static KD_DEVICE void step(State& s, const T* x, int n, int64_t, int64_t, const ReduceParams& params) {
#pragma unroll
    for (int i = 0; i < n; ++i) {
      const double a = magnitude(x[i]);
      if constexpr (kKind == NormKind::kZero)
        take(s, a != 0 ? 1.0 : 0.0);
      else if constexpr (kKind == NormKind::kTwo)
        take(s, a * a);
      else if constexpr (kKind == NormKind::kPower)
        take(s, ::pow(a, params.p));
      else
        take(s, a);
    }
  }
  static KD_DEVICE void join(State& into, const State& from) {
    take(into, from.value);
  }
  static KD_DEVICE void finish(const State& s, const ReduceResults& results, const ReduceParams& params) {
    double v = s.value;
    if constexpr (kKind == NormKind::kTwo) v = ::sqrt(v);
    if constexpr (kKind == NormKind::kPower) v = ::pow(v, 1 / params.p);
    results.put<0>(v);
  }
};

struct LogSumExp {
  using Compute = double;
  // exp(top) * sum
  struct State {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
  };
  static constexpr bool kOrdered = false;

  static KD_DEVICE void take(State& s, double top, double sum) {
    if (sum == 0) return;
    if (s.sum == 0) {
      s.top = top;
      s.sum = sum;
    } else if (top == s.top) {
      s.sum += sum;
    } else if (top < s.top) {
      s.sum += sum * ::exp(top - s.top);
    } else {
      s.sum = s.sum * ::exp(s.top - top) + sum;
      s.top = top;
    }
  }
  static KD_DEVICE void step(State& s, const double* x, int n, int64_t, int64_t, const ReduceParams&) {
#pragma unroll
    for (int i = 0; i < n; ++i) take(s, x[i], x[i] == -std::numeric_limits<double>::infinity() ? 0.0 : 1.0);
  }
  static KD_DEVICE void join(State& into, const State& from) {
    take(into, from.top, from.sum);
  }
  static KD_DEVICE void finish(const State& s, const ReduceResults& results, const ReduceParams&) {
    results.put<0>(s.sum == 0 ? -std::numeric_limits<double>::infinity() : s.top + ::log(s.sum));
  }
};

template <class T>
ReduceLaunchers norm_of(double p) {
  if (p == 0) return reduce_launchers<Norm<NormKind::kZero, T>>();
  if (p == 1) return reduce_launchers<Norm<NormKind::kOne, T>>();
  if (p == 2) return reduce_launchers<Norm<NormKind::kTwo, T>>();
  if (p == std::numeric_limits<double>::infinity()) return reduce_launchers<Norm<NormKind::kInf, T>>();
  if (p == -std::numeric_limits<double>::infinity()) return reduce_launchers<Norm<NormKind::kNegInf, T>>();
  return reduce_launchers<Norm<NormKind::kPower, T>>();
}

}  // namespace

namespace reductions {

#if KD_CUDA_HAS(norm)
ReduceLaunchers norm(ScalarType dtype, const ReduceParams& params) {
  return c10::isComplexType(dtype) ? norm_of<c10::complex<double>>(params.p) : norm_of<double>(params.p);
}
#endif
#if KD_CUDA_HAS(logsumexp)
ReduceLaunchers logsumexp(ScalarType, const ReduceParams&) {
  return reduce_launchers<LogSumExp>();
}
#endif

}  // namespace reductions
}  // namespace at::cuda
