// torch.optim.lr_scheduler: learning rates and momenta after each step, state dicts.
#include <algorithm>
#include <cmath>

#include "aten/ops/creation/ops.h"
#include "optim/adam.h"
#include "optim/lr_scheduler/cyclic.h"
#include "optim/lr_scheduler/reduce_on_plateau.h"
#include "optim/lr_scheduler/schedules.h"
#include "optim/lr_scheduler/sequential.h"
#include "optim/lr_scheduler/step_lr.h"
#include "optim/lr_scheduler/swa_lr.h"
#include "optim/sgd.h"
#include "tests/recorded/families.h"
#include "tests/recorded/named_calls.h"
#include "tests/recorded/optim_values.h"

namespace recorded {
namespace {

using namespace torch::optim;

LambdaLR::Lambda formula(const std::string& text) {
  if (text == "0.9 ** n") return [](int64_t n) { return std::pow(0.9, n); };
  if (text == "1 / (1 + n)") return [](int64_t n) { return 1 / (1 + static_cast<double>(n)); };
  if (text == "min(1, (n + 1) / 5)") return [](int64_t n) { return std::min(1.0, static_cast<double>(n + 1) / 5); };
  if (text == "0.95") return [](int64_t) { return 0.95; };
  if (text == "1 - n / 100") return [](int64_t n) { return 1 - static_cast<double>(n) / 100; };
  TORCH_CHECK(false, "no formula ", text);
}

std::vector<LambdaLR::Lambda> formulas(const Json& texts, size_t groups) {
  std::vector<LambdaLR::Lambda> all;
  if (texts.is_string()) return std::vector<LambdaLR::Lambda>(groups, formula(texts));
  for (const Json& text : texts) all.push_back(formula(text));
  return all;
}

std::vector<double> numbers(const Json& v) {
  return v.is_array() ? v.get<std::vector<double>>() : std::vector<double>{v.get<double>()};
}

}  // namespace

std::shared_ptr<LRScheduler> make_schedule(Optimizer& o, const Json& s) {
  const std::string name = s.at("scheduler");
  const Json& c = s.at("config");
  const int64_t last = integer_of(c, "last_epoch", -1);
  const auto number = [&](const char* key, double otherwise) { return number_of(c, key, otherwise); };
  const auto integer = [&](const char* key, int64_t otherwise) { return integer_of(c, key, otherwise); };
  std::vector<std::shared_ptr<LRScheduler>> parts;
  if (has(s, "schedulers")) {
    for (const Json& part : s.at("schedulers")) parts.push_back(make_schedule(o, part));
  }
  if (name == "SequentialLR") return std::make_shared<SequentialLR>(o, parts, integers(c.at("milestones")));
  if (name == "ChainedScheduler") return std::make_shared<ChainedScheduler>(parts);
  if (name == "StepLR") {
    return std::make_shared<StepLR>(o, static_cast<unsigned>(integer("step_size", 1)), number("gamma", 0.1), last);
  }
  if (name == "MultiStepLR") {
    return std::make_shared<MultiStepLR>(o, integers(c.at("milestones")), number("gamma", 0.1), last);
  }
  if (name == "ConstantLR") {
    return std::make_shared<ConstantLR>(o, number("factor", 1.0 / 3), integer("total_iters", 5), last);
  }
  if (name == "LinearLR") {
    return std::make_shared<LinearLR>(o, number("start_factor", 1.0 / 3), number("end_factor", 1.0),
                                      integer("total_iters", 5), last);
  }
  if (name == "ExponentialLR") return std::make_shared<ExponentialLR>(o, number("gamma", 1), last);
  if (name == "PolynomialLR") {
    return std::make_shared<PolynomialLR>(o, integer("total_iters", 5), number("power", 1.0), last);
  }
  if (name == "CosineAnnealingLR") {
    return std::make_shared<CosineAnnealingLR>(o, integer("T_max", 1), number("eta_min", 0), last);
  }
  if (name == "CosineAnnealingWarmRestarts") {
    return std::make_shared<CosineAnnealingWarmRestarts>(o, integer("T_0", 1), integer("T_mult", 1),
                                                         number("eta_min", 0), last);
  }
  const size_t groups = o.param_groups().size();
  if (name == "LambdaLR") return std::make_shared<LambdaLR>(o, formulas(c.at("lr_lambda"), groups), last);
  if (name == "MultiplicativeLR") {
    return std::make_shared<MultiplicativeLR>(o, formulas(c.at("lr_lambda"), groups), last);
  }
  if (name == "SWALR") {
    return std::make_shared<SWALR>(o, numbers(c.at("swa_lr")), integer("anneal_epochs", 10),
                                   text_of(c, "anneal_strategy", "cos"), last);
  }
  if (name == "CyclicLR") {
    CyclicLROptions options(numbers(c.at("base_lr")), numbers(c.at("max_lr")));
    options.step_size_up(integer("step_size_up", 2000)).mode(text_of(c, "mode", "triangular"));
    if (has(c, "step_size_down")) options.step_size_down(integer("step_size_down", 0));
    options.gamma(number("gamma", 1.0)).cycle_momentum(flag_of(c, "cycle_momentum", true)).last_epoch(last);
    return std::make_shared<CyclicLR>(o, options);
  }
  if (name == "OneCycleLR") {
    OneCycleLROptions options(numbers(c.at("max_lr")));
    if (has(c, "total_steps")) options.total_steps(integer("total_steps", 0));
    if (has(c, "epochs")) options.epochs(integer("epochs", 0)).steps_per_epoch(integer("steps_per_epoch", 0));
    options.pct_start(number("pct_start", 0.3)).anneal_strategy(text_of(c, "anneal_strategy", "cos"));
    options.three_phase(flag_of(c, "three_phase", false)).cycle_momentum(flag_of(c, "cycle_momentum", true));
    options.div_factor(number("div_factor", 25)).final_div_factor(number("final_div_factor", 1e4)).last_epoch(last);
    return std::make_shared<OneCycleLR>(o, options);
  }
  return nullptr;
}

std::shared_ptr<ReduceLROnPlateauScheduler> make_plateau_schedule(Optimizer& o, const Json& c) {
  using Plateau = ReduceLROnPlateauScheduler;
  std::vector<double> least;
  if (has(c, "min_lr")) least = numbers(c.at("min_lr"));
  return std::make_shared<Plateau>(
      o, text_of(c, "mode", "min") == "min" ? Plateau::min : Plateau::max, number_of(c, "factor", 0.1),
      static_cast<int>(integer_of(c, "patience", 10)), number_of(c, "threshold", 1e-4),
      text_of(c, "threshold_mode", "rel") == "rel" ? Plateau::rel : Plateau::abs,
      static_cast<int>(integer_of(c, "cooldown", 0)), std::move(least), number_of(c, "eps", 1e-8));
}

namespace {

class ScheduleCase {
 public:
  ScheduleCase(const Json& c, Check& check) : case_(c), check_(check) {
    std::vector<std::vector<at::Tensor>> params;
    std::vector<Json> configs;
    for (const Json& group : c.at("groups")) {
      params.push_back({at::zeros({1}).set_requires_grad(true)});
      configs.push_back(group);
      configs.back().erase("initial_lr");
    }
    optimizer_ = make_optimizer(c.at("optimizer"), c.at("optimizer_config"), params, configs);
    for (size_t g = 0; g < params.size(); ++g) {
      const Json& group = c.at("groups")[g];
      if (has(group, "initial_lr"))
        optimizer_->param_groups()[g].set_extra("initial_lr", value_of(group.at("initial_lr")));
    }
  }

  void replay() {
    if (case_.at("scheduler") == "ReduceLROnPlateau") return replay_plateau();
    const auto schedule = make_schedule(*optimizer_, case_);
    if (schedule == nullptr) return check_.skip("no schedule " + case_.at("scheduler").get<std::string>() + " here");
    check_rates(rates(), 0);
    for (size_t t = 1; t < case_.at("lrs").size(); ++t) {
      optimizer_->step();
      if (has(case_, "epochs")) {
        static_cast<EpochScheduler&>(*schedule).step(case_.at("epochs")[t - 1].get<double>());
      } else {
        schedule->step();
      }
      check_rates(schedule->get_last_lr(), t);
      if (t == 9 && has(case_, "state_dict_after_9")) {
        const StateDict state = schedule->state_dict();
        check_tree(check_, "state_dict", state.tree(), case_.at("state_dict_after_9"),
                   {"lr_lambdas", "_scale_fn_custom"});
        schedule->load_state_dict(state.clone());
      }
    }
  }

 private:
  std::vector<double> rates() const {
    std::vector<double> all;
    for (const OptimizerParamGroup& group : optimizer_->param_groups()) all.push_back(group.options().get_lr());
    return all;
  }

  void check_rates(const std::vector<double>& got, size_t t) const {
    const std::string step = " after " + std::to_string(t);
    const Json& recorded = case_.at("lrs")[t];
    check_.equal("number of rates", got.size(), recorded.size());
    for (size_t g = 0; g < got.size(); ++g) {
      check_.number("rate of group " + std::to_string(g) + step, got[g], recorded.at(g), 1e-8);
    }
    if (!has(case_, "momenta") || case_.at("momenta")[t].is_null()) return;
    for (size_t g = 0; g < got.size(); ++g) {
      const OptimizerOptions& options = optimizer_->param_groups()[g].options();
      const bool adam = case_.at("optimizer") == "Adam";
      const double momentum = adam ? std::get<0>(static_cast<const AdamOptions&>(options).betas())
                                   : static_cast<const SGDOptions&>(options).momentum();
      check_.number("momentum of group " + std::to_string(g) + step, momentum, case_.at("momenta")[t].at(g), 1e-9);
    }
  }

  void replay_plateau() {
    const auto made = make_plateau_schedule(*optimizer_, case_.at("config"));
    ReduceLROnPlateauScheduler& plateau = *made;
    check_rates(rates(), 0);
    for (size_t t = 0; t < case_.at("metrics").size(); ++t) {
      plateau.step(case_.at("metrics")[t].get<double>());
      check_rates(rates(), t + 1);
      const Json& recorded = case_.at("bad_cooldown_best")[t];
      check_.equal("bad epochs", plateau.num_bad_epochs(), recorded.at(0));
      check_.equal("cooldown", plateau.cooldown_counter(), recorded.at(1));
      check_.number("best", plateau.best(), recorded.at(2));
    }
  }

  const Json& case_;
  Check& check_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace

void replay_lr_schedules(const Json& one, Check& check) {
  ScheduleCase(one, check).replay();
}

}  // namespace recorded
