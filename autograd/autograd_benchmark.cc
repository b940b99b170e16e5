// What recording and differentiating cost beyond the arithmetic: eight floats, one thread.

#include <benchmark/benchmark.h>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "autograd/autograd.h"

namespace {

at::Tensor leaf() {
  at::Tensor t = at::ones({8});
  t.set_requires_grad(true);
  return t;
}

void BM_AddRecording(benchmark::State& state) {
  const at::Tensor a = leaf();
  const at::Tensor b = at::ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(at::add(a, b));
}
BENCHMARK(BM_AddRecording);

void BM_MulRecording(benchmark::State& state) {
  const at::Tensor a = leaf();
  const at::Tensor b = leaf();
  for (auto _ : state) benchmark::DoNotOptimize(at::mul(a, b));
}
BENCHMARK(BM_MulRecording);

void BM_MulSumBackward(benchmark::State& state) {
  at::Tensor a = leaf();
  const at::Tensor b = at::ones({8});
  for (auto _ : state) {
    at::sum(at::mul(a, b)).backward();
    a.mutable_grad().reset();
  }
}
BENCHMARK(BM_MulSumBackward);

// A chain of multiplications, forward and backward.
void BM_Chain(benchmark::State& state) {
  at::Tensor a = leaf();
  const at::Tensor b = at::ones({8});
  const at::Tensor one = at::ones({8});
  for (auto _ : state) {
    at::Tensor y = a;
    for (int64_t i = 0; i < state.range(0); ++i) y = at::mul(y, b);
    y.backward(one);
    a.mutable_grad().reset();
  }
}
BENCHMARK(BM_Chain)->Arg(100);

}  // namespace
