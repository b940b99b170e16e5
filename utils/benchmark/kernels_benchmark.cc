// Kernels on data larger than the caches, and matrix products, with fresh results. Written against libtorch's C++ API, as
// overhead_benchmark.cc. `GB/s` counts every operand and result once.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

namespace {

constexpr int64_t kElements = 16 << 20;

template <class F>
void run(benchmark::State& state, int64_t streams, const F& f) {
  const c10::InferenceMode guard;
  for (auto _ : state) benchmark::DoNotOptimize(f());
  state.counters["GB/s"] = benchmark::Counter(
      static_cast<double>(streams * kElements * 4) * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void copy_bandwidth(benchmark::State& state) {
  const at::Tensor a = torch::rand({kElements});
  at::Tensor b = torch::zeros({kElements});
  run(state, 2, [&] { return b.copy_(a); });
}
BENCHMARK(copy_bandwidth)->Unit(benchmark::kMillisecond)->UseRealTime();

void add(benchmark::State& state) {
  const at::Tensor a = torch::rand({kElements}), b = torch::rand({kElements});
  run(state, 3, [&] { return at::add(a, b); });
}
BENCHMARK(add)->Unit(benchmark::kMillisecond)->UseRealTime();

void exp(benchmark::State& state) {
  const at::Tensor a = torch::rand({kElements});
  run(state, 2, [&] { return at::exp(a); });
}
BENCHMARK(exp)->Unit(benchmark::kMillisecond)->UseRealTime();

void gelu(benchmark::State& state) {
  const at::Tensor a = torch::randn({kElements});
  run(state, 2, [&] { return at::gelu(a); });
}
BENCHMARK(gelu)->Unit(benchmark::kMillisecond)->UseRealTime();

void softmax(benchmark::State& state) {
  const at::Tensor a = torch::randn({kElements / 1024, 1024});
  run(state, 2, [&] { return at::softmax(a, -1); });
}
BENCHMARK(softmax)->Unit(benchmark::kMillisecond)->UseRealTime();

void layer_norm(benchmark::State& state) {
  const at::Tensor a = torch::randn({kElements / 1024, 1024}), w = torch::ones({1024}), b = torch::zeros({1024});
  run(state, 2, [&] { return at::layer_norm(a, {1024}, w, b); });
}
BENCHMARK(layer_norm)->Unit(benchmark::kMillisecond)->UseRealTime();

void sum_all(benchmark::State& state) {
  const at::Tensor a = torch::rand({kElements});
  run(state, 1, [&] { return at::sum(a); });
}
BENCHMARK(sum_all)->Unit(benchmark::kMillisecond)->UseRealTime();

void sum_outer(benchmark::State& state) {
  const at::Tensor a = torch::rand({4096, kElements / 4096});
  run(state, 1, [&] { return at::sum(a, {0}); });
}
BENCHMARK(sum_outer)->Unit(benchmark::kMillisecond)->UseRealTime();

void transposed_copy(benchmark::State& state) {
  const at::Tensor a = torch::rand({4096, kElements / 4096}).t();
  run(state, 2, [&] { return a.contiguous(); });
}
BENCHMARK(transposed_copy)->Unit(benchmark::kMillisecond)->UseRealTime();

// Fused multiply-adds that nothing waits for: what this processor can do, in the same run as the products below.
template <class Lanes>
[[gnu::always_inline]] inline void multiply_add(Lanes (&sums)[12]) {
  const Lanes x = Lanes{} + 1.0001f, y = Lanes{} + 1e-6f;
  for (int i = 0; i < 1000; ++i) {
    for (auto& s : sums) s = s * x + y;
  }
}

typedef float Lanes16 __attribute__((vector_size(64)));
typedef float Lanes8 __attribute__((vector_size(32)));

[[gnu::target("avx512f,fma")]] void multiply_add_512() {
  Lanes16 sums[12] = {};
  multiply_add(sums);
  for (auto& s : sums) benchmark::DoNotOptimize(s);
}

[[gnu::target("avx2,fma")]] void multiply_add_256() {
  Lanes8 sums[12] = {};
  multiply_add(sums);
  for (auto& s : sums) benchmark::DoNotOptimize(s);
}

void fma_peak(benchmark::State& state) {
  const bool wide = __builtin_cpu_supports("avx512f");
  for (auto _ : state) wide ? multiply_add_512() : multiply_add_256();
  state.counters["GFLOP/s"] = benchmark::Counter(
      1000 * 12 * (wide ? 16 : 8) * 2 * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(fma_peak)->Threads(1)->Threads(2)->UseRealTime();

void mm_1024(benchmark::State& state) {
  const c10::InferenceMode guard;
  at::set_num_threads(static_cast<int>(state.range(0)));
  const at::Tensor a = torch::randn({1024, 1024}), b = torch::randn({1024, 1024});
  for (auto _ : state) benchmark::DoNotOptimize(at::mm(a, b));
  state.counters["GFLOP/s"] =
      benchmark::Counter(2 * 1024. * 1024 * 1024 * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  at::set_num_threads(2);
}
BENCHMARK(mm_1024)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
