// all, any, count_nonzero.
#include "aten/cuda/reduce/operations.cuh"

namespace at::cuda {
namespace {

template <bool kAll>
struct Logical {
  using Compute = bool;
  struct State {
    int value = kAll;
  };
  static constexpr bool kOrdered = false;

  static KD_DEVICE void step(State& s, const bool* x, int n, int64_t, int64_t, const ReduceParams&) {
#pragma unroll
    for (int i = 0; i < n; ++i) s.value = kAll ? s.value & x[i] : s.value | x[i];
  }
  static KD_DEVICE void join(State& into, const State& from) {
    into.value = kAll ? into.value & from.value : into.value | from.value;
  }
  static KD_DEVICE void finish(const State& s, const ReduceResults& results, const ReduceParams&) {
    results.put<0>(s.value != 0);
  }
};

struct Count {
  using Compute = bool;
  struct State {
    int64_t value = 0;
  };
  static constexpr bool kOrdered = false;

  static KD_DEVICE void step(State& s, const bool* x, int n, int64_t, int64_t, const ReduceParams&) {
    int some = 0;
#pragma unroll
    for (int i = 0; i < n; ++i) some += x[i];
    s.value += some;
  }
  static KD_DEVICE void join(State& into, const State& from) {
    into.value += from.value;
  }
  static KD_DEVICE void finish(const State& s, const ReduceResults& results, const ReduceParams&) {
    results.put<0>(s.value);
  }
};

}  // namespace

namespace reductions {

#if KD_CUDA_HAS(all)
ReduceLaunchers all(ScalarType, const ReduceParams&) {
  return reduce_launchers<Logical<true>>();
}
#endif
#if KD_CUDA_HAS(any)
ReduceLaunchers any(ScalarType, const ReduceParams&) {
  return reduce_launchers<Logical<false>>();
}
#endif
#if KD_CUDA_HAS(count_nonzero)
ReduceLaunchers count_nonzero(ScalarType, const ReduceParams&) {
  return reduce_launchers<Count>();
}
#endif

}  // namespace reductions
}  // namespace at::cuda
