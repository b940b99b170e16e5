#include "optim/lr_scheduler/cyclic.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "optim/lr_scheduler/momentum.h"

namespace torch::optim {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Reads or replaces the momentum among the fields of options.
class MomentumVisitor : public FieldVisitor {
 public:
  explicit MomentumVisitor(const double* wanted = nullptr) : wanted_(wanted) {}
  bool found = false, is_beta = false;

 protected:
  bool field(const char* name, Kind, c10::IValue& value) override {
    const std::string_view field = name;
    if (field == "betas") {
      found = is_beta = true;
      if (wanted_ == nullptr) return false;
      value = c10::IValue(Betas(*wanted_, std::get<1>(value.to<Betas>())));
      return true;
    }
    if (field != "momentum") return false;
    found = true;
    if (wanted_ == nullptr) return false;
    value = c10::IValue(*wanted_);
    return true;
  }

 private:
  const double* wanted_;
};

}  // namespace

bool has_momentum(OptimizerOptions& options, bool* is_beta) {
  MomentumVisitor visitor;
  options.visit(visitor);
  if (is_beta != nullptr) *is_beta = visitor.is_beta;
  return visitor.found;
}

void set_momentum(OptimizerOptions& options, double value) {
  MomentumVisitor visitor(&value);
  options.visit(visitor);
}

std::vector<double> one_a_group(const char* name, const Optimizer& optimizer, const std::vector<double>& values) {
  const size_t groups = optimizer.param_groups().size();
  TORCH_CHECK_VALUE(values.size() == 1 || values.size() == groups, name,
                    " must have the same length as optimizer.param_groups. ", name, " has ", values.size(),
                    " values, param_groups has ", groups, ".");
  return values.size() == groups ? values : std::vector<double>(groups, values[0]);
}

void prepare_momenta(Optimizer& optimizer, const std::vector<double>& base, const std::vector<double>& most,
                     bool resumed) {
  TORCH_CHECK_VALUE(has_momentum(optimizer.defaults()),
                    "optimizer must support momentum or beta1 with `cycle_momentum` option enabled");
  const std::vector<double> bases = one_a_group("base_momentum", optimizer, base);
  const std::vector<double> mosts = one_a_group("max_momentum", optimizer, most);
  if (resumed) return;
  for (size_t g = 0; g < bases.size(); ++g) {
    OptimizerParamGroup& group = optimizer.param_groups()[g];
    set_momentum(group.options(), mosts[g]);
    group.set_extra("max_momentum", c10::IValue(mosts[g]));
    group.set_extra("base_momentum", c10::IValue(bases[g]));
  }
}

double extra_number(const OptimizerParamGroup& group, const std::string& name) {
  const c10::IValue* const value = group.extra(name);
  TORCH_CHECK_VALUE(value != nullptr, "a parameter group has no ", name);
  return checked_number(*value, name);
}

CyclicLR::CyclicLR(Optimizer& optimizer, CyclicLROptions options)
    : EpochScheduler(
          [&]() -> Optimizer& {
            // The base rates are the initial ones.
            const std::vector<double> base = one_a_group("base_lr", optimizer, options.base_lr());
            for (size_t g = 0; g < base.size() && options.last_epoch() == -1; ++g) {
              optimizer.param_groups()[g].options().set_lr(base[g]);
            }
            return optimizer;
          }(),
          options.last_epoch()),
      options_(std::move(options)) {
  base_lrs_ = one_a_group("base_lr", optimizer, options_.base_lr());
  options_.max_lr(one_a_group("max_lr", optimizer, options_.max_lr()));
  const double up = static_cast<double>(options_.step_size_up());
  const double down = static_cast<double>(options_.step_size_down().value_or(options_.step_size_up()));
  TORCH_CHECK_VALUE(up > 0 && down >= 0, "CyclicLR: expected a positive step_size_up, but got ", up);
  total_size_ = up + down;
  step_ratio_ = up / total_size_;
  if (!options_.scale_fn()) {
    TORCH_CHECK_VALUE(
        options_.mode() == "triangular" || options_.mode() == "triangular2" || options_.mode() == "exp_range",
        "mode is invalid and scale_fn is None");
    options_.scale_mode(options_.mode() == "exp_range" ? "iterations" : "cycle");
  }
  TORCH_CHECK_VALUE(options_.scale_mode() == "cycle" || options_.scale_mode() == "iterations",
                    "CyclicLR: expected a scale_mode of \"cycle\" or \"iterations\", but got \"", options_.scale_mode(),
                    '"');
  if (options_.cycle_momentum()) {
    options_.base_momentum(one_a_group("base_momentum", optimizer, options_.base_momentum()));
    options_.max_momentum(one_a_group("max_momentum", optimizer, options_.max_momentum()));
    prepare_momenta(optimizer, options_.base_momentum(), options_.max_momentum(), options_.last_epoch() != -1);
  }
  begin();
}

// Of the way from the lower to the upper bound.
double CyclicLR::height(int64_t epoch) const {
  const double t = static_cast<double>(epoch);
  const double cycle = std::floor(1 + t / total_size_);
  const double x = 1 + t / total_size_ - cycle;
  const double part = x <= step_ratio_ ? x / step_ratio_ : (x - 1) / (step_ratio_ - 1);
  const double counted = options_.scale_mode() == "cycle" ? cycle : t;
  double scale = 1;
  if (options_.scale_fn()) {
    scale = options_.scale_fn()(counted);
  } else if (options_.mode() == "triangular2") {
    scale = 1 / std::pow(2, counted - 1);
  } else if (options_.mode() == "exp_range") {
    scale = std::pow(options_.gamma(), counted);
  }
  return part * scale;
}

double CyclicLR::next_lr(size_t group, int64_t epoch, double) const {
  return base_lrs_[group] + (options_.max_lr()[group] - base_lrs_[group]) * height(epoch);
}

void CyclicLR::epoch_set() {
  if (!options_.cycle_momentum()) return;
  for (size_t g = 0; g < base_lrs_.size(); ++g) {
    const double most = options_.max_momentum()[g];
    set_momentum(optimizer_.param_groups()[g].options(),
                 most - (most - options_.base_momentum()[g]) * height(last_epoch_));
  }
}

void CyclicLR::visit(FieldVisitor& visitor) {
  visitor("max_lrs", options_.max_lr());
  visitor("total_size", total_size_);
  visitor("step_ratio", step_ratio_);
  visitor("mode", options_.mode());
  visitor("gamma", options_.gamma());
  visitor("scale_mode", options_.scale_mode());
  visitor("cycle_momentum", options_.cycle_momentum());
  if (options_.cycle_momentum()) {
    bool use_beta1 = false;
    has_momentum(optimizer_.defaults(), &use_beta1);
    visitor("use_beta1", use_beta1);
    visitor("base_momentums", options_.base_momentum());
    visitor("max_momentums", options_.max_momentum());
  }
  EpochScheduler::visit(visitor);
  c10::IValue none;
  visitor("_scale_fn_custom", none);
}

void CyclicLR::check_state() const {
  EpochScheduler::check_state();
  const size_t groups = base_lrs_.size();
  TORCH_CHECK_VALUE(options_.max_lr().size() == groups &&
                        (!options_.cycle_momentum() ||
                         (options_.base_momentum().size() == groups && options_.max_momentum().size() == groups)),
                    "load_state_dict: the state is not one for ", groups, " parameter groups");
  TORCH_CHECK_VALUE(total_size_ > 0 && step_ratio_ > 0 && step_ratio_ <= 1, "load_state_dict: total_size is ",
                    total_size_);
}

OneCycleLR::OneCycleLR(Optimizer& optimizer, OneCycleLROptions options)
    : EpochScheduler(
          [&]() -> Optimizer& {
            const std::vector<double> most = one_a_group("max_lr", optimizer, options.max_lr());
            for (size_t g = 0; g < most.size() && options.last_epoch() == -1; ++g) {
              OptimizerParamGroup& group = optimizer.param_groups()[g];
              const double initial = most[g] / options.div_factor();
              group.set_extra("initial_lr", c10::IValue(initial));
              group.set_extra("max_lr", c10::IValue(most[g]));
              group.set_extra("min_lr", c10::IValue(initial / options.final_div_factor()));
            }
            return optimizer;
          }(),
          options.last_epoch()),
      options_(std::move(options)) {
  if (options_.total_steps().has_value()) {
    total_steps_ = *options_.total_steps();
    TORCH_CHECK_VALUE(total_steps_ > 0, "Expected positive integer total_steps, but got ", total_steps_);
  } else {
    TORCH_CHECK_VALUE(options_.epochs().has_value() && options_.steps_per_epoch().has_value(),
                      "You must define either total_steps OR (epochs AND steps_per_epoch)");
    TORCH_CHECK_VALUE(*options_.epochs() > 0, "Expected positive integer epochs, but got ", *options_.epochs());
    TORCH_CHECK_VALUE(*options_.steps_per_epoch() > 0, "Expected positive integer steps_per_epoch, but got ",
                      *options_.steps_per_epoch());
    total_steps_ = *options_.epochs() * *options_.steps_per_epoch();
  }
  const double pct = options_.pct_start(), last = static_cast<double>(total_steps_ - 1);
  TORCH_CHECK_VALUE(pct >= 0 && pct <= 1, "Expected float between 0 and 1 pct_start, but got ", pct);
  TORCH_CHECK_VALUE(options_.anneal_strategy() == "cos" || options_.anneal_strategy() == "linear",
                    "anneal_strategy must be one of 'cos' or 'linear', instead got ", options_.anneal_strategy());
  const double total = static_cast<double>(total_steps_);
  const double up = pct * total - 1;
  phases_.push_back({up, "initial_lr", "max_lr", "max_momentum", "base_momentum"});
  if (options_.three_phase()) {
    phases_.push_back({2 * pct * total - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"});
    phases_.push_back({last, "initial_lr", "min_lr", "max_momentum", "max_momentum"});
  } else {
    phases_.push_back({last, "max_lr", "min_lr", "base_momentum", "max_momentum"});
  }
  if (options_.cycle_momentum()) {
    prepare_momenta(optimizer, options_.base_momentum(), options_.max_momentum(), options_.last_epoch() != -1);
  }
  begin();
}

double OneCycleLR::annealed(size_t group, int64_t epoch, std::string Phase::*from, std::string Phase::*to) const {
  TORCH_CHECK_VALUE(epoch <= total_steps_, "Tried to step ", epoch, " times. The specified number of total steps is ",
                    total_steps_);
  const double t = static_cast<double>(epoch);
  const OptimizerParamGroup& g = optimizer_.param_groups()[group];
  double begin = 0;
  for (size_t i = 0;; ++i) {
    const Phase& phase = phases_[i];
    if (t > phase.end_step && i + 1 < phases_.size()) {
      begin = phase.end_step;
      continue;
    }
    const double pct = (t - begin) / (phase.end_step - begin);
    const double start = extra_number(g, phase.*from), end = extra_number(g, phase.*to);
    if (options_.anneal_strategy() == "linear") return (end - start) * pct + start;
    return end + (start - end) / 2 * (std::cos(kPi * pct) + 1);
  }
}

double OneCycleLR::next_lr(size_t group, int64_t epoch, double) const {
  return annealed(group, epoch, &Phase::start_lr, &Phase::end_lr);
}

void OneCycleLR::epoch_set() {
  if (!options_.cycle_momentum()) return;
  for (size_t g = 0; g < base_lrs_.size(); ++g) {
    set_momentum(optimizer_.param_groups()[g].options(),
                 annealed(g, last_epoch_, &Phase::start_momentum, &Phase::end_momentum));
  }
}

c10::IValue OneCycleLR::phases() const {
  c10::List<c10::IValue> list;
  for (const Phase& phase : phases_) {
    c10::Dict<c10::IValue, c10::IValue> one;
    one.insert(c10::IValue("end_step"), c10::IValue(phase.end_step));
    one.insert(c10::IValue("start_lr"), c10::IValue(phase.start_lr));
    one.insert(c10::IValue("end_lr"), c10::IValue(phase.end_lr));
    one.insert(c10::IValue("start_momentum"), c10::IValue(phase.start_momentum));
    one.insert(c10::IValue("end_momentum"), c10::IValue(phase.end_momentum));
    list.push_back(c10::IValue(one));
  }
  return c10::IValue(list);
}

void OneCycleLR::read_phases(const c10::IValue& value) {
  std::vector<Phase> read;
  const size_t count = names_of_parts(value).size();
  for (size_t i = 0; i < count; ++i) {
    c10::IValue one;
    TORCH_CHECK_VALUE(find_part(value, std::to_string(i), &one) && one.isGenericDict(),
                      "load_state_dict: _schedule_phases is no list of dicts");
    const StateDict part(one);
    const auto text = [&](const char* name) {
      const c10::IValue v = part.at(name);
      TORCH_CHECK_VALUE(v.isString(), "load_state_dict: ", name, " is no text");
      return v.toStringRef();
    };
    read.push_back(
        {part.number("end_step"), text("start_lr"), text("end_lr"), text("start_momentum"), text("end_momentum")});
  }
  TORCH_CHECK_VALUE(!read.empty(), "load_state_dict: _schedule_phases is empty");
  phases_ = std::move(read);
}

void OneCycleLR::visit(FieldVisitor& visitor) {
  visitor("total_steps", total_steps_);
  c10::IValue all = phases();
  visitor("_schedule_phases", all);
  read_phases(all);
  visitor("_anneal_func_type", options_.anneal_strategy());
  visitor("cycle_momentum", options_.cycle_momentum());
  if (options_.cycle_momentum()) {
    bool use_beta1 = false;
    has_momentum(optimizer_.defaults(), &use_beta1);
    visitor("use_beta1", use_beta1);
  }
  EpochScheduler::visit(visitor);
}

}  // namespace torch::optim
