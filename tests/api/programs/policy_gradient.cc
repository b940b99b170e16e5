// Proximal policy optimization of an actor and a critic.
#include <torch/torch.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "tests/api/programs/program.h"

namespace {

using VT = std::vector<torch::Tensor>;
struct ActorCriticImpl : public torch::nn::Module {
  torch::nn::Linear a_lin1_, a_lin2_, a_lin3_;
  torch::Tensor mu_;
  torch::Tensor log_std_;
  torch::nn::Linear c_lin1_, c_lin2_, c_lin3_, c_val_;
  ActorCriticImpl(int64_t n_in, int64_t n_out, double std)
      : a_lin1_(torch::nn::Linear(n_in, 16)),
        a_lin2_(torch::nn::Linear(16, 32)),
        a_lin3_(torch::nn::Linear(32, n_out)),
        mu_(torch::full(n_out, 0.)),
        log_std_(torch::full(n_out, std)),
        c_lin1_(torch::nn::Linear(n_in, 16)),
        c_lin2_(torch::nn::Linear(16, 32)),
        c_lin3_(torch::nn::Linear(32, n_out)),
        c_val_(torch::nn::Linear(n_out, 1)) {
    register_module("a_lin1", a_lin1_);
    register_module("a_lin2", a_lin2_);
    register_module("a_lin3", a_lin3_);
    register_parameter("log_std", log_std_);
    register_module("c_lin1", c_lin1_);
    register_module("c_lin2", c_lin2_);
    register_module("c_lin3", c_lin3_);
    register_module("c_val", c_val_);
  }
  auto forward(torch::Tensor x) -> std::tuple<torch::Tensor, torch::Tensor> {
    mu_ = torch::relu(a_lin1_->forward(x));
    mu_ = torch::relu(a_lin2_->forward(mu_));
    mu_ = torch::tanh(a_lin3_->forward(mu_));
    torch::Tensor val = torch::relu(c_lin1_->forward(x));
    val = torch::relu(c_lin2_->forward(val));
    val = torch::tanh(c_lin3_->forward(val));
    val = c_val_->forward(val);
    if (this->is_training()) {
      torch::NoGradGuard no_grad;
      torch::Tensor action = at::normal(mu_, log_std_.exp().expand_as(mu_));
      return std::make_tuple(action, val);
    } else
      return std::make_tuple(mu_, val);
  }
  auto normal(double mu, double std) -> void {
    torch::NoGradGuard no_grad;
    for (auto& p : this->parameters()) p.normal_(mu, std);
  }
  auto entropy() -> torch::Tensor { return 0.5 + 0.5 * log(2 * M_PI) + log_std_; }
  auto log_prob(torch::Tensor action) -> torch::Tensor {
    torch::Tensor var = (log_std_ + log_std_).exp();
    return -((action - mu_) * (action - mu_)) / (2 * var) - log_std_ - log(sqrt(2 * M_PI));
  }
};
TORCH_MODULE(ActorCritic);
auto returns(VT& rewards, VT& dones, VT& vals, double gamma, double lambda) -> VT {
  torch::Tensor gae = torch::zeros({1}, torch::kFloat64);
  VT returns(rewards.size(), torch::zeros({1}, torch::kFloat64));
  for (unsigned i = rewards.size(); i-- > 0;) {
    auto delta = rewards[i] + gamma * vals[i + 1] * (1 - dones[i]) - vals[i];
    gae = delta + gamma * lambda * (1 - dones[i]) * gae;
    returns[i] = gae + vals[i];
  }
  return returns;
}
void run() {
  torch::manual_seed(0);
  std::mt19937 re(0);
  ActorCritic ac(4, 2, 0.1);
  ac->to(torch::kF64);
  ac->normal(0., 0.3);
  torch::optim::Adam opt(ac->parameters(), 1e-2);
  VT states, actions, rewards, dones, log_probs, returns_, values;
  torch::Tensor s = torch::zeros({1, 4}, torch::kF64);
  for (int i = 0; i < 32; ++i) {
    states.push_back(s);
    auto av = ac->forward(states[i]);
    actions.push_back(std::get<0>(av));
    values.push_back(std::get<1>(av));
    log_probs.push_back(ac->log_prob(actions[i]));
    double x = actions[i][0][0].item<double>(), y = actions[i][0][1].item<double>();
    s = s.clone();
    s[0][0] += x * 0.1;
    s[0][1] += y * 0.1;
    s.index_put_({0, torch::indexing::Slice(2, 4)}, torch::tensor({x, y}, torch::kF64));
    rewards.push_back(torch::full({1, 1}, -std::abs(s[0][0].item<double>() - 1), torch::kF64));
    dones.push_back(torch::full({1, 1}, i == 31 ? 1. : 0., torch::kF64));
  }
  values.push_back(std::get<1>(ac->forward(s)));
  returns_ = returns(rewards, dones, values, .99, .95);
  torch::Tensor t_log = torch::cat(log_probs).detach(), t_ret = torch::cat(returns_).detach(),
                t_val = torch::cat(values).detach(), t_s = torch::cat(states), t_a = torch::cat(actions);
  torch::Tensor t_adv = t_ret - t_val.slice(0, 0, 32);
  for (int e = 0; e < 3; ++e) {
    torch::Tensor cs = torch::zeros({8, t_s.size(1)}, t_s.options()),
                  ca = torch::zeros({8, t_a.size(1)}, t_a.options()),
                  cl = torch::zeros({8, t_log.size(1)}, t_log.options()),
                  cr = torch::zeros({8, t_ret.size(1)}, t_ret.options()),
                  cadv = torch::zeros({8, t_adv.size(1)}, t_adv.options());
    for (unsigned b = 0; b < 8; b++) {
      unsigned idx = re() % 32;
      cs[b] = t_s[idx];
      ca[b] = t_a[idx];
      cl[b] = t_log[idx];
      cr[b] = t_ret[idx];
      cadv[b] = t_adv[idx];
    }
    auto av = ac->forward(cs);
    auto entropy = ac->entropy().mean();
    auto nl = ac->log_prob(ca);
    auto old = cl;
    auto ratio = (nl - old).exp();
    auto surr1 = ratio * cadv;
    auto surr2 = torch::clamp(ratio, 1. - 0.2, 1. + 0.2) * cadv;
    auto val = std::get<1>(av);
    auto actor_loss = -torch::min(surr1, surr2).mean();
    auto critic_loss = (cr - val).pow(2).mean();
    auto loss = 0.5 * critic_loss + actor_loss - 0.01 * entropy;
    opt.zero_grad();
    loss.backward();
    double n = torch::nn::utils::clip_grad_norm_(ac->parameters(), 0.5);
    opt.step();
    std::cout << "loss " << loss.item<double>() << " norm " << n << " H " << entropy.item().toDouble() << std::endl;
  }
  std::cout << ac << std::endl << ac->log_std_ << std::endl;
}

}  // namespace

KINDLING_PROGRAM(policy_gradient, run);
