// Trains a convolutional net on handwritten digits by several processes, which average their gradients by MPI, in
// libtorch's API alone.
//
//   ./bazelw build //examples/mnist_mpi
//   mpirun -n 4 bazel-bin/examples/mnist_mpi/mnist_mpi DIR [EPOCHS]
//
// DIR holds MNIST in its original files. Each process sees its part of the training images.
#include <torch/csrc/distributed/c10d/ProcessGroupMPI.hpp>
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace data = torch::data;

struct NetImpl : torch::nn::Module {
  NetImpl()
      : conv(register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 8, 5)))),
        hidden(register_module("hidden", torch::nn::Linear(8 * 12 * 12, 64))),
        scores(register_module("scores", torch::nn::Linear(64, 10))) {}

  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(conv(x)), 2);
    x = torch::relu(hidden(x.flatten(1)));
    return torch::log_softmax(scores(x), 1);
  }

  torch::nn::Conv2d conv;
  torch::nn::Linear hidden, scores;
};
TORCH_MODULE(Net);

auto digits(const std::string& folder, data::datasets::MNIST::Mode mode) {
  return data::datasets::MNIST(folder, mode)
      .map(data::transforms::Normalize<>(0.1307, 0.3081))
      .map(data::transforms::Stack<>());
}

// All start at once: each waits for the other ranks only where all are under way.
void average_gradients(const c10::intrusive_ptr<c10d::ProcessGroupMPI>& group, Net& net) {
  std::vector<std::vector<torch::Tensor>> gradients;
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
  for (torch::Tensor& parameter : net->parameters()) {
    gradients.push_back({parameter.grad()});
    works.push_back(group->allreduce(gradients.back()));
  }
  for (auto& work : works) work->wait();
  for (auto& gradient : gradients) gradient[0].div_(group->getSize());
}

void train(const std::string& folder, int epochs) {
  const auto group = c10d::ProcessGroupMPI::createProcessGroupMPI();
  const int rank = group->getRank(), size = group->getSize();
  torch::set_num_threads(1);
  torch::manual_seed(1);
  Net net;
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));

  auto training = digits(folder, data::datasets::MNIST::Mode::kTrain);
  auto sampler = data::samplers::DistributedRandomSampler(training.size().value(), static_cast<size_t>(size),
                                                          static_cast<size_t>(rank), /*allow_duplicates=*/false);
  auto loader = data::make_data_loader(std::move(training), sampler, static_cast<size_t>(64 / size));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    double loss_of_epoch = 0;
    int steps = 0;
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      torch::Tensor loss = torch::nll_loss(net->forward(batch.data), batch.target.squeeze());
      loss.backward();
      average_gradients(group, net);
      optimizer.step();
      loss_of_epoch += loss.item<double>();
      ++steps;
    }
    std::printf("rank %d of %d: epoch %d, loss %.4f\n", rank, size, epoch, loss_of_epoch / steps);
  }

  // All have the same weights, and so the same answer.
  torch::NoGradGuard no_grad;
  net->eval();
  int64_t right = 0, all = 0;
  auto tests = data::make_data_loader(digits(folder, data::datasets::MNIST::Mode::kTest), 256);
  for (auto& batch : *tests) {
    right += net->forward(batch.data).argmax(1).eq(batch.target.squeeze()).sum().item<int64_t>();
    all += batch.target.size(0);
  }
  std::printf("rank %d of %d: accuracy %.4f\n", rank, size, static_cast<double>(right) / static_cast<double>(all));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: mpirun -n RANKS mnist_mpi FOLDER [EPOCHS]\n");
    return 2;
  }
  try {
    train(argv[1], argc > 2 ? std::atoi(argv[2]) : 5);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
