// Pointwise operators: the overhead of a small call and the speed on results larger than the caches. The source compiles
// against libtorch as well.
#include <benchmark/benchmark.h>

#include <cstring>

#if __has_include("aten/aten.h")
#include "aten/aten.h"
#include "c10/core/grad_mode.h"
#else
#include <torch/torch.h>
#endif

namespace {

void add_of_8(benchmark::State& state) {
  c10::InferenceMode guard;
  const at::Tensor a = at::ones({8}), b = at::ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(at::add(a, b));
}
BENCHMARK(add_of_8);

void add_out_of_8(benchmark::State& state) {
  c10::InferenceMode guard;
  const at::Tensor a = at::ones({8}), b = at::ones({8});
  at::Tensor out = at::empty({8});
  for (auto _ : state) benchmark::DoNotOptimize(at::add_out(out, a, b));
}
BENCHMARK(add_out_of_8);

void mul_by_number_of_8(benchmark::State& state) {
  c10::InferenceMode guard;
  const at::Tensor a = at::ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(at::mul(a, 2.5));
}
BENCHMARK(mul_by_number_of_8);

void add_row_of_8_to_8x8(benchmark::State& state) {
  c10::InferenceMode guard;
  const at::Tensor a = at::ones({8, 8}), b = at::ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(at::add(a, b));
}
BENCHMARK(add_row_of_8_to_8x8);

void copy_of_64_mb(benchmark::State& state) {
  const at::Tensor a = at::rand({1 << 24});
  at::Tensor b = at::empty_like(a);
  for (auto _ : state) std::memcpy(b.data_ptr(), a.data_ptr(), size_t{1} << 26);
  state.SetBytesProcessed(state.iterations() * (int64_t{2} << 26));
}
BENCHMARK(copy_of_64_mb)->UseRealTime();

template <class F>
void large(benchmark::State& state, int64_t numel, int64_t tensors, const F& f) {
  c10::InferenceMode guard;
  for (auto _ : state) benchmark::DoNotOptimize(f());
  state.SetBytesProcessed(state.iterations() * numel * 4 * tensors);
}

void add_large(benchmark::State& state) {
  const int64_t n = state.range(0);
  const at::Tensor a = at::rand({n}), b = at::rand({n});
  large(state, n, 3, [&] { return at::add(a, b); });
}
BENCHMARK(add_large)->Arg(1 << 14)->Arg(1 << 18)->Arg(1 << 20)->Arg(1 << 24)->UseRealTime();

void exp_large(benchmark::State& state) {
  const int64_t n = state.range(0);
  const at::Tensor a = at::rand({n});
  large(state, n, 2, [&] { return at::exp(a); });
}
BENCHMARK(exp_large)->Arg(1 << 14)->Arg(1 << 18)->Arg(1 << 20)->Arg(1 << 24)->UseRealTime();

void unary_1m(benchmark::State& state, at::Tensor (*f)(const at::Tensor&)) {
  const at::Tensor a = at::rand({1 << 20});
  large(state, 1 << 20, 2, [&] { return f(a); });
}
BENCHMARK_CAPTURE(unary_1m, log, at::log)->UseRealTime();
BENCHMARK_CAPTURE(unary_1m, tanh, at::tanh)->UseRealTime();
BENCHMARK_CAPTURE(unary_1m, sigmoid, at::sigmoid)->UseRealTime();
BENCHMARK_CAPTURE(unary_1m, erf, at::erf)->UseRealTime();
BENCHMARK_CAPTURE(unary_1m, sin, at::sin)->UseRealTime();
BENCHMARK_CAPTURE(unary_1m, sqrt, at::sqrt)->UseRealTime();

void gelu_1m(benchmark::State& state) {
  const at::Tensor a = at::rand({1 << 20});
  large(state, 1 << 20, 2, [&] { return at::gelu(a); });
}
BENCHMARK(gelu_1m)->UseRealTime();

void add_bfloat16_1m(benchmark::State& state) {
  const at::Tensor a = at::rand({1 << 20}).to(at::kBFloat16);
  large(state, 1 << 19, 3, [&] { return at::add(a, a); });
}
BENCHMARK(add_bfloat16_1m)->UseRealTime();

void greater_1m(benchmark::State& state) {
  const at::Tensor a = at::rand({1 << 20}), b = at::rand({1 << 20});
  large(state, 1 << 20, 2, [&] { return at::gt(a, b); });
}
BENCHMARK(greater_1m)->UseRealTime();

void where_1m(benchmark::State& state) {
  const at::Tensor a = at::rand({1 << 20}), b = at::rand({1 << 20}), c = at::gt(a, b);
  large(state, 1 << 20, 3, [&] { return at::where(c, a, b); });
}
BENCHMARK(where_1m)->UseRealTime();

void transposed_copy(benchmark::State& state) {
  const at::Tensor a = at::rand({4096, 4096}).t();
  large(state, 1 << 24, 2, [&] { return a.contiguous(); });
}
BENCHMARK(transposed_copy)->UseRealTime();

void add_transposed(benchmark::State& state) {
  const at::Tensor a = at::rand({1024, 1024}), b = at::rand({1024, 1024}).t();
  large(state, 1 << 20, 3, [&] { return at::add(a, b); });
}
BENCHMARK(add_transposed)->UseRealTime();

void add_row_large(benchmark::State& state) {
  const at::Tensor a = at::rand({1024, 256}), b = at::rand({256});
  large(state, 1 << 18, 2, [&] { return at::add(a, b); });
}
BENCHMARK(add_row_large)->UseRealTime();

void random_1m(benchmark::State& state, at::Tensor& (*fill)(at::Tensor&)) {
  at::Tensor a = at::empty({1 << 20});
  for (auto _ : state) benchmark::DoNotOptimize(fill(a));
}
BENCHMARK_CAPTURE(random_1m, uniform, [](at::Tensor& t) -> at::Tensor& { return t = t.uniform_(), t; })->UseRealTime();
BENCHMARK_CAPTURE(random_1m, normal, [](at::Tensor& t) -> at::Tensor& { return t = t.normal_(), t; })->UseRealTime();
BENCHMARK_CAPTURE(random_1m, bernoulli, [](at::Tensor& t) -> at::Tensor& { return t = t.bernoulli_(0.5), t; })->UseRealTime();

}  // namespace
