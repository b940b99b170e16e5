// One training step of the GPT example: forward, backward, gradient clipping, AdamW. 4 layers, 4 heads, width 256, batch
// 8 x 128 bytes. The model's source is the same for both libraries.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "examples/gpt/model.h"

namespace {

void training_step(benchmark::State& state) {
  torch::set_num_threads(static_cast<int>(state.range(0)));
  torch::manual_seed(1);
  gpt::ModelOptions options;
  options.width = 256;
  options.context = 128;
  gpt::Gpt model(options);
  torch::optim::AdamW optimizer = gpt::make_optimizer(model, gpt::OptimizerSettings());
  const torch::Tensor tokens = torch::randint(256, {8, 128}, torch::kLong);
  const torch::Tensor targets = torch::randint(256, {8, 128}, torch::kLong);
  for (auto _ : state) {
    torch::Tensor loss = model->loss(tokens, targets);
    optimizer.zero_grad();
    loss.backward();
    torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    optimizer.step();
    benchmark::DoNotOptimize(loss.item<float>());
  }
  state.counters["tokens/s"] = benchmark::Counter(8 * 128, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(training_step)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

void generate(benchmark::State& state) {
  torch::manual_seed(1);
  gpt::Gpt model{gpt::ModelOptions()};
  for (auto _ : state) benchmark::DoNotOptimize(gpt::generate(model, "To be", 20, gpt::SamplingSettings()));
}
BENCHMARK(generate)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
