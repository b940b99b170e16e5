// Learns to balance a pole on a cart from what came of earlier pushes: deep Q-learning (Mnih and others, 2015) with the
// double estimate (van Hasselt and others, https://arxiv.org/abs/1509.06461).
//
//   ./bazelw run //examples/dqn
//
// It ends as soon as the pole stays up, then tries what it learned on fresh starts.
#include <absl/flags/flag.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>

#include "examples/common/cart_pole.h"
#include "examples/common/run.h"

ABSL_FLAG(int64_t, steps, 40000, "pushes at most");
ABSL_FLAG(int64_t, batch, 128, "remembered pushes that a training step looks at");
ABSL_FLAG(int64_t, memory, 20000, "pushes that are remembered");
ABSL_FLAG(int64_t, hidden, 128, "features of the two hidden layers");
ABSL_FLAG(int64_t, explore, 4000, "pushes in which the part of random ones falls from 1 to 0.05");
ABSL_FLAG(int64_t, trials, 100, "fresh starts at the end");
ABSL_FLAG(double, learning_rate, 1e-3, "learning rate");

namespace {

namespace nn = torch::nn;
using examples::CartPole;

constexpr double kDiscount = 0.99, kFollow = 0.01, kSolved = 475;

// Observations [N, 4] -> what each push is worth [N, 2].
struct ValuesImpl : nn::SequentialImpl {
  explicit ValuesImpl(int64_t hidden)
      : nn::SequentialImpl(nn::Linear(CartPole::kObservations, hidden), nn::ReLU(), nn::Linear(hidden, hidden),
                           nn::ReLU(), nn::Linear(hidden, CartPole::kActions)) {}
};
TORCH_MODULE(Values);

struct Batch {
  torch::Tensor before, action, after, fallen;
};

// The last pushes, the oldest overwritten.
class Memory {
 public:
  explicit Memory(int64_t capacity)
      : all_{torch::empty({capacity, CartPole::kObservations}), torch::empty({capacity}, torch::kLong),
             torch::empty({capacity, CartPole::kObservations}), torch::empty({capacity})},
        capacity_(capacity) {}

  void add(const torch::Tensor& before, int64_t action, const torch::Tensor& after, bool fallen) {
    const int64_t i = count_++ % capacity_;
    all_.before[i] = before;
    all_.action[i] = action;
    all_.after[i] = after;
    all_.fallen[i] = fallen ? 1 : 0;
  }
  Batch sample(int64_t batch) const {
    const torch::Tensor i = torch::randint(std::min(count_, capacity_), {batch}, torch::kLong);
    return {all_.before.index_select(0, i), all_.action.index_select(0, i), all_.after.index_select(0, i),
            all_.fallen.index_select(0, i)};
  }
  int64_t size() const { return std::min(count_, capacity_); }

 private:
  Batch all_;
  int64_t capacity_, count_ = 0;
};

// How far the values are from one push (worth 1) and the best that can follow; `slow` judges what `values` chooses.
torch::Tensor loss_of(Values& values, Values& slow, const Batch& batch) {
  torch::Tensor expected;
  {
    torch::NoGradGuard no_grad;
    const torch::Tensor best = values->forward(batch.after).argmax(1, /*keepdim=*/true);
    const torch::Tensor later = slow->forward(batch.after).gather(1, best).squeeze(1);
    expected = 1 + kDiscount * later * (1 - batch.fallen);
  }
  const torch::Tensor thought = values->forward(batch.before).gather(1, batch.action.unsqueeze(1)).squeeze(1);
  return torch::smooth_l1_loss(thought, expected);
}

// `slow` comes a part of the way to `values`.
void follow(Values& slow, Values& values, double part) {
  torch::NoGradGuard no_grad;
  const auto from = values->parameters(), to = slow->parameters();
  for (size_t i = 0; i < to.size(); ++i) to[i].lerp_(from[i], part);
}

int64_t best_push(Values& values, const torch::Tensor& observation) {
  torch::NoGradGuard no_grad;
  return values->forward(observation.unsqueeze(0)).argmax(1).item<int64_t>();
}

// The mean number of steps that the pole stays up, without random pushes.
double evaluate(Values& values, int64_t trials) {
  int64_t steps = 0;
  CartPole cart;
  for (int64_t i = 0; i < trials; ++i) {
    torch::Tensor observation = cart.reset();
    while (!cart.done()) observation = cart.step(best_push(values, observation));
    steps += cart.steps();
  }
  return static_cast<double>(steps) / static_cast<double>(trials);
}

void draw_trial(examples::Run& run, Values& values) {
  CartPole cart;
  torch::Tensor observation = cart.reset();
  torch::utils::plot::LineChart chart;
  chart.title = "one trial";
  chart.x_label = "step";
  chart.series = {{"cart, metres", {}, {}}, {"pole, radians", {}, {}}};
  while (!cart.done()) {
    observation = cart.step(best_push(values, observation));
    for (auto& series : chart.series) series.x.push_back(static_cast<double>(cart.steps()));
    chart.series[0].y.push_back(cart.position());
    chart.series[1].y.push_back(cart.angle());
  }
  write_svg(run.path("trial.svg"), chart);
}

void train() {
  for (const auto* flag : {&FLAGS_steps, &FLAGS_batch, &FLAGS_memory, &FLAGS_hidden, &FLAGS_explore, &FLAGS_trials}) {
    examples::check_flag(flag->Name().data(), static_cast<double>(absl::GetFlag(*flag)), 1, 1e7);
  }
  examples::Run run("dqn");
  Values values(absl::GetFlag(FLAGS_hidden)), slow(absl::GetFlag(FLAGS_hidden));
  follow(slow, values, 1);
  torch::optim::Adam optimizer(values->parameters(), absl::GetFlag(FLAGS_learning_rate));
  Memory memory(absl::GetFlag(FLAGS_memory));

  const int64_t steps = absl::GetFlag(FLAGS_steps);
  torch::utils::Progress progress(steps, stdout, 0, std::max<int64_t>(1, steps / 20));
  CartPole cart;
  torch::Tensor observation = cart.reset();
  double trial = 0;
  for (int64_t step = 1; step <= steps; ++step) {
    const double random =
        std::max(0.05, 1 - static_cast<double>(step) / static_cast<double>(absl::GetFlag(FLAGS_explore)));
    const bool at_random = torch::rand({1}).item<double>() < random;
    const int64_t action =
        at_random ? torch::randint(CartPole::kActions, {1}).item<int64_t>() : best_push(values, observation);
    const torch::Tensor after = cart.step(action);
    memory.add(observation, action, after, cart.fallen());
    observation = after;
    if (cart.done()) {
      run.scalar("steps/training", static_cast<double>(cart.steps()), step);
      observation = cart.reset();
    }
    if (memory.size() < absl::GetFlag(FLAGS_batch)) continue;

    torch::Tensor loss = loss_of(values, slow, memory.sample(absl::GetFlag(FLAGS_batch)));
    optimizer.zero_grad();
    loss.backward();
    torch::nn::utils::clip_grad_norm_(values->parameters(), 10);
    optimizer.step();
    follow(slow, values, kFollow);
    if (step % 1000 == 0) {
      trial = evaluate(slow, 10);
      run.scalar("steps/trial", trial, step);
      run.scalar("loss", loss.item<double>(), step);
      if (trial >= CartPole::kMaxSteps) break;
    }
    progress.update(step,
                    examples::format("up for %.0f of %lld steps", trial, static_cast<long long>(CartPole::kMaxSteps)));
  }
  progress.finish();
  run.draw("steps.svg", "steps that the pole stays up", {"steps/training", "steps/trial"});
  draw_trial(run, slow);
  trial = evaluate(slow, absl::GetFlag(FLAGS_trials));
  std::printf("%s: up for %.1f steps in the mean of %lld fresh trials\n", trial >= kSolved ? "solved" : "not solved",
              trial, static_cast<long long>(absl::GetFlag(FLAGS_trials)));
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Learns to balance a pole on a cart by deep Q-learning.", train);
}
