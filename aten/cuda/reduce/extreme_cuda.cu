// max, min.
#include "aten/cuda/reduce/extreme.cuh"

namespace at::cuda {
namespace {

template <class T, bool kMax>
struct Extreme {
  using Compute = T;
  struct State {
    T value = neutral<T, kMax>();
  };
  static constexpr bool kOrdered = false;

  static KD_DEVICE void take(State& s, T v) {
    if (better<kMax>(v, s.value)) s.value = v;
  }
  static KD_DEVICE void step(State& s, const T* x, int n, int64_t, int64_t, const ReduceParams&) {
#pragma unroll
    for (int i = 0; i < n; ++i) take(s, x[i]);
  }
  static KD_DEVICE void join(State& into, const State& from) {
    take(into, from.value);
  }
  static KD_DEVICE void finish(const State& s, const ReduceResults& results, const ReduceParams&) {
    results.put<0>(s.value);
  }
};
template <class T>
using Max = Extreme<T, true>;
template <class T>
using Min = Extreme<T, false>;

template <class T>
struct MinMax {
  using Compute = T;
  struct State {
    T least = neutral<T, false>(), greatest = neutral<T, true>();
  };
  static constexpr bool kOrdered = false;

  static KD_DEVICE void take(State& s, T least, T greatest) {
    if (better<false>(least, s.least)) s.least = least;
    if (better<true>(greatest, s.greatest)) s.greatest = greatest;
  }
  static KD_DEVICE void step(State& s, const T* x, int n, int64_t, int64_t, const ReduceParams&) {
#pragma unroll
    for (int i = 0; i < n; ++i) take(s, x[i], x[i]);
  }
  static KD_DEVICE void join(State& into, const State& from) {
    take(into, from.least, from.greatest);
  }
  static KD_DEVICE void finish(const State& s, const ReduceResults& results, const ReduceParams&) {
    results.put<0>(s.least);
    results.put<1>(s.greatest);
  }
};

}  // namespace

namespace reductions {

#if KD_CUDA_HAS(max)
ReduceLaunchers max(ScalarType dtype, const ReduceParams&) {
  return launchers_of_real<Max>(dtype);
}
#endif
#if KD_CUDA_HAS(min)
ReduceLaunchers min(ScalarType dtype, const ReduceParams&) {
  return launchers_of_real<Min>(dtype);
}
#endif
#if KD_CUDA_HAS(minmax)
ReduceLaunchers minmax(ScalarType dtype, const ReduceParams&) {
  return launchers_of_real<MinMax>(dtype);
}
#endif

}  // namespace reductions
}  // namespace at::cuda
