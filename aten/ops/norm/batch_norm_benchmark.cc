// Batch normalization and its gradients; `bytes` are those that must move: input and result, for gradients two inputs and one.
#include <benchmark/benchmark.h>

#include "aten/aten.h"
#include "autograd/autograd.h"

namespace {

using at::Tensor;

Tensor input_of(const benchmark::State& state) {
  const Tensor x = at::randn({state.range(0), state.range(1), state.range(2), state.range(2)});
  return state.range(3) != 0 ? x.contiguous(at::MemoryFormat::ChannelsLast) : x;
}

void normalize(benchmark::State& state, bool training, bool backward) {
  const Tensor x = input_of(state).requires_grad_(backward), g = at::ones_like(x);
  const int64_t c = state.range(1);
  const Tensor w = at::ones({c}).requires_grad_(backward), b = at::zeros({c}).requires_grad_(backward);
  const Tensor mean = at::zeros({c}), var = at::ones({c});
  for (auto _ : state) {
    if (backward) state.PauseTiming();
    Tensor y = at::batch_norm(x, w, b, mean, var, training, 0.1, 1e-5, false);
    if (backward) {
      state.ResumeTiming();
      benchmark::DoNotOptimize(torch::autograd::grad({y}, {x, w, b}, {g}));
    }
    benchmark::DoNotOptimize(y.data_ptr());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(x.nbytes()) * (backward ? 3 : 2));
}

void training(benchmark::State& state) { normalize(state, true, false); }
void inference(benchmark::State& state) { normalize(state, false, false); }
void gradients(benchmark::State& state) { normalize(state, true, true); }

// Batch, channels, height and width, channels last.
void shapes(benchmark::internal::Benchmark* b) {
  for (int64_t last : {0, 1}) {
    b->Args({32, 64, 56, last});
    b->Args({8, 256, 14, last});
    b->Args({128, 128, 1, last});
    b->Args({1, 4, 2, last});
  }
}
BENCHMARK(training)->Apply(shapes)->UseRealTime();
BENCHMARK(inference)->Apply(shapes)->UseRealTime();
BENCHMARK(gradients)->Apply(shapes)->UseRealTime();

// What memory gives at best: a copy.
void copy(benchmark::State& state) {
  const Tensor x = input_of(state);
  Tensor y = at::empty_like(x);
  for (auto _ : state) y.copy_(x);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(x.nbytes()) * 2);
}
BENCHMARK(copy)->Args({32, 64, 56, 0})->Args({8, 256, 14, 0})->UseRealTime();

}  // namespace
