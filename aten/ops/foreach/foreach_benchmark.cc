// Operators on lists of tensors against a loop over them. The source compiles against libtorch as well.
#include <benchmark/benchmark.h>

#include <vector>

#if __has_include("aten/aten.h")
#include "aten/aten.h"
#include "c10/core/grad_mode.h"
#else
#include <torch/torch.h>
#endif

namespace {

// The parameters of a small network: many little tensors and a few large ones.
std::vector<at::Tensor> parameters(int64_t tensors, int64_t numel) {
  std::vector<at::Tensor> list;
  for (int64_t i = 0; i < tensors; ++i) list.push_back(at::rand({i % 16 == 0 ? 4 * numel : numel}));
  return list;
}

void add_in_place(benchmark::State& state) {
  c10::InferenceMode guard;
  const std::vector<at::Tensor> a = parameters(state.range(0), state.range(1)), b = parameters(state.range(0), state.range(1));
  for (auto _ : state) at::_foreach_add_(a, b, 0.5);
}
void add_in_place_by_loop(benchmark::State& state) {
  c10::InferenceMode guard;
  std::vector<at::Tensor> a = parameters(state.range(0), state.range(1)), b = parameters(state.range(0), state.range(1));
  for (auto _ : state) {
    for (size_t i = 0; i < a.size(); ++i) a[i].add_(b[i], 0.5);
  }
}
void addcdiv(benchmark::State& state) {
  c10::InferenceMode guard;
  const std::vector<at::Tensor> a = parameters(state.range(0), state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(at::_foreach_addcdiv(a, a, a, 0.5));
}
void sqrt(benchmark::State& state) {
  c10::InferenceMode guard;
  const std::vector<at::Tensor> a = parameters(state.range(0), state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(at::_foreach_sqrt(a));
}
void norm(benchmark::State& state) {
  c10::InferenceMode guard;
  const std::vector<at::Tensor> a = parameters(state.range(0), state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(at::_foreach_norm(a));
}
void norm_by_loop(benchmark::State& state) {
  c10::InferenceMode guard;
  const std::vector<at::Tensor> a = parameters(state.range(0), state.range(1));
  for (auto _ : state) {
    for (const at::Tensor& t : a) benchmark::DoNotOptimize(at::norm(t));
  }
}

void sizes(benchmark::internal::Benchmark* b) { b->Args({512, 64})->Args({128, 16384})->UseRealTime(); }
BENCHMARK(add_in_place)->Apply(sizes);
BENCHMARK(add_in_place_by_loop)->Apply(sizes);
BENCHMARK(addcdiv)->Apply(sizes);
BENCHMARK(sqrt)->Apply(sizes);
BENCHMARK(norm)->Apply(sizes);
BENCHMARK(norm_by_loop)->Apply(sizes);

}  // namespace
