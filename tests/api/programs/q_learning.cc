// Double Q-learning from a replay buffer, parameters copied by name.
#include <torch/torch.h>

#include <deque>
#include <iostream>
#include <random>
#include <tuple>

#include "tests/api/programs/program.h"

namespace {

struct DQN : torch::nn::Module {
  DQN(int64_t input_channels, int64_t num_actions)
      : conv1(torch::nn::Conv2dOptions(input_channels, 8, 4).stride(2)),
        conv2(torch::nn::Conv2dOptions(8, 8, 3).stride(1)),
        linear1(8 * 7 * 7, 32),
        output(32, num_actions) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("linear1", linear1);
    register_module("output", output);
  }
  torch::Tensor forward(torch::Tensor input) {
    input = torch::relu(conv1(input));
    input = torch::relu(conv2(input));
    input = input.view({input.size(0), -1});
    input = torch::relu(linear1(input));
    return output(input);
  }
  torch::Tensor act(torch::Tensor state) {
    torch::Tensor q = forward(state);
    return std::get<1>(q.max(1));
  }
  torch::nn::Conv2d conv1, conv2;
  torch::nn::Linear linear1, output;
};
class ExperienceReplay {
 public:
  typedef std::tuple<torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor> E;
  ExperienceReplay(int64_t capacity) : cap(capacity) {}
  void push(torch::Tensor s, torch::Tensor n, torch::Tensor a, torch::Tensor d, torch::Tensor r) {
    E e(s, n, a, d, r);
    if (buffer.size() < cap)
      buffer.push_back(e);
    else {
      while (buffer.size() >= cap) buffer.pop_front();
      buffer.push_back(e);
    }
  }
  std::vector<E> sample(int64_t b) {
    std::vector<E> v;
    std::mt19937 g(3);
    for (int i = 0; i < b; ++i) v.push_back(buffer[g() % buffer.size()]);
    return v;
  }
  std::deque<E> buffer;
  size_t cap;
};
void loadstatedict(torch::nn::Module& model, torch::nn::Module& target_model) {
  torch::autograd::GradMode::set_enabled(false);
  auto new_params = target_model.named_parameters();
  auto params = model.named_parameters(true);
  auto buffers = model.named_buffers(true);
  for (auto& val : new_params) {
    auto name = val.key();
    auto* t = params.find(name);
    if (t != nullptr)
      t->copy_(val.value());
    else {
      t = buffers.find(name);
      if (t != nullptr) t->copy_(val.value());
    }
  }
  torch::autograd::GradMode::set_enabled(true);
}
void run() {
  torch::manual_seed(5);
  ExperienceReplay buffer(20);
  DQN network(2, 4), target(2, 4);
  loadstatedict(network, target);
  std::cout << torch::equal(network.conv1->weight, target.conv1->weight) << std::endl;
  torch::optim::Adam dqn_optimizer(network.parameters(), torch::optim::AdamOptions(0.001).betas({0.5, 0.999}));
  for (int i = 0; i < 25; ++i) {
    torch::Tensor s = torch::rand({1, 2, 20, 20}), n = torch::rand({1, 2, 20, 20});
    torch::Tensor a = network.act(s);
    buffer.push(s, n, a, torch::tensor(i % 5 == 0 ? 1.0f : 0.0f).unsqueeze(0), torch::tensor({(float)i / 10}));
  }
  for (int it = 0; it < 3; ++it) {
    auto batch = buffer.sample(6);
    std::vector<torch::Tensor> states, next, actions, rewards, dones;
    for (auto i : batch) {
      states.push_back(std::get<0>(i));
      next.push_back(std::get<1>(i));
      actions.push_back(std::get<2>(i));
      dones.push_back(std::get<3>(i));
      rewards.push_back(std::get<4>(i));
    }
    auto st = torch::cat(states, 0), ns = torch::cat(next, 0), ac = torch::cat(actions, 0), rw = torch::cat(rewards, 0),
         dn = torch::cat(dones, 0);
    auto q_values = network.forward(st), next_target = target.forward(ns), next_q = network.forward(ns);
    ac = ac.to(torch::kInt64);
    torch::Tensor q_value = q_values.gather(1, ac.unsqueeze(1)).squeeze(1);
    torch::Tensor maximum = std::get<1>(next_q.max(1));
    torch::Tensor next_q_value = next_target.gather(1, maximum.unsqueeze(1)).squeeze(1);
    torch::Tensor expected = rw + 0.99 * next_q_value * (1 - dn);
    torch::Tensor loss = torch::mse_loss(q_value, expected.detach());
    dqn_optimizer.zero_grad();
    loss.backward();
    dqn_optimizer.step();
    std::cout << loss << std::endl << ac << std::endl;
    if (it == 1) loadstatedict(target, network);
  }
  for (auto& p : target.parameters()) std::cout << p.mean().item<float>() << " ";
  std::cout << std::endl;
}

}  // namespace

KINDLING_PROGRAM(q_learning, run);
