// One training step of the GPT example: forward, backward, gradient clipping, AdamW. 4 layers, 4 heads, width 256, batch
// 8 x 128 bytes. The model's source is the same for both libraries.
#include <torch/torch.h>

#include "examples/gpt/model.h"
#include "utils/benchmark/program.h"

namespace {

namespace bench = torch::utils::benchmark;

// The products alone: 2 per weight and token forward, twice as many backward, and the attention scores.
constexpr double kTokens = 8 * 128, kWeights = 4 * 12 * 256.0 * 256 + 256 * 256;
constexpr double kStepFlops = 3 * kTokens * (2 * kWeights + 4 * 2 * 2 * 128.0 * 256 / 2);

void add_rows(bench::Program& p) {
  p.row("training_step", {.flops = kStepFlops}, [] {
    torch::manual_seed(1);
    gpt::ModelOptions options;
    options.width = 256;
    options.context = 128;
    gpt::Gpt model(options);
    auto optimizer = std::make_shared<torch::optim::AdamW>(gpt::make_optimizer(model, gpt::OptimizerSettings()));
    return [model, optimizer, tokens = torch::randint(256, {8, 128}, torch::kLong),
            targets = torch::randint(256, {8, 128}, torch::kLong)]() mutable {
      torch::Tensor loss = model->loss(tokens, targets);
      optimizer->zero_grad();
      loss.backward();
      torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
      optimizer->step();
      return loss.item<float>();
    };
  });
  p.row("generate", {}, [] {
    torch::manual_seed(1);
    return [model = gpt::Gpt{gpt::ModelOptions()}]() mutable {
      return gpt::generate(model, "To be", 20, gpt::SamplingSettings());
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program("gpt");
  add_rows(program);
  return program.run(argc, argv);
}
