// Two nets play against each other until one draws digits: a generator of images and a discriminator that is to tell
// them from real ones (Radford and others, https://arxiv.org/abs/1511.06434). Both are told which digit it is to be;
// the discriminator has scores for each beside that for any (https://arxiv.org/abs/1802.05637).
//
//   ./bazelw run //examples/dcgan [-- --data=DIR]
//
// Losses do not say how good the drawings are. So a third net learns to read the real digits, and reads the drawn ones:
// how many are the digit that was asked for, and exp of how much an image tells it about the digit, 1 for noise and 10
// at most (https://arxiv.org/abs/1606.03498). Drawn is with the mean of the generator's last weights.
#include <absl/flags/flag.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "examples/common/device.h"
#include "examples/common/digits.h"
#include "examples/common/run.h"
#include "utils/plot/image.h"

ABSL_FLAG(int64_t, epochs, 12, "passes over the training images");
ABSL_FLAG(int64_t, reader_epochs, 2, "passes in which the third net learns to read");
ABSL_FLAG(int64_t, batch, 64, "images a step");
ABSL_FLAG(int64_t, noise, 64, "random numbers that a drawing is made from");
ABSL_FLAG(int64_t, channels, 24, "channels of the widest images");
ABSL_FLAG(double, learning_rate, 1e-3, "learning rate");

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

// Noise and the digit, one of ten numbers 1 -> images [N, 1, 28, 28] in [-1, 1].
nn::Sequential make_generator(int64_t noise, int64_t c) {
  return nn::Sequential(nn::Linear(nn::LinearOptions(noise + 10, 4 * c * 7 * 7).bias(false)),
                        nn::Unflatten(nn::UnflattenOptions(1, {4 * c, 7, 7})), nn::BatchNorm2d(4 * c), nn::ReLU(),
                        twice(4 * c, 2 * c), nn::BatchNorm2d(2 * c), nn::ReLU(), twice(2 * c, 1), nn::Tanh());
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

struct Readability {
  double right = 10, score = 1;  // percent; exp(mean KL(p(digit | image) || p(digit)))
};

Readability read(nn::Sequential& reader, const torch::Tensor& images, const torch::Tensor& digits) {
  torch::NoGradGuard no_grad;
  reader->eval();
  const torch::Tensor p = torch::softmax(reader->forward(images), 1).clamp_min(1e-9);
  return {100 * (p.argmax(1) == digits).to(torch::kFloat).mean().item<double>(),
          std::exp((p * (p.log() - p.mean(0, /*keepdim=*/true).log())).sum(1).mean().item<double>())};
}

torch::optim::Adam make_optimizer(nn::Sequential& net) {
  initialise(*net);
  return torch::optim::Adam(net->parameters(),
                            torch::optim::AdamOptions(absl::GetFlag(FLAGS_learning_rate)).betas({0.5, 0.999}));
}

torch::Tensor judged(nn::Sequential& judge, const torch::Tensor& images, const torch::Tensor& digits, double is_real) {
  const torch::Tensor all = judge->forward(images);  // for any digit, for 0, 1 ...
  const torch::Tensor scores = all.select(1, 0) + all.gather(1, digits.unsqueeze(1) + 1).squeeze(1);
  return F::binary_cross_entropy_with_logits(scores, torch::full_like(scores, is_real));
}

template <typename Generator>
torch::Tensor draw(Generator& generator, const torch::Tensor& digits) {
  const torch::Tensor noise = torch::randn({digits.size(0), absl::GetFlag(FLAGS_noise)}, digits.device());
  return generator.forward(torch::cat({noise, torch::one_hot(digits, 10).to(torch::kFloat)}, 1));
}

void train() {
  for (const auto* flag : {&FLAGS_epochs, &FLAGS_reader_epochs, &FLAGS_batch, &FLAGS_noise, &FLAGS_channels}) {
    examples::check_flag(flag->Name().data(), static_cast<double>(absl::GetFlag(*flag)), 1, 1e6);
  }
  const torch::Device device = examples::device_from_flag();
  examples::Run run("dcgan");
  auto [training, test] = examples::load_digits();
  const int64_t batch = absl::GetFlag(FLAGS_batch), noise = absl::GetFlag(FLAGS_noise),
                channels = absl::GetFlag(FLAGS_channels);
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      training.map(torch::data::transforms::Normalize<>(0.5, 0.5)).map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions(static_cast<size_t>(batch))
          .drop_last(training.images.size(0) >= batch)
          .pin_memory(!device.is_cpu()));
  nn::Sequential generator = make_generator(noise, channels), judge = make_judge(channels, 11),
                 reader = make_judge(16, 10);
  for (nn::Sequential* net : {&generator, &judge, &reader}) (*net)->to(device);
  torch::optim::Adam generator_optimizer = make_optimizer(generator), judge_optimizer = make_optimizer(judge);
  torch::optim::Adam reader_optimizer(reader->parameters(), 2e-3);
  torch::optim::AveragedModel<nn::Sequential> average(generator, std::nullopt, nullptr,
                                                      torch::optim::get_ema_multi_avg_fn(0.99));
  average.eval();

  const int64_t in_epoch = std::max<int64_t>(1, training.images.size(0) / batch);
  const int64_t steps = (absl::GetFlag(FLAGS_reader_epochs) + absl::GetFlag(FLAGS_epochs)) * in_epoch;
  torch::utils::Progress progress(steps, stdout, 0, std::max<int64_t>(1, steps / 12));
  int64_t step = 0;
  for (int64_t epoch = 0; epoch < absl::GetFlag(FLAGS_reader_epochs); ++epoch) {
    for (auto& example : torch::data::to_device(*loader, device)) {
      reader_optimizer.zero_grad();
      torch::Tensor loss = F::cross_entropy(reader->forward(example.data), example.target);
      loss.backward();
      reader_optimizer.step();
      progress.update(++step, examples::format("learns to read, loss %.3f", loss.item<double>()));
    }
  }
  const Readability of_real = read(reader, (test.images * 2 - 1).to(device), test.targets.to(device));

  Readability of_drawn;
  for (int64_t epoch = 1; epoch <= absl::GetFlag(FLAGS_epochs); ++epoch) {
    for (auto& example : torch::data::to_device(*loader, device)) {
      const torch::Tensor images = example.data, digits = example.target;
      const torch::Tensor drawn = draw(*generator, digits);
      judge_optimizer.zero_grad();
      torch::Tensor judge_loss = judged(judge, images, digits, 0.9) + judged(judge, drawn.detach(), digits, 0);
      judge_loss.backward();
      judge_optimizer.step();
      generator_optimizer.zero_grad();
      torch::Tensor generator_loss = judged(judge, drawn, digits, 1);
      generator_loss.backward();
      generator_optimizer.step();
      average.update_parameters(generator);
      run.scalar("loss/judge", judge_loss.item<double>(), ++step);
      run.scalar("loss/generator", generator_loss.item<double>(), step);
      progress.update(step, examples::format("judge %.2f generator %.2f, %.1f%% read as asked",
                                             judge_loss.item<double>(), generator_loss.item<double>(), of_drawn.right));
    }
    torch::NoGradGuard no_grad;
    const torch::Tensor asked = torch::arange(1000, device) % 10;
    of_drawn = read(reader, draw(average, asked), asked);
    run.scalar("read as asked in percent", of_drawn.right, step);
    run.scalar("readability", of_drawn.score, step);
    plot::write_png(run.path("samples.png"), plot::make_grid((draw(average, torch::arange(100, device) % 10) * 0.5 + 0.5).cpu(), 10));
  }
  progress.finish();
  run.draw("loss.svg", "losses", {"loss/judge", "loss/generator"});
  std::printf(
      "of drawn digits %.1f%% are read as asked, readability %.2f; see samples.png\n"
      "of real digits %.1f%% are read rightly, readability %.2f\n",
      of_drawn.right, of_drawn.score, of_real.right, of_real.score);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Two nets play against each other until one draws digits.", train);
}
