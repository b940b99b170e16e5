#include "optim/lr_scheduler/lr_scheduler.h"

#include <climits>
#include <string>
#include <utility>

namespace torch::optim {

namespace {

const at::Scalar& required(const StateDict& dict, const std::string& name) {
  const at::Scalar* const found = dict.scalar(name);
  TORCH_CHECK_VALUE(found != nullptr, "load_state_dict: this schedule needs ", name, ", which is missing");
  return *found;
}

}  // namespace

LRScheduler::LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {}

void LRScheduler::step() {
  set_optimizer_lrs(get_lrs());
  ++step_count_;
}

std::vector<double> LRScheduler::get_current_lrs() const {
  std::vector<double> lrs;
  for (const OptimizerParamGroup& group : optimizer_.param_groups()) lrs.push_back(group.options().get_lr());
  return lrs;
}

void LRScheduler::set_optimizer_lrs(const std::vector<double>& lrs) {
  TORCH_CHECK(lrs.size() == optimizer_.param_groups().size(),
              "Number of learning rates not equal to the number of param groups\nNumber of learning rates given: ", lrs.size(),
              "\nNumber of param groups: ", optimizer_.param_groups().size());
  for (size_t i = 0; i < lrs.size(); ++i) optimizer_.param_groups()[i].options().set_lr(lrs[i]);
}

StateDict LRScheduler::state_dict() const {
  StateDict dict;
  dict.scalars.emplace_back("step_count", static_cast<int64_t>(step_count_));
  return dict;
}

void LRScheduler::load_state_dict(const StateDict& dict) {
  const int64_t count = checked_count(required(dict, "step_count"), "step_count");
  TORCH_CHECK_VALUE(count < UINT_MAX, "load_state_dict: step_count is ", count);
  step_count_ = static_cast<unsigned>(count);
}

EpochScheduler::EpochScheduler(Optimizer& optimizer) : LRScheduler(optimizer), base_lrs_(get_current_lrs()) {}

std::vector<double> EpochScheduler::get_lrs() {
  std::vector<double> lrs = get_current_lrs();
  TORCH_CHECK(lrs.size() == base_lrs_.size(), "this schedule was made for ", base_lrs_.size(),
              " parameter groups, but the optimizer has ", lrs.size());
  for (size_t g = 0; g < lrs.size(); ++g) lrs[g] = next_lr(g, static_cast<int64_t>(step_count_) + 1, lrs[g]);
  return lrs;
}

void EpochScheduler::restart() {
  std::vector<double> lrs = base_lrs_;
  for (size_t g = 0; g < lrs.size(); ++g) lrs[g] = next_lr(g, 0, lrs[g]);
  set_optimizer_lrs(lrs);
  step_count_ = 0;
}

StateDict EpochScheduler::state_dict() const {
  StateDict dict = LRScheduler::state_dict();
  dict.scalars.emplace_back("base_lrs.size", static_cast<int64_t>(base_lrs_.size()));
  for (size_t g = 0; g < base_lrs_.size(); ++g) dict.scalars.emplace_back(c10::str("base_lrs.", g), base_lrs_[g]);
  return dict;
}

void EpochScheduler::load_state_dict(const StateDict& dict) {
  const int64_t size = required(dict, "base_lrs.size").toLong();
  TORCH_CHECK_VALUE(size == static_cast<int64_t>(base_lrs_.size()), "load_state_dict: the state is for ", size,
                    " parameter groups, but this schedule has ", base_lrs_.size());
  std::vector<double> base;
  for (size_t g = 0; g < base_lrs_.size(); ++g) base.push_back(required(dict, c10::str("base_lrs.", g)).toDouble());
  LRScheduler::load_state_dict(dict);
  base_lrs_ = std::move(base);
}

}  // namespace torch::optim
