// Data-parallel training as PyTorch's examples write it for C++ and MPI: paths and names from before PyTorch 1.10,
// groups and work in std::shared_ptr. The test holds that it compiles, and that its ranks stay together.
#include <torch/torch.h>
#include <c10d/ProcessGroupMPI.hpp>

#include <cstdio>
#include <iostream>
#include <memory>
#include <vector>

namespace {

struct Digits : torch::nn::Module {
  Digits() : hidden(28 * 28, 32), scores(32, 10) {
    register_module("hidden", hidden);
    register_module("scores", scores);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(hidden->forward(x.view({-1, 28 * 28})));
    return torch::log_softmax(scores->forward(x), 1);
  }
  torch::nn::Linear hidden, scores;
};

void wait_for(std::shared_ptr<c10d::ProcessGroupMPI> group,
              std::vector<std::shared_ptr<c10d::ProcessGroup::Work>> works) {
  for (auto& work : works) {
    try {
      work->wait();
    } catch (const std::exception& e) {
      std::cerr << "a sum failed: " << e.what() << std::endl;
      group->abort();
    }
  }
}

}  // namespace

int main(int argc, char* argv[]) {
  auto group = c10d::ProcessGroupMPI::createProcessGroupMPI();
  auto ranks = group->getSize();
  auto rank = group->getRank();
  const char* const folder = argc > 1 ? argv[1] : "../data";

  auto train = torch::data::datasets::MNIST(folder)
                   .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
                   .map(torch::data::transforms::Stack<>());
  auto sampler = torch::data::samplers::DistributedRandomSampler(train.size().value(), ranks, rank, false);
  auto per_rank = train.size().value() / ranks;
  auto loader = torch::data::make_data_loader(std::move(train), sampler, 64 / ranks);

  torch::manual_seed(0);
  auto model = std::make_shared<Digits>();
  torch::optim::SGD optimizer(model->parameters(), 1e-1);
  for (size_t epoch = 1; epoch <= 4; ++epoch) {
    size_t right = 0;
    for (auto& batch : *loader) {
      auto images = batch.data.to(torch::kF32);
      auto labels = batch.target.squeeze().to(torch::kLong);
      model->zero_grad();
      auto prediction = model->forward(images);
      torch::nll_loss(prediction, labels).backward();
      std::vector<std::shared_ptr<::c10d::ProcessGroup::Work>> works;
      for (auto& param : model->named_parameters()) {
        std::vector<torch::Tensor> gradient = {param.value().grad()};
        auto work = group->allreduce(gradient);
        works.push_back(std::move(work));
      }
      wait_for(group, works);
      for (auto& param : model->named_parameters()) {
        if (epoch % 2 == 0) {
          param.value().grad().div_(ranks);
        } else {
          param.value().grad().data() = param.value().grad().data() / ranks;
        }
      }
      optimizer.step();
      auto guess = prediction.argmax(1);
      right += torch::sum(guess.eq_(labels)).item<int64_t>();
    }
    std::cout << "Accuracy in rank " << rank << " in epoch " << epoch << " - " << 100.0 * right / per_rank << std::endl;
  }

  model->eval();
  auto sum = torch::zeros({}, torch::kDouble);
  for (auto& param : model->named_parameters()) sum += param.value().detach().to(torch::kDouble).abs().sum();
  std::printf("rank %d of %d: weights %.12f\n", rank, ranks, sum.item<double>());
  if (rank == 0) {
    auto test = torch::data::datasets::MNIST(folder, torch::data::datasets::MNIST::Mode::kTest)
                    .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
                    .map(torch::data::transforms::Stack<>());
    auto count = test.size().value();
    auto whole = torch::data::make_data_loader(std::move(test), count);
    for (auto& batch : *whole) {
      auto guess = model->forward(batch.data.to(torch::kF32)).argmax(1);
      auto right = torch::sum(guess.eq_(batch.target.squeeze().to(torch::kLong))).item<int64_t>();
      std::cout << "Test Accuracy - " << 100.0 * right / count << std::endl;
    }
  }
}
