// A training step of a recurrent layer (forward and all gradients), and its forward alone. `floor_us`: the products'
// multiply-adds at the peak of this processor, measured in the same run.
#include <benchmark/benchmark.h>

#include <cmath>

#include "aten/aten.h"
#include "aten/cpu/matrix/fma_peak.h"
#include "autograd/autograd.h"
#include "c10/parallel/parallel.h"

namespace {

using at::Tensor;

double peak_gflops(int threads) {
  static double peaks[64] = {};
  if (peaks[threads] == 0) peaks[threads] = at::matrix::fma_peak_gflops(at::matrix::Type::kFloat32, threads);
  return peaks[threads];
}

// Steps, batch, input size, hidden size, threads.
void run(benchmark::State& state, bool lstm, bool backward) {
  const int64_t steps = state.range(0), batch = state.range(1), input = state.range(2), hidden = state.range(3);
  const int threads = static_cast<int>(state.range(4)), before = at::get_num_threads();
  const double floor_per_product = 2.0 * static_cast<double>(steps * batch) * static_cast<double>(hidden) *
                                   (lstm ? 4 : 3) * static_cast<double>(input + hidden);
  const double floor_us = floor_per_product * (backward ? 3 : 1) / peak_gflops(threads) * 1e-3;
  at::set_num_threads(threads);
  const int64_t gates = (lstm ? 4 : 3) * hidden;
  const double scale = 1 / std::sqrt(static_cast<double>(hidden));
  std::vector<Tensor> params;
  for (const Tensor& t :
       {at::randn({gates, input}), at::randn({gates, hidden}), at::randn({gates}), at::randn({gates})}) {
    params.push_back(at::mul(t, scale).requires_grad_(backward));
  }
  const Tensor x = at::randn({steps, batch, input}).requires_grad_(backward), g = at::randn({steps, batch, hidden});
  const Tensor h = at::zeros({1, batch, hidden}), c = at::zeros({1, batch, hidden});
  std::vector<Tensor> leaves(params);
  leaves.push_back(x);
  for (auto _ : state) {
    const Tensor y = lstm ? std::get<0>(at::lstm(x, {h, c}, params, true, 1, 0.0, true, false, false))
                          : std::get<0>(at::gru(x, h, params, true, 1, 0.0, true, false, false));
    if (backward) benchmark::DoNotOptimize(torch::autograd::grad({y}, leaves, {g}));
    benchmark::DoNotOptimize(y.data_ptr());
  }
  at::set_num_threads(before);
  state.counters["floor_us"] = floor_us;
}

void lstm_step(benchmark::State& state) {
  run(state, true, true);
}
void lstm_forward(benchmark::State& state) {
  run(state, true, false);
}
void gru_step(benchmark::State& state) {
  run(state, false, true);
}

void shapes(benchmark::internal::Benchmark* b) {
  for (int64_t threads : {1, 2}) {
    b->Args({64, 32, 128, 256, threads});
    b->Args({128, 16, 64, 128, threads});
    b->Args({32, 64, 512, 512, threads});
  }
  b->Args({16, 1, 64, 64, 1});
}
BENCHMARK(lstm_step)->Apply(shapes)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(lstm_forward)->Apply(shapes)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(gru_step)->Apply(shapes)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
