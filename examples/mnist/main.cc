// Trains a small convolutional net on handwritten digits.
//
//   ./bazelw run //examples/mnist -- --data=DIR [--epochs=6] [--device=cpu] [--save=weights.safetensors]
//
// DIR holds MNIST in its original files (IDX, plain or .gz). If the training files are missing, the test files are split:
// all but the last tenth to train on, the rest to test on.
#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "examples/common/device.h"
#include "examples/common/flags.h"

ABSL_FLAG(std::string, data, "mnist", "folder with the MNIST files");
ABSL_FLAG(int, epochs, 6, "passes over the training images");
ABSL_FLAG(int, batch_size, 64, "images a step");
ABSL_FLAG(double, learning_rate, 2e-3, "highest learning rate; it warms up and then falls to zero along a cosine");
ABSL_FLAG(double, dropout, 0.25, "part of the hidden layer that training leaves out");
ABSL_FLAG(int, workers, 1, "threads that prepare batches");
ABSL_FLAG(int, threads, 0, "threads that compute; 0: one a processor");
ABSL_FLAG(int, seed, 1, "seed of the weights, the order and the dropout");
ABSL_FLAG(std::string, save, "", "file to write the weights to");

namespace {

using torch::data::Example;
namespace data = torch::data;

// Two convolutions and two linear layers: 1x28x28 -> 10 scores.
struct NetImpl : torch::nn::Module {
  explicit NetImpl(double dropout_part)
      : conv1(register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 16, 3).padding(1)))),
        conv2(register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(16, 32, 3).padding(1)))),
        hidden(register_module("hidden", torch::nn::Linear(32 * 7 * 7, 128))),
        dropout(register_module("dropout", torch::nn::Dropout(dropout_part))),
        scores(register_module("scores", torch::nn::Linear(128, 10))) {}

  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(conv1(x)), 2);
    x = torch::max_pool2d(torch::relu(conv2(x)), 2);
    x = torch::relu(hidden(x.flatten(1)));
    return scores(dropout(x));
  }

  torch::nn::Conv2d conv1, conv2;
  torch::nn::Linear hidden;
  torch::nn::Dropout dropout;
  torch::nn::Linear scores;
};
TORCH_MODULE(Net);

// Some of the examples of a set, all workers sharing the images.
class Part : public data::datasets::Dataset<Part> {
 public:
  Part(data::datasets::MNIST set, size_t begin, size_t end) : set_(std::move(set)), begin_(begin), end_(end) {}
  Example<> get(size_t i) override { return set_.get(begin_ + i); }
  std::optional<size_t> size() const override { return end_ - begin_; }

 private:
  data::datasets::MNIST set_;
  size_t begin_, end_;
};

using Mode = data::datasets::MNIST::Mode;

bool has_file(const std::filesystem::path& folder, const char* name) {
  return std::filesystem::exists(folder / name) || std::filesystem::exists(folder / (std::string(name) + ".gz"));
}

std::pair<Part, Part> load(const std::filesystem::path& folder) {
  if (!has_file(folder, "t10k-images-idx3-ubyte")) {
    throw std::runtime_error(
        "there is no MNIST in " + folder.string() +
        "\nGet train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz and\n"
        "t10k-labels-idx1-ubyte.gz (the last two are enough) from a mirror of yann.lecun.com/exdb/mnist, for example\n"
        "https://ossci-datasets.s3.amazonaws.com/mnist/, put them into that folder, or name another with --data=DIR.");
  }
  data::datasets::MNIST test(folder.string(), Mode::kTest);
  const size_t n = *test.size();
  if (has_file(folder, "train-images-idx3-ubyte")) {
    data::datasets::MNIST train(folder.string(), Mode::kTrain);
    const size_t train_size = *train.size();
    return {Part(std::move(train), 0, train_size), Part(std::move(test), 0, n)};
  }
  const size_t split = n - n / 10;
  return {Part(test, 0, split), Part(test, split, n)};
}

template <class Loader>
double accuracy(Net& net, Loader& loader, torch::Device device) {
  torch::NoGradGuard no_grad;
  net->eval();
  int64_t right = 0, all = 0;
  for (Example<>& batch : data::to_device(loader, device)) {
    right += net->forward(batch.data).argmax(1).eq(batch.target).sum().template item<int64_t>();
    all += batch.target.size(0);
  }
  net->train();
  return all == 0 ? 0 : 100.0 * static_cast<double>(right) / static_cast<double>(all);
}

int run() {
  const int epochs = absl::GetFlag(FLAGS_epochs);
  const int batch_size = absl::GetFlag(FLAGS_batch_size);
  const int workers = absl::GetFlag(FLAGS_workers);
  const int threads = absl::GetFlag(FLAGS_threads);
  if (epochs < 1) throw std::runtime_error("--epochs must be at least 1");
  if (batch_size < 1) throw std::runtime_error("--batch_size must be at least 1");
  if (workers < 0) throw std::runtime_error("--workers must not be negative");
  if (threads < 0) throw std::runtime_error("--threads must not be negative");
  if (threads > 0) torch::set_num_threads(threads);
  const torch::Device device = examples::device_from_flag();
  torch::manual_seed(static_cast<uint64_t>(absl::GetFlag(FLAGS_seed)));

  auto [train, test] = load(examples::user_path(absl::GetFlag(FLAGS_data)));
  const size_t train_size = *train.size(), test_size = *test.size();
  if (train_size == 0 || test_size == 0) throw std::runtime_error("there are no images in these files");
  std::printf("%zu images to train on, %zu to test on, %d thread(s)\n", train_size, test_size, torch::get_num_threads());

  const auto normalize = data::transforms::Normalize<>(0.1307, 0.3081);
  const data::DataLoaderOptions options = data::DataLoaderOptions(static_cast<size_t>(batch_size))
                                              .workers(static_cast<size_t>(workers))
                                              .pin_memory(!device.is_cpu());
  auto train_loader = data::make_data_loader<data::samplers::RandomSampler>(
      std::move(train).map(normalize).map(data::transforms::Stack<>()), options);
  auto test_loader = data::make_data_loader<data::samplers::SequentialSampler>(
      std::move(test).map(normalize).map(data::transforms::Stack<>()), options);

  Net net(absl::GetFlag(FLAGS_dropout));
  net->to(device);
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(absl::GetFlag(FLAGS_learning_rate)).weight_decay(0.01));
  const int64_t steps = epochs * static_cast<int64_t>((train_size + static_cast<size_t>(batch_size) - 1) / static_cast<size_t>(batch_size));
  const double warm_up = 0.1 * static_cast<double>(steps);
  torch::optim::LambdaLR schedule(optimizer, [=](int64_t t) {
    const double x = static_cast<double>(t);
    if (x < warm_up) return (x + 1) / (warm_up + 1);
    return 0.5 * (1 + std::cos(3.14159265358979 * (x - warm_up) / (static_cast<double>(steps) - warm_up)));
  });

  const auto start = std::chrono::steady_clock::now();
  double best = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    double loss_sum = 0;
    int64_t batches = 0;
    for (Example<>& batch : data::to_device(*train_loader, device)) {
      optimizer.zero_grad();
      torch::Tensor loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      schedule.step();
      loss_sum += loss.item<double>();
      ++batches;
    }
    best = accuracy(net, *test_loader, device);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("epoch %d/%d  loss %.4f  test accuracy %.2f%%  %.1f s\n", epoch, epochs, loss_sum / static_cast<double>(batches), best, seconds);
    std::fflush(stdout);
  }
  const std::string save = absl::GetFlag(FLAGS_save);
  if (!save.empty()) {
    torch::save(net, examples::user_path(save));
    std::printf("weights written to %s\n", save.c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  examples::parse_command_line(argc, argv, "Trains a small convolutional net on MNIST: mnist --data=DIR");
  try {
    return examples::finish(run());
  } catch (const c10::Error& e) {
    examples::fail(e.what_without_backtrace());
  } catch (const std::exception& e) {
    examples::fail(e.what());
  }
}
