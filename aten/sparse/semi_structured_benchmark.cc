// Products with a matrix of two of four elements, and the dense ones that they stand for.
#include <benchmark/benchmark.h>

#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/sparse/semi_structured_tensor.h"
#include "c10/core/grad_mode.h"

namespace {

using at::Tensor;

// Every second element, which suits all formats.
Tensor pruned(int64_t size, at::ScalarType dtype) {
  Tensor t = at::randn({size, size}).to(dtype);
  t.slice(1, 0, std::nullopt, 2).zero_();
  return t;
}

template <class F>
void products(benchmark::State& state, at::ScalarType dtype, const F& f) {
  c10::InferenceMode guard;
  const int64_t size = state.range(0), columns = state.range(1);
  const Tensor weight = pruned(size, dtype), other = at::randn({size, columns}).to(dtype);
  const auto sparse = torch::sparse::to_sparse_semi_structured(weight);
  for (auto _ : state) benchmark::DoNotOptimize(f(weight, sparse, other));
  state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(size * size * columns),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void dense(benchmark::State& state, at::ScalarType dtype) {
  products(state, dtype, [](const Tensor& weight, const auto&, const Tensor& other) { return at::mm(weight, other); });
}
void sparse(benchmark::State& state, at::ScalarType dtype) {
  products(state, dtype,
           [](const Tensor&, const auto& weight, const Tensor& other) { return torch::sparse::mm(weight, other); });
}
void unpack(benchmark::State& state, at::ScalarType dtype) {
  products(state, dtype, [](const Tensor&, const auto& weight, const Tensor&) { return weight.to_dense(); });
}

#define SIZES ->Args({1024, 1024})->Args({1024, 1})->Args({4096, 16})->UseRealTime()
BENCHMARK_CAPTURE(dense, f32, at::kFloat) SIZES;
BENCHMARK_CAPTURE(sparse, f32, at::kFloat) SIZES;
BENCHMARK_CAPTURE(unpack, f32, at::kFloat)->Args({1024, 1})->UseRealTime();
BENCHMARK_CAPTURE(dense, bf16, at::kBFloat16) SIZES;
BENCHMARK_CAPTURE(sparse, bf16, at::kBFloat16) SIZES;
BENCHMARK_CAPTURE(unpack, bf16, at::kBFloat16)->Args({1024, 1})->UseRealTime();

}  // namespace
