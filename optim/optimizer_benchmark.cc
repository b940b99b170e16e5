// Steps of the optimizers over many small parameters, a few large ones, and one tiny one (the cost of the call). The source
// compiles against libtorch as well.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#if __has_include("optim/optim.h")
#include "aten/aten.h"
#include "optim/optim.h"
#else
#include <torch/torch.h>
#endif

namespace {

using namespace torch::optim;

std::vector<at::Tensor> parameters(int64_t tensors, int64_t numel) {
  std::vector<at::Tensor> list;
  for (int64_t i = 0; i < tensors; ++i) {
    list.push_back(at::rand({numel}).requires_grad_(true));
    list.back().mutable_grad() = at::rand({numel});
  }
  return list;
}

template <class Opt, class Options>
void steps(benchmark::State& state, Options options) {
  Opt optimizer(parameters(state.range(0), state.range(1)), options);
  optimizer.step();
  for (auto _ : state) optimizer.step();
}

void sgd(benchmark::State& state) { steps<SGD>(state, SGDOptions(1e-3)); }
void sgd_momentum(benchmark::State& state) { steps<SGD>(state, SGDOptions(1e-3).momentum(0.9).weight_decay(0.1)); }
void adam(benchmark::State& state) { steps<Adam>(state, AdamOptions(1e-3)); }
void adamw(benchmark::State& state) { steps<AdamW>(state, AdamWOptions(1e-3)); }
void adagrad(benchmark::State& state) { steps<Adagrad>(state, AdagradOptions(1e-3)); }
void rmsprop(benchmark::State& state) { steps<RMSprop>(state, RMSpropOptions(1e-3)); }

void sizes(benchmark::internal::Benchmark* b) { b->Args({1, 4})->Args({512, 64})->Args({4, 4 << 20})->UseRealTime(); }
BENCHMARK(sgd)->Apply(sizes);
BENCHMARK(sgd_momentum)->Apply(sizes);
BENCHMARK(adam)->Apply(sizes);
BENCHMARK(adamw)->Apply(sizes);
BENCHMARK(adagrad)->Apply(sizes);
BENCHMARK(rmsprop)->Apply(sizes);

}  // namespace
