// Learns five digits from fifty images, with a net that has learned the five others from thousands.
//
//   ./bazelw run //examples/transfer_learning [-- --data=DIR]
//
// A net learns 0 to 4 and is written by torch::save. Another takes its weights over by torch::load, gets a new head for
// 5 to 9 and learns from few images: first the head alone, all else frozen, then all of it, the lower the layer the
// slower. A net that begins from nothing with the same images is the comparison.
#include <absl/flags/flag.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "examples/common/digits.h"
#include "examples/common/run.h"

ABSL_FLAG(int64_t, epochs, 4, "passes over the images of 0 to 4");
ABSL_FLAG(int64_t, few, 10, "images of each of 5 to 9 to learn from");
ABSL_FLAG(int64_t, head_steps, 100, "steps in which only the head learns");
ABSL_FLAG(int64_t, all_steps, 100, "steps in which all layers learn");
ABSL_FLAG(int64_t, batch, 50, "images a step");
ABSL_FLAG(double, learning_rate, 2e-3,
          "learning rate of the topmost layer; each one below has a third of it, a head alone five times as much");

namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;
using examples::Digits;

constexpr int64_t kClasses = 5;

struct NetImpl : nn::Module {
  NetImpl()
      : low(register_module(
            "low", nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 16, 3).padding(1)), nn::ReLU(), nn::MaxPool2d(2)))),
        high(register_module(
            "high", nn::Sequential(nn::Conv2d(nn::Conv2dOptions(16, 32, 3).padding(1)), nn::ReLU(), nn::MaxPool2d(2),
                                   nn::Flatten(), nn::Linear(32 * 7 * 7, 64), nn::ReLU()))),
        head(register_module("head", nn::Linear(64, kClasses))) {}

  torch::Tensor forward(const torch::Tensor& x) { return head->forward(high->forward(low->forward(x))); }

  nn::Sequential low, high;
  nn::Linear head;
};
TORCH_MODULE(Net);

// The digits first .. first + 4, counted from 0; at most `each` images of every one.
Digits select(const Digits& all, int64_t first, int64_t each) {
  std::vector<torch::Tensor> chosen;
  for (int64_t digit = first; digit < first + kClasses; ++digit) {
    chosen.push_back(torch::nonzero(all.targets == digit).squeeze(1).slice(0, 0, each));
  }
  const torch::Tensor i = torch::cat(chosen);
  return {all.images.index_select(0, i), all.targets.index_select(0, i) - first};
}

double accuracy(Net& net, const Digits& test) {
  torch::NoGradGuard no_grad;
  return 100 * (net->forward(test.images).argmax(1) == test.targets).to(torch::kFloat).mean().item<double>();
}

// Steps on images drawn at random; `tag` names the curve of the accuracy.
class Teacher {
 public:
  Teacher(examples::Run& run, int64_t steps)
      : run_(run), progress_(steps, stdout, 0, std::max<int64_t>(1, steps / 10)) {}

  void teach(Net& net, torch::optim::Optimizer& optimizer, const Digits& digits, const Digits& test, int64_t steps,
             const std::string& tag) {
    for (int64_t i = 0; i < steps; ++i) {
      const torch::Tensor chosen = torch::randint(digits.images.size(0), {absl::GetFlag(FLAGS_batch)}, torch::kLong);
      optimizer.zero_grad();
      torch::Tensor loss =
          F::cross_entropy(net->forward(digits.images.index_select(0, chosen)), digits.targets.index_select(0, chosen));
      loss.backward();
      optimizer.step();
      const int64_t step = ++steps_[tag];
      if (step % 10 == 0) run_.scalar(tag, accuracy(net, test), step);
      progress_.update(++done_, examples::format("%s: loss %.3f", tag.c_str(), loss.item<double>()));
    }
  }

 private:
  examples::Run& run_;
  torch::utils::Progress progress_;
  std::map<std::string, int64_t> steps_;
  int64_t done_ = 0;
};

void set_requires_grad(nn::Module& module, bool requires_grad) {
  for (torch::Tensor& p : module.parameters()) p.requires_grad_(requires_grad);
}

// Adam, whose rate falls to a third from layer to layer downwards.
torch::optim::Adam discriminative_optimizer(Net& net, double rate) {
  std::vector<torch::optim::OptimizerParamGroup> groups;
  for (const auto& parameters : {net->head->parameters(), net->high->parameters(), net->low->parameters()}) {
    groups.emplace_back(parameters, std::make_unique<torch::optim::AdamOptions>(rate));
    rate /= 3;
  }
  return torch::optim::Adam(groups, torch::optim::AdamOptions(rate));
}

void train() {
  for (const auto* flag : {&FLAGS_epochs, &FLAGS_few, &FLAGS_head_steps, &FLAGS_all_steps, &FLAGS_batch}) {
    examples::check_flag(flag->Name().data(), static_cast<double>(absl::GetFlag(*flag)), 1, 1e6);
  }
  examples::Run run("transfer_learning");
  const auto sets = examples::load_digits();
  const Digits many = select(sets.train, 0, sets.train.images.size(0)), many_test = select(sets.test, 0, 1000);
  const Digits few = select(sets.train, kClasses, absl::GetFlag(FLAGS_few)),
               few_test = select(sets.test, kClasses, 1000);
  const double rate = absl::GetFlag(FLAGS_learning_rate);
  const int64_t head_steps = absl::GetFlag(FLAGS_head_steps), all_steps = absl::GetFlag(FLAGS_all_steps);
  const int64_t first_steps =
      std::max<int64_t>(1, absl::GetFlag(FLAGS_epochs) * many.images.size(0) / absl::GetFlag(FLAGS_batch));
  Teacher teacher(run, first_steps + 2 * (head_steps + all_steps));

  const std::string file = run.path("zero_to_four.pt");
  {
    Net net;
    torch::optim::Adam optimizer(net->parameters(), rate);
    teacher.teach(net, optimizer, many, many_test, first_steps, "zero to four");
    torch::save(net, file);
  }

  Net net;
  torch::load(net, file);
  net->head = net->replace_module("head", nn::Linear(64, kClasses));
  set_requires_grad(*net->low, false);
  set_requires_grad(*net->high, false);
  torch::optim::Adam of_head(net->head->parameters(), 5 * rate);
  teacher.teach(net, of_head, few, few_test, head_steps, "transferred");
  const double head_only = accuracy(net, few_test);
  set_requires_grad(*net, true);
  torch::optim::Adam of_all = discriminative_optimizer(net, rate);
  teacher.teach(net, of_all, few, few_test, all_steps, "transferred");

  Net fresh;
  torch::optim::Adam of_fresh(fresh->parameters(), rate);
  teacher.teach(fresh, of_fresh, few, few_test, head_steps + all_steps, "from nothing");

  run.draw("accuracy.svg", "test images of 5 to 9 that are right, in percent", {"transferred", "from nothing"});
  std::printf("\nfrom %lld images: transferred %.1f%% (the head alone %.1f%%), from nothing %.1f%%\n",
              static_cast<long long>(few.images.size(0)), accuracy(net, few_test), head_only,
              accuracy(fresh, few_test));
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Learns digits from few images with a net that has learned others.", train);
}
