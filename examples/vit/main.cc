// A vision transformer of digits (Dosovitskiy and others, https://arxiv.org/abs/2010.11929): an image is 49 words of 4
// by 4 pixels, to which a transformer attends.
//
//   ./bazelw run //examples/vit [-- --data=DIR]
#include <absl/flags/flag.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "examples/common/digits.h"
#include "examples/common/run.h"
#include "utils/plot/image.h"

ABSL_FLAG(int64_t, epochs, 6, "passes over the training images");
ABSL_FLAG(int64_t, batch, 64, "images a step");
ABSL_FLAG(int64_t, width, 64, "features of a patch");
ABSL_FLAG(int64_t, heads, 4, "attention heads; divides --width");
ABSL_FLAG(int64_t, layers, 3, "blocks of attention and feed-forward");
ABSL_FLAG(double, learning_rate, 2e-3, "highest learning rate; it warms up and then falls to zero along a cosine");

namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;
namespace plot = torch::utils::plot;

constexpr int64_t kPatch = 4, kPatches = (28 / kPatch) * (28 / kPatch);

// x + attention(norm(x)), then x + mlp(norm(x)); x is [L, N, E].
struct BlockImpl : nn::Module {
  BlockImpl(int64_t width, int64_t heads)
      : norm1(register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({width})))),
        attention(register_module("attention", nn::MultiheadAttention(nn::MultiheadAttentionOptions(width, heads)))),
        norm2(register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({width})))),
        mlp(register_module("mlp",
                            nn::Sequential(nn::Linear(width, 2 * width), nn::GELU(), nn::Linear(2 * width, width)))) {}

  // With what each place attended to, [N, L, L], where that is asked for.
  std::tuple<torch::Tensor, torch::Tensor> forward(torch::Tensor x, bool need_weights) {
    const torch::Tensor y = norm1->forward(x);
    const auto [attended, weights] = attention->forward(y, y, y, /*key_padding_mask=*/{}, need_weights);
    x = x + attended;
    return {x + mlp->forward(norm2->forward(x)), weights};
  }

  nn::LayerNorm norm1;
  nn::MultiheadAttention attention;
  nn::LayerNorm norm2;
  nn::Sequential mlp;
};
TORCH_MODULE(Block);

struct VitImpl : nn::Module {
  VitImpl(int64_t width, int64_t heads, int64_t layers)
      : patches(register_module("patches", nn::Conv2d(nn::Conv2dOptions(1, width, kPatch).stride(kPatch)))),
        blocks(register_module("blocks", nn::ModuleList())),
        norm(register_module("norm", nn::LayerNorm(nn::LayerNormOptions({width})))),
        scores(register_module("scores", nn::Linear(width, 10))),
        summary(register_parameter("summary", torch::randn({1, 1, width}) * 0.02)),
        places(register_parameter("places", torch::randn({1 + kPatches, 1, width}) * 0.02)) {
    for (int64_t i = 0; i < layers; ++i) blocks->push_back(Block(width, heads));
  }

  // Images [N, 1, 28, 28] -> scores [N, 10] and what the summary attended to last [N, patches], where that is asked
  // for.
  std::tuple<torch::Tensor, torch::Tensor> forward(const torch::Tensor& images, bool need_weights = false) {
    const torch::Tensor words = patches->forward(images).flatten(2).permute({2, 0, 1});
    torch::Tensor x = torch::cat({summary.expand({1, images.size(0), -1}), words}) + places, weights;
    for (const auto& block : *blocks) std::tie(x, weights) = block->as<Block>()->forward(x, need_weights);
    if (need_weights) weights = weights.select(1, 0).slice(1, 1);
    return {scores->forward(norm->forward(x[0])), weights};
  }

  nn::Conv2d patches;
  nn::ModuleList blocks;
  nn::LayerNorm norm;
  nn::Linear scores;
  torch::Tensor summary, places;
};
TORCH_MODULE(Vit);

// The images of a batch moved by up to two pixels, all by the same: few images go further so.
torch::Tensor moved(const torch::Tensor& images) {
  const int64_t y = torch::randint(5, {1}).item<int64_t>(), x = torch::randint(5, {1}).item<int64_t>();
  return F::pad(images, F::PadFuncOptions({2, 2, 2, 2})).slice(2, y, y + 28).slice(3, x, x + 28);
}

double accuracy(Vit& model, const examples::Digits& test) {
  torch::NoGradGuard no_grad;
  const torch::Tensor scores = std::get<0>(model->forward(test.images));
  return 100 * (scores.argmax(1) == test.targets).to(torch::kFloat).mean().item<double>();
}

// Sixteen images above what the model attends to in them.
void draw(examples::Run& run, Vit& model, const torch::Tensor& images) {
  torch::NoGradGuard no_grad;
  const torch::Tensor shown = images.slice(0, 0, 16);
  torch::Tensor weights = std::get<1>(model->forward(shown, /*need_weights=*/true));
  weights = (weights / weights.amax({1}, /*keepdim=*/true)).view({-1, 1, 28 / kPatch, 28 / kPatch});
  weights = weights.repeat_interleave(kPatch, 2).repeat_interleave(kPatch, 3);
  plot::write_png(run.path("attention.png"), plot::make_grid(torch::cat({shown, weights}), shown.size(0)));
}

void train() {
  for (const auto* flag : {&FLAGS_epochs, &FLAGS_batch, &FLAGS_width, &FLAGS_heads, &FLAGS_layers}) {
    examples::check_flag(flag->Name().data(), static_cast<double>(absl::GetFlag(*flag)), 1, 1e6);
  }
  examples::Run run("vit");
  auto [training, test] = examples::load_digits();
  const int64_t batch = absl::GetFlag(FLAGS_batch);
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      training.map(torch::data::transforms::Stack<>()), static_cast<size_t>(batch));

  Vit model(absl::GetFlag(FLAGS_width), absl::GetFlag(FLAGS_heads), absl::GetFlag(FLAGS_layers));
  torch::optim::AdamW optimizer(model->parameters(),
                                torch::optim::AdamWOptions(absl::GetFlag(FLAGS_learning_rate)).weight_decay(0.05));
  const int64_t steps = absl::GetFlag(FLAGS_epochs) * ((training.images.size(0) + batch - 1) / batch);
  torch::utils::Progress progress(steps, stdout, 0, std::max<int64_t>(1, steps / 12));
  int64_t step = 0;
  double right = 0;
  for (int64_t epoch = 0; epoch < absl::GetFlag(FLAGS_epochs); ++epoch) {
    for (auto& example : *loader) {
      const double warm = std::min(1.0, 10 * static_cast<double>(step + 1) / static_cast<double>(steps));
      optimizer.param_groups()[0].options().set_lr(absl::GetFlag(FLAGS_learning_rate) * warm *
                                                   examples::cosine(step, steps));
      optimizer.zero_grad();
      torch::Tensor loss = F::cross_entropy(std::get<0>(model->forward(moved(example.data))), example.target);
      loss.backward();
      nn::utils::clip_grad_norm_(model->parameters(), 1.0);
      optimizer.step();
      run.scalar("loss", loss.item<double>(), ++step);
      progress.update(step, examples::format("loss %.3f, %.1f%% of the test right", loss.item<double>(), right));
    }
    right = accuracy(model, test);
    run.scalar("test/right in percent", right, step);
  }
  progress.finish();
  run.draw("loss.svg", "cross entropy", {"loss"});
  draw(run, model, test.images);
  std::printf("%.2f%% of the test images right; see attention.png\n", right);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Trains a vision transformer on digits.", train);
}
