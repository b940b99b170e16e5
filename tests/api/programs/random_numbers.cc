// Numbers from seeds: factories, distributions, generators, layers that draw.
#include <torch/torch.h>

#include <iostream>
#include <mutex>

#include "tests/api/programs/program.h"
#include "tests/api/programs/report.h"

namespace {

void factories() {
  torch::manual_seed(7);
  SHOW(torch::rand({3}));
  SHOW(torch::rand({2}, torch::kDouble));
  SHOW(torch::randn({3}));
  SHOW(torch::randn({20}).sum());
  SHOW(torch::randn({2}, torch::dtype(torch::kFloat64)));
  SHOW(torch::randint(10, {4}));
  SHOW(torch::randint(-5, 5, {4}));
  SHOW(torch::randint(0, 1000000, {3}, torch::kInt));
  SHOW(torch::randint(3, {2, 2}, torch::kFloat));
  SHOW(torch::randperm(6));
  SHOW(torch::randperm(5, torch::kInt));
  SHOW(torch::rand_like(torch::ones({2})));
  SHOW(torch::randn_like(torch::ones({2}, torch::kDouble)));
  SHOW(torch::randint_like(torch::ones({3}), 4));
  SHOW(torch::randint_like(torch::ones({3}, torch::kLong), 4, 9));
  SHOW(torch::normal(0., 1., {3}));
  SHOW(at::normal(torch::tensor({1., 100.}), 0.5));
  SHOW(at::normal(2., torch::tensor({1., 2.})));
  SHOW(at::normal(torch::zeros({2}), torch::ones({2})));
  SHOW(torch::bernoulli(torch::full({6}, 0.5)));
  SHOW(torch::bernoulli(torch::ones({3}), 0.25));
  SHOW(torch::multinomial(torch::tensor({0.1, 0.2, 0.7}), 5, true));
  SHOW(torch::multinomial(torch::tensor({{0.5, 0.5, 0.0}, {0.1, 0.1, 0.8}}), 2));
  SHOW(torch::poisson(torch::tensor({1., 5., 30.})));
  SHOW(torch::binomial(torch::tensor({10., 20.}), torch::tensor({0.5, 0.25})));
}

void in_place() {
  torch::manual_seed(11);
  SHOW(torch::empty({3}).uniform_());
  SHOW(torch::empty({3}).uniform_(-1, 1));
  SHOW(torch::empty({3}).normal_());
  SHOW(torch::empty({3}).normal_(5, 0.1));
  SHOW(torch::empty({3}).exponential_());
  SHOW(torch::empty({3}).exponential_(2));
  SHOW(torch::empty({3}).geometric_(0.3));
  SHOW(torch::empty({3}).cauchy_());
  SHOW(torch::empty({3}).log_normal_());
  SHOW(torch::empty({4}).bernoulli_());
  SHOW(torch::empty({4}).bernoulli_(0.9));
  SHOW(torch::empty({4}).bernoulli_(torch::tensor({0., 1., 0.5, 0.5})));
  SHOW(torch::empty({3}, torch::kLong).random_());
  SHOW(torch::empty({3}).random_(100));
  SHOW(torch::empty({3}, torch::kInt).random_(-10, 10));
}

void generators() {
  auto one = torch::make_generator<at::CPUGeneratorImpl>(3), two = at::detail::createCPUGenerator(3);
  SHOW(one.current_seed());
  SHOW(torch::rand({2}, one).equal(torch::rand({2}, two)));
  SHOW(one.device());
  const auto state = one.get_state();
  const auto before = torch::randn({4}, one);
  one.set_state(state);
  SHOW(torch::randn({4}, one).equal(before));
  SHOW(state.sizes());
  SHOW(state.dtype());
  auto copy = one.clone();
  SHOW(torch::randperm(4, copy).equal(torch::randperm(4, one)));
  two.set_current_seed(9);
  SHOW(two.current_seed());
  SHOW(torch::randint(5, {3}, two));
  SHOW(torch::randint(2, 5, {3}, two));
  SHOW(torch::empty({2}).normal_(0, 1, two));
  SHOW(torch::bernoulli(torch::full({3}, 0.5), two));
  SHOW(torch::multinomial(torch::ones({4}), 2, false, two));
  {
    std::lock_guard<std::mutex> lock(two.mutex());
    SHOW(at::check_generator<at::CPUGeneratorImpl>(two)->random());
  }
  auto standard = at::globalContext().defaultGenerator(torch::kCPU);
  standard.set_current_seed(42);
  const auto first = torch::rand({2});
  torch::manual_seed(42);
  SHOW(torch::rand({2}).equal(first));
  SHOW(at::detail::getDefaultCPUGenerator().current_seed());
  SHOW(one == one);
  SHOW(one != two);
  torch::Generator none;
  SHOW(none.defined());
  REFUSED(one.set_state(torch::zeros({3})));
  REFUSED(one.set_state(torch::zeros({3}, torch::kByte)));
}

void layers() {
  torch::manual_seed(1);
  auto drop = torch::nn::Dropout(0.4);
  SHOW(drop(torch::ones({8})));
  SHOW(torch::nn::Dropout2d(0.5)(torch::ones({1, 4, 1, 2})));
  SHOW(torch::nn::AlphaDropout(0.5)(torch::ones({5})));
  SHOW(torch::nn::FeatureAlphaDropout(0.5)(torch::ones({1, 3, 1})));
  SHOW(torch::nn::RReLU()(torch::full({4}, -1.)));
  SHOW(torch::nn::functional::gumbel_softmax(torch::zeros({2, 3})));
  SHOW(torch::nn::functional::gumbel_softmax(torch::zeros({2, 3}),
                                             torch::nn::functional::GumbelSoftmaxFuncOptions().hard(true).tau(0.5)));
  drop->eval();
  SHOW(drop(torch::ones({3})));
  SHOW(torch::dropout(torch::ones({5}), 0.5, true));
  SHOW(torch::nn::Linear(2, 2)->weight);
  SHOW(torch::nn::Conv1d(1, 2, 2)->bias);
  SHOW(torch::nn::Embedding(3, 2)->weight);
  SHOW(torch::nn::LSTM(1, 2)->parameters()[1].sum());
  SHOW(torch::nn::MultiheadAttention(4, 2)->in_proj_weight.sum());
  SHOW(torch::nn::Bilinear(2, 2, 1)->weight.sum());
  SHOW(torch::nn::ConvTranspose2d(2, 3, 3)->weight.sum());
  auto w = torch::empty({3, 4});
  SHOW(torch::nn::init::xavier_uniform_(w).sum());
  SHOW(torch::nn::init::xavier_normal_(w, 2).sum());
  SHOW(torch::nn::init::kaiming_uniform_(w, 0.1).sum());
  SHOW(torch::nn::init::kaiming_normal_(w, 0, torch::kFanOut, torch::kReLU).sum());
  SHOW(torch::nn::init::uniform_(w, -2, 2).sum());
  SHOW(torch::nn::init::normal_(w, 1, 0.5).sum());
  SHOW(torch::nn::init::sparse_(w, 0.5).sum());
  SHOW(torch::nn::init::constant_(w, 3).sum());
  SHOW(torch::nn::init::eye_(torch::empty({2, 2})));
  SHOW(torch::nn::init::dirac_(torch::empty({1, 1, 3})));
  SHOW(torch::nn::init::calculate_gain(torch::kLeakyReLU, 0.2));
}

void samples() {
  torch::manual_seed(5);
  torch::data::samplers::RandomSampler sampler(6);
  const auto six = sampler.next(6);
  for (const size_t i : *six) std::cout << i << " ";
  sampler.reset(4);
  while (auto batch = sampler.next(3)) {
    for (const size_t i : *batch) std::cout << i << " ";
  }
  torch::data::samplers::DistributedRandomSampler parts(10, 2, 1);
  parts.set_epoch(3);
  parts.reset();
  const auto half = parts.next(10);
  for (const size_t i : *half) std::cout << i << " ";
  std::cout << "\n";
}

void run() {
  factories();
  in_place();
  generators();
  layers();
  samples();
}

}  // namespace

KINDLING_PROGRAM(random_numbers, run);
