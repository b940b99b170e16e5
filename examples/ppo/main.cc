// Learns to balance a pole on a cart with a policy and a critic: proximal policy optimisation (Schulman and others,
// https://arxiv.org/abs/1707.06347) with generalised advantages (https://arxiv.org/abs/1506.02438).
//
//   ./bazelw run //examples/ppo
//
// Carts are pushed side by side; it ends as soon as the poles stay up, then tries the policy on fresh starts.
#include <absl/flags/flag.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <tuple>
#include <vector>

#include "examples/common/cart_pole.h"
#include "examples/common/run.h"

ABSL_FLAG(int64_t, rounds, 100, "rounds of pushing and learning at most");
ABSL_FLAG(int64_t, carts, 8, "carts that are pushed side by side");
ABSL_FLAG(int64_t, pushes, 128, "pushes of each cart a round");
ABSL_FLAG(int64_t, epochs, 6, "passes over what a round brought");
ABSL_FLAG(int64_t, batch, 256, "pushes that a training step looks at");
ABSL_FLAG(int64_t, hidden, 64, "features of the hidden layers");
ABSL_FLAG(int64_t, trials, 100, "fresh starts at the end");
ABSL_FLAG(double, learning_rate, 2e-3, "highest learning rate; it falls along a cosine");

namespace {

namespace nn = torch::nn;
using examples::CartPole;

constexpr double kDiscount = 0.99, kTrace = 0.95, kClip = 0.2, kEntropy = 0.01, kSolved = 475;

struct ActorCriticImpl : nn::Module {
  explicit ActorCriticImpl(int64_t hidden)
      : actor(register_module("actor", layers(hidden, CartPole::kActions, 0.01))),
        critic(register_module("critic", layers(hidden, 1, 1))) {}

  static nn::Sequential layers(int64_t hidden, int64_t results, double last_gain) {
    nn::Linear first(CartPole::kObservations, hidden), second(hidden, hidden), last(hidden, results);
    nn::init::orthogonal_(first->weight, std::sqrt(2.0));
    nn::init::orthogonal_(second->weight, std::sqrt(2.0));
    nn::init::orthogonal_(last->weight, last_gain);
    return nn::Sequential(first, nn::Tanh(), second, nn::Tanh(), last);
  }

  // Logarithms of the probabilities of the pushes [N, 2].
  torch::Tensor policy(const torch::Tensor& observations) {
    return torch::log_softmax(actor->forward(observations), -1);
  }
  // The discounted steps that are left [N].
  torch::Tensor value(const torch::Tensor& observations) { return critic->forward(observations).squeeze(-1); }

  nn::Sequential actor, critic;
};
TORCH_MODULE(ActorCritic);

// What happened to the carts in one round: [pushes, carts, ...].
struct Round {
  torch::Tensor observations, actions, log_probabilities, advantages, returns;
};

// The carts, which go on from round to round.
class Carts {
 public:
  Carts(int64_t count, examples::Run& run) : carts_(static_cast<size_t>(count)), run_(run) {
    for (CartPole& cart : carts_) observations_.push_back(cart.reset());
  }

  Round push(ActorCritic& model, int64_t pushes) {
    torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> observations, actions, probabilities, values, ends;
    for (int64_t t = 0; t < pushes; ++t) {
      const torch::Tensor seen = torch::stack(observations_);
      const torch::Tensor policy = model->policy(seen);
      const torch::Tensor action = torch::multinomial(policy.exp(), 1).squeeze(1);
      observations.push_back(seen);
      actions.push_back(action);
      probabilities.push_back(policy.gather(1, action.unsqueeze(1)).squeeze(1));
      values.push_back(model->value(seen));
      ends.push_back(step(action));
    }
    Round round{torch::stack(observations), torch::stack(actions), torch::stack(probabilities), {}, {}};
    values.push_back(model->value(torch::stack(observations_)));
    round.advantages = advantages(values, ends);
    round.returns = round.advantages + torch::stack(values).slice(0, 0, pushes);
    return round;
  }

 private:
  // Returns 1 for carts that begin anew.
  torch::Tensor step(const torch::Tensor& actions) {
    torch::Tensor ends = torch::zeros({actions.size(0)});
    for (size_t i = 0; i < carts_.size(); ++i) {
      observations_[i] = carts_[i].step(actions[static_cast<int64_t>(i)].item<int64_t>());
      ++steps_;
      if (!carts_[i].done()) continue;
      ends[static_cast<int64_t>(i)] = 1;
      run_.scalar("steps/training", static_cast<double>(carts_[i].steps()), steps_);
      observations_[i] = carts_[i].reset();
    }
    return ends;
  }

  // What came (1 a step) more than the critic had thought, over steps that count less the later they are.
  static torch::Tensor advantages(const std::vector<torch::Tensor>& values, const std::vector<torch::Tensor>& ends) {
    std::vector<torch::Tensor> all(ends.size());
    torch::Tensor later = torch::zeros_like(ends[0]);
    for (size_t t = ends.size(); t-- > 0;) {
      const torch::Tensor goes_on = 1 - ends[t];
      const torch::Tensor surprise = 1 + kDiscount * values[t + 1] * goes_on - values[t];
      later = surprise + kDiscount * kTrace * goes_on * later;
      all[t] = later;
    }
    return torch::stack(all);
  }

  std::vector<CartPole> carts_;
  std::vector<torch::Tensor> observations_;
  examples::Run& run_;
  int64_t steps_ = 0;
};

torch::Tensor loss_of(ActorCritic& model, const Round& round, const torch::Tensor& chosen) {
  const auto part = [&](const torch::Tensor& all) { return all.flatten(0, 1).index_select(0, chosen); };
  const torch::Tensor observations = part(round.observations), policy = model->policy(observations);
  const torch::Tensor now = policy.gather(1, part(round.actions).unsqueeze(1)).squeeze(1);
  const torch::Tensor ratio = torch::exp(now - part(round.log_probabilities));
  torch::Tensor advantage = part(round.advantages);
  advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8);
  const torch::Tensor gain = torch::min(ratio * advantage, ratio.clamp(1 - kClip, 1 + kClip) * advantage).mean();
  const torch::Tensor error = torch::mse_loss(model->value(observations), part(round.returns));
  const torch::Tensor entropy = -(policy.exp() * policy).sum(1).mean();
  return -gain + 0.5 * error - kEntropy * entropy;
}

// The mean number of steps that the pole stays up with the likeliest push each time; all trials side by side.
double evaluate(ActorCritic& model, int64_t trials) {
  torch::NoGradGuard no_grad;
  std::vector<CartPole> carts(static_cast<size_t>(trials));
  std::vector<torch::Tensor> observations;
  for (CartPole& cart : carts) observations.push_back(cart.reset());
  double steps = 0;
  for (bool any = true; any;) {
    any = false;
    const torch::Tensor actions = model->policy(torch::stack(observations)).argmax(1);
    for (size_t i = 0; i < carts.size(); ++i) {
      if (carts[i].done()) continue;
      observations[i] = carts[i].step(actions[static_cast<int64_t>(i)].item<int64_t>());
      ++steps;
      any = true;
    }
  }
  return steps / static_cast<double>(trials);
}

void train() {
  for (const auto* flag :
       {&FLAGS_rounds, &FLAGS_carts, &FLAGS_pushes, &FLAGS_epochs, &FLAGS_batch, &FLAGS_hidden, &FLAGS_trials}) {
    examples::check_flag(flag->Name().data(), static_cast<double>(absl::GetFlag(*flag)), 1, 1e6);
  }
  examples::Run run("ppo");
  ActorCritic model(absl::GetFlag(FLAGS_hidden));
  torch::optim::Adam optimizer(model->parameters(),
                               torch::optim::AdamOptions(absl::GetFlag(FLAGS_learning_rate)).eps(1e-5));
  Carts carts(absl::GetFlag(FLAGS_carts), run);

  const int64_t rounds = absl::GetFlag(FLAGS_rounds),
                a_round = absl::GetFlag(FLAGS_carts) * absl::GetFlag(FLAGS_pushes);
  torch::utils::Progress progress(rounds, stdout, 0, std::max<int64_t>(1, rounds / 20));
  double trial = 0;
  for (int64_t i = 1; i <= rounds; ++i) {
    optimizer.param_groups()[0].options().set_lr(absl::GetFlag(FLAGS_learning_rate) * examples::cosine(i - 1, rounds));
    const Round round = carts.push(model, absl::GetFlag(FLAGS_pushes));
    for (int64_t epoch = 0; epoch < absl::GetFlag(FLAGS_epochs); ++epoch) {
      for (const torch::Tensor& chosen : torch::randperm(a_round, torch::kLong).split(absl::GetFlag(FLAGS_batch))) {
        optimizer.zero_grad();
        loss_of(model, round, chosen).backward();
        nn::utils::clip_grad_norm_(model->parameters(), 0.5);
        optimizer.step();
      }
    }
    if (i % 5 == 0) {
      trial = evaluate(model, 20);
      run.scalar("steps/trial", trial, i * a_round);
      if (trial >= CartPole::kMaxSteps) break;
    }
    progress.update(i,
                    examples::format("up for %.0f of %lld steps", trial, static_cast<long long>(CartPole::kMaxSteps)));
  }
  progress.finish();
  run.draw("steps.svg", "steps that the pole stays up", {"steps/training", "steps/trial"});
  trial = evaluate(model, absl::GetFlag(FLAGS_trials));
  std::printf("%s: up for %.1f steps in the mean of %lld fresh trials\n", trial >= kSolved ? "solved" : "not solved",
              trial, static_cast<long long>(absl::GetFlag(FLAGS_trials)));
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Learns to balance a pole on a cart by proximal policy optimisation.",
                               train);
}
