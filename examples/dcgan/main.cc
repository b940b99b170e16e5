// Two nets play against each other until one draws digits: a generator of images and a discriminator that is to tell
// them from real ones (Radford and others, https://arxiv.org/abs/1511.06434).
//
//   ./bazelw run //examples/dcgan [-- --data=DIR]
//
// Losses do not say how good the drawings are. So a third net learns to read the real digits, and reads the drawn ones:
// exp of how much an image tells it about the digit (https://arxiv.org/abs/1606.03498) is 1 for noise, 10 at most.
#include <absl/flags/flag.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "examples/common/digits.h"
#include "examples/common/run.h"
#include "utils/plot/image.h"

ABSL_FLAG(int64_t, epochs, 8, "passes over the training images");
ABSL_FLAG(int64_t, reader_epochs, 2, "passes in which the third net learns to read");
ABSL_FLAG(int64_t, batch, 64, "images a step");
ABSL_FLAG(int64_t, noise, 64, "random numbers that a drawing is made from");
ABSL_FLAG(int64_t, channels, 24, "channels of the widest images");
ABSL_FLAG(double, learning_rate, 5e-4, "learning rate");

namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;
namespace plot = torch::utils::plot;

nn::Conv2d half(int64_t in, int64_t out) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, 4).stride(2).padding(1).bias(false));
}
nn::ConvTranspose2d twice(int64_t in, int64_t out) {
  return nn::ConvTranspose2d(nn::ConvTranspose2dOptions(in, out, 4).stride(2).padding(1).bias(false));
}
nn::LeakyReLU leaky() {
  return nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2));
}

// Noise [N, noise] -> images [N, 1, 28, 28] in [-1, 1].
nn::Sequential make_generator(int64_t noise, int64_t c) {
  return nn::Sequential(nn::Linear(nn::LinearOptions(noise, 2 * c * 7 * 7).bias(false)),
                        nn::Unflatten(nn::UnflattenOptions(1, {2 * c, 7, 7})), nn::BatchNorm2d(2 * c), nn::ReLU(),
                        twice(2 * c, c), nn::BatchNorm2d(c), nn::ReLU(), twice(c, 1), nn::Tanh());
}

// Images -> `results` scores.
nn::Sequential make_judge(int64_t c, int64_t results) {
  return nn::Sequential(half(1, c), leaky(), half(c, 2 * c), nn::BatchNorm2d(2 * c), leaky(), nn::Flatten(),
                        nn::Linear(2 * c * 7 * 7, results));
}

void initialise(nn::Module& module) {
  torch::NoGradGuard no_grad;
  for (auto& p : module.named_parameters()) {
    if (p.value().dim() == 4) nn::init::normal_(p.value(), 0.0, 0.05);
  }
}

// exp(mean KL(p(digit | image) || p(digit))).
double readability(nn::Sequential& reader, const torch::Tensor& images) {
  torch::NoGradGuard no_grad;
  reader->eval();
  const torch::Tensor p = torch::softmax(reader->forward(images), 1).clamp_min(1e-9);
  return std::exp((p * (p.log() - p.mean(0, /*keepdim=*/true).log())).sum(1).mean().item<double>());
}

torch::optim::Adam make_optimizer(nn::Sequential& net) {
  initialise(*net);
  return torch::optim::Adam(net->parameters(),
                            torch::optim::AdamOptions(absl::GetFlag(FLAGS_learning_rate)).betas({0.5, 0.999}));
}

torch::Tensor judged(nn::Sequential& judge, const torch::Tensor& images, double is_real) {
  const torch::Tensor scores = judge->forward(images);
  return F::binary_cross_entropy_with_logits(scores, torch::full_like(scores, is_real));
}

torch::Tensor sample(nn::Sequential& generator, int64_t count) {
  torch::NoGradGuard no_grad;
  generator->eval();
  const torch::Tensor images = generator->forward(torch::randn({count, absl::GetFlag(FLAGS_noise)}));
  generator->train();
  return images;
}

void train() {
  for (const auto* flag : {&FLAGS_epochs, &FLAGS_reader_epochs, &FLAGS_batch, &FLAGS_noise, &FLAGS_channels}) {
    examples::check_flag(flag->Name().data(), static_cast<double>(absl::GetFlag(*flag)), 1, 1e6);
  }
  examples::Run run("dcgan");
  auto [training, test] = examples::load_digits();
  const int64_t batch = absl::GetFlag(FLAGS_batch), noise = absl::GetFlag(FLAGS_noise),
                channels = absl::GetFlag(FLAGS_channels);
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      training.map(torch::data::transforms::Normalize<>(0.5, 0.5)).map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions(static_cast<size_t>(batch)).drop_last(training.images.size(0) >= batch));
  nn::Sequential generator = make_generator(noise, channels), judge = make_judge(channels, 1),
                 reader = make_judge(16, 10);
  torch::optim::Adam generator_optimizer = make_optimizer(generator), judge_optimizer = make_optimizer(judge);
  torch::optim::Adam reader_optimizer(reader->parameters(), 2e-3);

  const int64_t in_epoch = std::max<int64_t>(1, training.images.size(0) / batch);
  const int64_t steps = (absl::GetFlag(FLAGS_reader_epochs) + absl::GetFlag(FLAGS_epochs)) * in_epoch;
  torch::utils::Progress progress(steps, stdout, 0, std::max<int64_t>(1, steps / 12));
  int64_t step = 0;
  for (int64_t epoch = 0; epoch < absl::GetFlag(FLAGS_reader_epochs); ++epoch) {
    for (auto& example : *loader) {
      reader_optimizer.zero_grad();
      torch::Tensor loss = F::cross_entropy(reader->forward(example.data), example.target);
      loss.backward();
      reader_optimizer.step();
      progress.update(++step, examples::format("learns to read, loss %.3f", loss.item<double>()));
    }
  }
  const double of_real = readability(reader, test.images * 2 - 1);

  const torch::Tensor fixed = torch::randn({64, noise});
  double of_drawn = 1;
  for (int64_t epoch = 1; epoch <= absl::GetFlag(FLAGS_epochs); ++epoch) {
    for (auto& example : *loader) {
      const torch::Tensor drawn = generator->forward(torch::randn({example.data.size(0), noise}));
      judge_optimizer.zero_grad();
      torch::Tensor judge_loss = judged(judge, example.data, 0.9) + judged(judge, drawn.detach(), 0);
      judge_loss.backward();
      judge_optimizer.step();
      generator_optimizer.zero_grad();
      torch::Tensor generator_loss = judged(judge, drawn, 1);
      generator_loss.backward();
      generator_optimizer.step();
      run.scalar("loss/judge", judge_loss.item<double>(), ++step);
      run.scalar("loss/generator", generator_loss.item<double>(), step);
      progress.update(step,
                      examples::format("judge %.2f generator %.2f readable %.2f of %.2f", judge_loss.item<double>(),
                                       generator_loss.item<double>(), of_drawn, of_real));
    }
    of_drawn = readability(reader, sample(generator, 1000));
    run.scalar("readability", of_drawn, step);
    torch::NoGradGuard no_grad;
    generator->eval();
    plot::write_png(run.path("samples.png"), plot::make_grid(generator->forward(fixed) * 0.5 + 0.5));
    generator->train();
  }
  progress.finish();
  run.draw("loss.svg", "losses", {"loss/judge", "loss/generator"});
  std::printf("readability %.2f, of real digits %.2f; see samples.png\n", of_drawn, of_real);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Two nets play against each other until one draws digits.", train);
}
