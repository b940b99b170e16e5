// Reductions, sorting, indexing, joining and scans on data larger than the caches, with fresh results. Written against
// libtorch's C++ API, as overhead_benchmark.cc.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

namespace {

constexpr int64_t kElements = 16 << 20;
constexpr int64_t kRows = 4096, kWidth = kElements / kRows;

template <class F>
void run(benchmark::State& state, const F& f) {
  const c10::InferenceMode guard;
  for (auto _ : state) benchmark::DoNotOptimize(f());
}

at::Tensor matrix() { return torch::rand({kRows, kWidth}); }
at::Tensor rows_index(int64_t n) { return torch::randint(kRows, {n}, torch::kLong); }

void max_inner(benchmark::State& state) {
  const at::Tensor a = matrix();
  run(state, [&] { return at::amax(a, {1}); });
}
void max_dim_inner(benchmark::State& state) {
  const at::Tensor a = matrix();
  run(state, [&] { return std::get<1>(at::max(a, 1)); });
}
void sum_inner(benchmark::State& state) {
  const at::Tensor a = matrix();
  run(state, [&] { return at::sum(a, {1}); });
}
void sum_short_rows(benchmark::State& state) {
  const at::Tensor a = torch::rand({kElements / 8, 8});
  run(state, [&] { return at::sum(a, {1}); });
}
void sum_channels(benchmark::State& state) {
  const at::Tensor a = torch::rand({16, 64, 128, 128});
  run(state, [&] { return at::sum(a, {0, 2, 3}); });
}
void var_inner(benchmark::State& state) {
  const at::Tensor a = matrix();
  run(state, [&] { return at::var(a, at::OptionalIntArrayRef({1}), true, false); });
}
void log_softmax(benchmark::State& state) {
  const at::Tensor a = torch::randn({kElements / 256, 256});
  run(state, [&] { return at::log_softmax(a, -1); });
}
void softmax_outer(benchmark::State& state) {
  const at::Tensor a = torch::randn({16, 1024, 1024});
  run(state, [&] { return at::softmax(a, 1); });
}
void sort_rows(benchmark::State& state) {
  const at::Tensor a = torch::rand({64, 1 << 14});
  run(state, [&] { return std::get<0>(at::sort(a)); });
}
void sort_one(benchmark::State& state) {
  const at::Tensor a = torch::rand({1 << 20});
  run(state, [&] { return std::get<0>(at::sort(a)); });
}
void topk_rows(benchmark::State& state) {
  const at::Tensor a = matrix();
  run(state, [&] { return std::get<0>(at::topk(a, 50)); });
}
void gather_rows(benchmark::State& state) {
  const at::Tensor a = matrix(), index = torch::randint(kWidth, {kRows, kWidth / 4}, torch::kLong);
  run(state, [&] { return at::gather(a, 1, index); });
}
void index_select_rows(benchmark::State& state) {
  const at::Tensor a = matrix(), index = rows_index(kRows);
  run(state, [&] { return at::index_select(a, 0, index); });
}
void index_add_rows(benchmark::State& state) {
  at::Tensor a = matrix();
  const at::Tensor index = rows_index(kRows / 2), source = torch::rand({kRows / 2, kWidth});
  run(state, [&] { return a.index_add_(0, index, source); });
}
void cat_rows(benchmark::State& state) {
  const at::Tensor a = torch::rand({kRows, kWidth / 2}), b = torch::rand({kRows, kWidth / 2});
  run(state, [&] { return at::cat({a, b}, 1); });
}
void cumsum_inner(benchmark::State& state) {
  const at::Tensor a = matrix();
  run(state, [&] { return at::cumsum(a, 1); });
}
void cumsum_outer(benchmark::State& state) {
  const at::Tensor a = matrix();
  run(state, [&] { return at::cumsum(a, 0); });
}
void embedding_lookup(benchmark::State& state) {
  const at::Tensor w = torch::rand({kRows, 256}), index = rows_index(kElements / 256);
  run(state, [&] { return at::embedding(w, index); });
}

[[maybe_unused]] const int registered = [] {
  for (auto [name, function] : std::initializer_list<std::pair<const char*, void (*)(benchmark::State&)>>{
           {"sum_inner", sum_inner}, {"sum_short_rows", sum_short_rows}, {"sum_channels", sum_channels}, {"max_inner", max_inner},
           {"max_dim_inner", max_dim_inner}, {"var_inner", var_inner}, {"log_softmax", log_softmax}, {"softmax_outer", softmax_outer},
           {"sort_rows", sort_rows}, {"sort_one", sort_one}, {"topk_rows", topk_rows}, {"gather_rows", gather_rows},
           {"index_select_rows", index_select_rows}, {"index_add_rows", index_add_rows}, {"cat_rows", cat_rows},
           {"cumsum_inner", cumsum_inner}, {"cumsum_outer", cumsum_outer}, {"embedding_lookup", embedding_lookup}}) {
    benchmark::RegisterBenchmark(name, function)->Unit(benchmark::kMillisecond)->UseRealTime();
  }
  return 0;
}();

}  // namespace

BENCHMARK_MAIN();
