// A variational autoencoder of digits (Kingma and Welling, https://arxiv.org/abs/1312.6114): each image becomes a
// normal distribution over a few numbers, from which the image is drawn again; from numbers drawn at random it draws
// new digits.
//
//   ./bazelw run //examples/vae [-- --data=DIR]
#include <absl/flags/flag.h>
#include <torch/torch.h>

#include <cstdio>
#include <tuple>

#include "examples/common/digits.h"
#include "examples/common/run.h"
#include "utils/plot/image.h"

ABSL_FLAG(int64_t, epochs, 12, "passes over the training images");
ABSL_FLAG(int64_t, batch, 64, "images a step");
ABSL_FLAG(int64_t, latent, 20, "numbers that an image is encoded as");
ABSL_FLAG(int64_t, hidden, 400, "features of the hidden layers");
ABSL_FLAG(double, learning_rate, 2e-3, "highest learning rate; it falls to zero along a cosine");

namespace {

namespace nn = torch::nn;
namespace plot = torch::utils::plot;
namespace F = torch::nn::functional;

constexpr int64_t kPixels = 28 * 28;

struct VaeImpl : nn::Module {
  VaeImpl(int64_t hidden, int64_t latent)
      : encoder(nn::Flatten(), nn::Linear(kPixels, hidden), nn::ReLU()),
        mean(hidden, latent),
        log_variance(hidden, latent),
        decoder(nn::Linear(latent, hidden), nn::ReLU(), nn::Linear(hidden, kPixels),
                nn::Unflatten(nn::UnflattenOptions(1, {1, 28, 28}))) {
    register_module("encoder", encoder);
    register_module("mean", mean);
    register_module("log_variance", log_variance);
    register_module("decoder", decoder);
  }

  std::tuple<torch::Tensor, torch::Tensor> encode(const torch::Tensor& images) {
    const torch::Tensor h = encoder->forward(images);
    return {mean->forward(h), log_variance->forward(h)};
  }
  // Scores of pixels, which a sigmoid turns into brightness.
  torch::Tensor decode(const torch::Tensor& z) { return decoder->forward(z); }

  nn::Sequential encoder;
  nn::Linear mean, log_variance;
  nn::Sequential decoder;
};
TORCH_MODULE(Vae);

// The bound of -log p(image), in nats an image: what the picture lost and how far the codes are from a standard normal.
torch::Tensor loss_of(Vae& model, const torch::Tensor& images) {
  auto [mean, log_variance] = model->encode(images);
  const torch::Tensor z = mean + torch::randn_like(mean) * torch::exp(0.5 * log_variance);
  const torch::Tensor lost = F::binary_cross_entropy_with_logits(
      model->decode(z), images, F::BinaryCrossEntropyWithLogitsFuncOptions().reduction(torch::kSum));
  const torch::Tensor distance = -0.5 * torch::sum(1 + log_variance - mean.pow(2) - log_variance.exp());
  return (lost + distance) / images.size(0);
}

double evaluate(Vae& model, const torch::Tensor& images) {
  torch::NoGradGuard no_grad;
  model->eval();
  const double loss = loss_of(model, images).item<double>();
  model->train();
  return loss;
}

// Eight images above what the model makes of them, and new digits.
void draw(examples::Run& run, Vae& model, const torch::Tensor& images) {
  torch::NoGradGuard no_grad;
  const torch::Tensor shown = images.slice(0, 0, 16);
  const torch::Tensor again = torch::sigmoid(model->decode(std::get<0>(model->encode(shown))));
  plot::write_png(run.path("reconstructions.png"), plot::make_grid(torch::cat({shown, again}), 16));
  const torch::Tensor z = torch::randn({64, absl::GetFlag(FLAGS_latent)});
  plot::write_png(run.path("samples.png"), plot::make_grid(torch::sigmoid(model->decode(z))));
}

void train() {
  for (const auto* flag : {&FLAGS_epochs, &FLAGS_batch, &FLAGS_latent, &FLAGS_hidden}) {
    examples::check_flag(flag->Name().data(), static_cast<double>(absl::GetFlag(*flag)), 1, 1e6);
  }
  examples::Run run("vae");
  auto [training, test] = examples::load_digits();
  const int64_t batch = absl::GetFlag(FLAGS_batch);
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      training.map(torch::data::transforms::Stack<>()), static_cast<size_t>(batch));

  Vae model(absl::GetFlag(FLAGS_hidden), absl::GetFlag(FLAGS_latent));
  torch::optim::Adam optimizer(model->parameters(), absl::GetFlag(FLAGS_learning_rate));
  const int64_t steps = absl::GetFlag(FLAGS_epochs) * ((training.images.size(0) + batch - 1) / batch);
  torch::utils::Progress progress(steps, stdout, 0, std::max<int64_t>(1, steps / 12));
  int64_t step = 0;
  double bound = 0;
  for (int64_t epoch = 0; epoch < absl::GetFlag(FLAGS_epochs); ++epoch) {
    for (auto& example : *loader) {
      optimizer.param_groups()[0].options().set_lr(absl::GetFlag(FLAGS_learning_rate) * examples::cosine(step, steps));
      optimizer.zero_grad();
      torch::Tensor loss = loss_of(model, example.data);
      loss.backward();
      optimizer.step();
      run.scalar("bound/train", loss.item<double>(), ++step);
      progress.update(step, examples::format("bound %.1f test %.1f", loss.item<double>(), bound));
    }
    bound = evaluate(model, test.images);
    run.scalar("bound/test", bound, step);
    draw(run, model, test.images);
  }
  progress.finish();
  run.draw("bound.svg", "bound of -log p(image), in nats", {"bound/train", "bound/test"});
  std::printf("test bound %.2f nats an image; see samples.png and reconstructions.png\n", bound);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Trains a variational autoencoder of digits and draws new ones.", train);
}
