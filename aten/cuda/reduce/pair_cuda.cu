// Sums for the gradients of normalisations.
#include "aten/cuda/reduce/exact_sum.cuh"
#include "aten/cuda/reduce/reduce.cuh"
#include "aten/cuda/reduce/reduce.h"

namespace at::cuda {
namespace {

template <class T, bool kByPosition>
struct GradientSums {
  using Compute = T;
  struct State {
    ExactSum<T> g, gx;
  };
  static constexpr bool kOrdered = true, kPairs = true;

  static KD_DEVICE void step(State& s, const T* g, const T* x, int n, int64_t position, int64_t step, int64_t output,
                             const ReducePair& pair) {
#pragma unroll
    for (int i = 0; i < n; ++i) {
      s.g.add(g[i]);
      if constexpr (kByPosition) {
        const int64_t place = position + i * step;
        s.gx.add(g[i] * ((x[i] - static_cast<T>(pair.center[place])) * static_cast<T>(pair.scale[place])));
      } else {
        s.gx.add(g[i] * (x[i] - static_cast<T>(pair.center[output])));
      }
    }
  }
  static KD_DEVICE void join(State& into, const State& from) {
    into.g.add(from.g);
    into.gx.add(from.gx);
  }
  static KD_DEVICE void finish(const State& s, const ReduceResults& results, const ReduceParams&) {
    results.put<0>(s.g.value());
    results.put<1>(s.gx.value());
  }
};

template <bool kByPosition>
ReduceLaunchers launchers(ScalarType dtype) {
  if (dtype == ScalarType::Double) return reduce_launchers<GradientSums<double, kByPosition>>();
  return reduce_launchers<GradientSums<float, kByPosition>>();
}

}  // namespace

namespace reductions {

#if KD_CUDA_HAS(gradient_sums)
ReduceLaunchers gradient_sums(ScalarType dtype, const cpu::ReduceParams&) {
  return launchers<false>(dtype);
}
#endif
#if KD_CUDA_HAS(scaled_gradient_sums)
ReduceLaunchers scaled_gradient_sums(ScalarType dtype, const cpu::ReduceParams&) {
  return launchers<true>(dtype);
}
#endif

}  // namespace reductions
}  // namespace at::cuda
