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
#include "tests/recorded/formulas.h"
#include "tests/recorded/named_calls.h"
#include "tests/recorded/optim_values.h"

namespace recorded {
namespace {

using namespace torch::optim;

std::vector<LambdaLR::Lambda> formulas(const Json& texts, size_t groups) {
  std::vector<LambdaLR::Lambda> all;
  if (texts.is_string()) return std::vector<LambdaLR::Lambda>(groups, formula_of(texts));
  for (const Json& text : texts) all.push_back(formula_of(text));
  return all;
}

std::vector<double> numbers(const Json& v) {
  return v.is_array() ? v.get<std::vector<double>>() : std::vector<double>{v.get<double>()};
}

// Whether the text is the first of both, which stands for a missing one too.
bool choice(const Json& c, const char* key, const char* first, const char* second) {
  const std::string text = text_of(c, key, first);
  if (text != first && text != second) refuse_value(key, text);
  return text == first;
}

template <typename Options>
void set_momenta(Options& options, const Json& c) {
  if (has(c, "base_momentum")) options.base_momentum(numbers(read(c, "base_momentum")));
  if (has(c, "max_momentum")) options.max_momentum(numbers(read(c, "max_momentum")));
}

}  // namespace

std::shared_ptr<LRScheduler> make_schedule(Optimizer& o, const Json& s) {
  const std::string name = read(s, "scheduler");
  const Json& c = read(s, "config");
  const int64_t last = integer_of(c, "last_epoch", -1);
  const auto number = [&](const char* key, double otherwise) { return number_of(c, key, otherwise); };
  const auto integer = [&](const char* key, int64_t otherwise) { return integer_of(c, key, otherwise); };
  std::vector<std::shared_ptr<LRScheduler>> parts;
  if (has(s, "schedulers")) {
    for (const Json& part : read(s, "schedulers")) parts.push_back(make_schedule(o, part));
  }
  if (name == "SequentialLR") return std::make_shared<SequentialLR>(o, parts, integers(read(c, "milestones")), last);
  if (name == "ChainedScheduler") return std::make_shared<ChainedScheduler>(parts);
  if (name == "StepLR") {
    return std::make_shared<StepLR>(o, static_cast<unsigned>(integer("step_size", 1)), number("gamma", 0.1), last);
  }
  if (name == "MultiStepLR") {
    return std::make_shared<MultiStepLR>(o, integers(read(c, "milestones")), number("gamma", 0.1), last);
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
  if (name == "LambdaLR") return std::make_shared<LambdaLR>(o, formulas(read(c, "lr_lambda"), groups), last);
  if (name == "MultiplicativeLR") {
    return std::make_shared<MultiplicativeLR>(o, formulas(read(c, "lr_lambda"), groups), last);
  }
  if (name == "SWALR") {
    return std::make_shared<SWALR>(o, numbers(read(c, "swa_lr")), integer("anneal_epochs", 10),
                                   text_of(c, "anneal_strategy", "cos"), last);
  }
  if (name == "CyclicLR") {
    CyclicLROptions options(numbers(read(c, "base_lr")), numbers(read(c, "max_lr")));
    options.step_size_up(integer("step_size_up", 2000)).mode(text_of(c, "mode", "triangular"));
    if (has(c, "step_size_down")) options.step_size_down(integer("step_size_down", 0));
    if (has(c, "scale_fn")) options.scale_fn(formula_of(read(c, "scale_fn")));
    options.scale_mode(text_of(c, "scale_mode", "cycle"));
    set_momenta(options, c);
    options.gamma(number("gamma", 1.0)).cycle_momentum(flag_of(c, "cycle_momentum", true)).last_epoch(last);
    return std::make_shared<CyclicLR>(o, options);
  }
  if (name == "OneCycleLR") {
    OneCycleLROptions options(numbers(read(c, "max_lr")));
    if (has(c, "total_steps")) options.total_steps(integer("total_steps", 0));
    if (has(c, "epochs")) options.epochs(integer("epochs", 0)).steps_per_epoch(integer("steps_per_epoch", 0));
    set_momenta(options, c);
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
  if (has(c, "min_lr")) least = numbers(read(c, "min_lr"));
  return std::make_shared<Plateau>(
      o, choice(c, "mode", "min", "max") ? Plateau::min : Plateau::max, number_of(c, "factor", 0.1),
      static_cast<int>(integer_of(c, "patience", 10)), number_of(c, "threshold", 1e-4),
      choice(c, "threshold_mode", "rel", "abs") ? Plateau::rel : Plateau::abs,
      static_cast<int>(integer_of(c, "cooldown", 0)), std::move(least), number_of(c, "eps", 1e-8));
}

namespace {

class ScheduleCase {
 public:
  ScheduleCase(const Json& c, Check& check) : case_(c), check_(check) {
    std::vector<std::vector<at::Tensor>> params;
    std::vector<Json> configs;
    for (const Json& group : read(c, "groups")) {
      params.push_back({at::zeros({1}).set_requires_grad(true)});
      configs.push_back(group);
      configs.back().erase("initial_lr");
    }
    optimizer_ = make_optimizer(read(c, "optimizer"), read(c, "optimizer_config"), params, configs);
    for (size_t g = 0; g < params.size(); ++g) {
      const Json& group = read(c, "groups")[g];
      if (has(group, "initial_lr"))
        optimizer_->param_groups()[g].set_extra("initial_lr", value_of(group.at("initial_lr")));
    }
  }

  void replay() {
    if (read(case_, "scheduler") == "ReduceLROnPlateau") return replay_plateau();
    const auto schedule = make_schedule(*optimizer_, case_);
    if (schedule == nullptr) return check_.skip("no schedule " + read(case_, "scheduler").get<std::string>() + " here");
    check_rates(rates(), 0);
    for (size_t t = 1; t < read(case_, "lrs").size(); ++t) {
      optimizer_->step();
      if (has(case_, "epochs")) {
        static_cast<EpochScheduler&>(*schedule).step(read(case_, "epochs")[t - 1].get<double>());
      } else {
        schedule->step();
      }
      check_rates(schedule->get_last_lr(), t);
      if (t == 9 && has(case_, "state_dict_after_9")) {
        const StateDict state = schedule->state_dict();
        check_tree(check_, "state_dict", state.tree(), read(case_, "state_dict_after_9"),
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
    const Json& recorded = read(case_, "lrs")[t];
    check_.equal("number of rates", got.size(), recorded.size());
    for (size_t g = 0; g < got.size(); ++g) {
      check_.number("rate of group " + std::to_string(g) + step, got[g], recorded.at(g), 1e-8);
    }
    if (!has(case_, "momenta") || read(case_, "momenta")[t].is_null()) return;
    for (size_t g = 0; g < got.size(); ++g) {
      const OptimizerOptions& options = optimizer_->param_groups()[g].options();
      const bool adam = read(case_, "optimizer") == "Adam";
      const double momentum = adam ? std::get<0>(static_cast<const AdamOptions&>(options).betas())
                                   : static_cast<const SGDOptions&>(options).momentum();
      check_.number("momentum of group " + std::to_string(g) + step, momentum, read(case_, "momenta")[t].at(g), 1e-9);
    }
  }

  void replay_plateau() {
    const auto made = make_plateau_schedule(*optimizer_, read(case_, "config"));
    ReduceLROnPlateauScheduler& plateau = *made;
    check_rates(rates(), 0);
    for (size_t t = 0; t < read(case_, "metrics").size(); ++t) {
      plateau.step(read(case_, "metrics")[t].get<double>());
      check_rates(rates(), t + 1);
      const Json& recorded = read(case_, "bad_cooldown_best")[t];
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
  if (check.skip_reason().empty())
    check_all_read(one, "field", {"id", "optimizer_config", "groups", "bad_cooldown_best", "metrics"});
}

}  // namespace recorded
