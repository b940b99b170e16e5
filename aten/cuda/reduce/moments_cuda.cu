// Mean and variance in one walk.
#include "aten/cuda/reduce/operations.cuh"

namespace at::cuda {
namespace {

// Joined as in Chan, Golub and LeVeque, "Algorithms for computing the sample variance" (1983), eq. 2.1.
struct Moments {
  double count = 0, mean = 0, square = 0;  // square: the sum of squared distances from the mean

  KD_DEVICE void join(const Moments& other) {
    if (other.count == 0) return;
    if (count == 0) {
      *this = other;
      return;
    }
    const double total = count + other.count, delta = other.mean - mean, share = other.count / total;
    square += other.square + delta * delta * (1 - share) * other.count;
    // An infinite mean stays that; as a distance it would end in inf - inf.
    mean = is_finite(delta) ? mean + delta * share : mean * (1 - share) + other.mean * share;
    count = total;
  }
  // n elements at once, about the mean of their own.
  template <class Get>
  KD_DEVICE void take(int n, const Get& get) {
    const double first = get(0);
    double off = 0;
#pragma unroll
    for (int i = 1; i < n; ++i) off += get(i) - first;
    Moments some;
    some.count = n;
    // About the first element, so that equal ones give it exactly; infinities by their own sum.
    some.mean = first + off / n;
    if (!is_finite(some.mean)) {
      some.mean = 0;
#pragma unroll
      for (int i = 0; i < n; ++i) some.mean += get(i);
    }
#pragma unroll
    for (int i = 0; i < n; ++i) some.square += (get(i) - some.mean) * (get(i) - some.mean);
    join(some);
  }
};

KD_DEVICE double variance(double square, double count, const ReduceParams& params) {
  const double v = square / ::fmax(0.0, count - params.correction);
  return params.root ? ::sqrt(v) : v;
}

struct RealMoments {
  using Compute = double;
  using State = Moments;
  static constexpr bool kOrdered = false;

  static KD_DEVICE void step(State& s, const double* x, int n, int64_t, int64_t, const ReduceParams&) {
    s.take(n, [=](int i) { return x[i]; });
  }
  static KD_DEVICE void join(State& into, const State& from) { into.join(from); }
  static KD_DEVICE void finish(const State& s, const ReduceResults& results, const ReduceParams& params) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    results.put<0>(s.count > 0 ? variance(s.square, s.count, params) : nan);
    results.put<1>(s.count > 0 ? s.mean : nan);
  }
};

struct ComplexMoments {
  using Compute = c10::complex<double>;
  struct State {
    Moments real, imag;
  };
  static constexpr bool kOrdered = false;

  static KD_DEVICE void step(State& s, const Compute* x, int n, int64_t, int64_t, const ReduceParams&) {
    s.real.take(n, [=](int i) { return x[i].real(); });
    s.imag.take(n, [=](int i) { return x[i].imag(); });
  }
  static KD_DEVICE void join(State& into, const State& from) {
    into.real.join(from.real);
    into.imag.join(from.imag);
  }
  static KD_DEVICE void finish(const State& s, const ReduceResults& results, const ReduceParams& params) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const bool some = s.real.count > 0;
    results.put<0>(some ? variance(s.real.square + s.imag.square, s.real.count, params) : nan);
    results.put<1>(some ? Compute(s.real.mean, s.imag.mean) : Compute(nan, nan));
  }
};

}  // namespace

namespace reductions {

ReduceLaunchers moments(ScalarType dtype, const ReduceParams&) {
  return c10::isComplexType(dtype) ? reduce_launchers<ComplexMoments>() : reduce_launchers<RealMoments>();
}

}  // namespace reductions
}  // namespace at::cuda
