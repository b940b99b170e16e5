// argmax, argmin.
#include "aten/cuda/reduce/extreme.cuh"

namespace at::cuda {
namespace {

// The value and the position of its first occurrence.
template <class T, bool kMax>
struct Arg {
  using Compute = T;
  struct State {
    T value = neutral<T, kMax>();
    int64_t position = -1;
  };
  static constexpr bool kOrdered = true;

  static KD_DEVICE void take(State& s, T v, int64_t position) {
    if (position < 0) return;
    const bool replaces =
        s.position < 0 || better<kMax>(v, s.value) || (position < s.position && !better<kMax>(s.value, v));
    if (replaces) {
      s.value = v;
      s.position = position;
    }
  }
  static KD_DEVICE void step(State& s, const T* x, int n, int64_t position, int64_t step, const ReduceParams&) {
#pragma unroll
    for (int i = 0; i < n; ++i) take(s, x[i], position + i * step);
  }
  static KD_DEVICE void join(State& into, const State& from) {
    take(into, from.value, from.position);
  }
  static KD_DEVICE void finish(const State& s, const ReduceResults& results, const ReduceParams&) {
    results.put<0>(s.value);
    results.put<1>(s.position);
  }
};
template <class T>
using ArgMax = Arg<T, true>;
template <class T>
using ArgMin = Arg<T, false>;

}  // namespace

namespace reductions {

#if KD_CUDA_HAS(argmax)
ReduceLaunchers argmax(ScalarType dtype, const ReduceParams&) {
  return launchers_of_real<ArgMax>(dtype);
}
#endif
#if KD_CUDA_HAS(argmin)
ReduceLaunchers argmin(ScalarType dtype, const ReduceParams&) {
  return launchers_of_real<ArgMin>(dtype);
}
#endif

}  // namespace reductions
}  // namespace at::cuda
