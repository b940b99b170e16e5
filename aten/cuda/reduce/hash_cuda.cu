#include "aten/cuda/reduce/hash.h"
#include "aten/cuda/reduce/reduce.cuh"

namespace at::cuda {
namespace {

struct ExclusiveOr {
  using Compute = int64_t;
  struct State {
    uint64_t bits = 0;
  };
  static constexpr bool kOrdered = false;

  static KD_DEVICE void step(State& s, const int64_t* x, int n, int64_t, int64_t, const ReduceParams&) {
#pragma unroll
    for (int i = 0; i < n; ++i) s.bits ^= static_cast<uint64_t>(x[i]);
  }
  static KD_DEVICE void join(State& into, const State& from) {
    into.bits ^= from.bits;
  }
  static KD_DEVICE void finish(const State& s, const ReduceResults& results, const ReduceParams&) {
    results.put<0>(s.bits);
  }
};

}  // namespace

ReduceLaunchers exclusive_or(ScalarType, const cpu::ReduceParams&) {
  return reduce_launchers<ExclusiveOr>();
}

}  // namespace at::cuda
