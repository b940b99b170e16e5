#include "optim/lr_scheduler/lr_scheduler.h"

#include <climits>
#include <cmath>
#include <utility>

#include "optim/field_visitors.h"

namespace torch::optim {

LRScheduler::LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {}

void LRScheduler::step() {
  set_optimizer_lrs(get_lrs());
  ++step_count_;
}

void LRScheduler::begin() { step_count_ = 0; }

std::vector<double> LRScheduler::get_current_lrs() const {
  std::vector<double> lrs;
  for (const OptimizerParamGroup& group : optimizer_.param_groups()) lrs.push_back(group.options().get_lr());
  return lrs;
}

void LRScheduler::set_optimizer_lrs(const std::vector<double>& lrs) {
  TORCH_CHECK(lrs.size() == optimizer_.param_groups().size(),
              "Number of learning rates not equal to the number of param groups\nNumber of learning rates given: ",
              lrs.size(), "\nNumber of param groups: ", optimizer_.param_groups().size());
  for (size_t i = 0; i < lrs.size(); ++i) optimizer_.param_groups()[i].options().set_lr(lrs[i]);
  last_lr_ = lrs;
}

void LRScheduler::visit(FieldVisitor& visitor) {
  int64_t count = step_count_;
  visitor("_step_count", count);
  TORCH_CHECK_VALUE(count >= 0 && count < UINT_MAX, "load_state_dict: _step_count is ", count);
  step_count_ = static_cast<unsigned>(count);
  visitor("_last_lr", last_lr_);
}

StateDict LRScheduler::state_dict() const {
  FieldSaver saver;
  LRScheduler& self = const_cast<LRScheduler&>(*this);  // a saver changes nothing
  const std::vector<double> last = last_lr_;
  self.last_lr_ = get_last_lr();
  self.visit(saver);
  self.last_lr_ = last;
  return StateDict(c10::IValue(saver.dict));
}

void LRScheduler::load_state_dict(const StateDict& dict) {
  const StateDict before = state_dict();
  try {
    FieldLoader loader(dict.tree(), "", nullptr, /*strict=*/true);
    visit(loader);
    check_state();
  } catch (...) {
    FieldLoader loader(before.tree(), "", nullptr);
    visit(loader);
    throw;
  }
}

EpochScheduler::EpochScheduler(Optimizer& optimizer, int64_t last_epoch)
    : LRScheduler(optimizer), last_epoch_(last_epoch) {
  std::vector<OptimizerParamGroup>& groups = optimizer.param_groups();
  for (size_t i = 0; i < groups.size(); ++i) {
    const c10::IValue* initial = groups[i].extra("initial_lr");
    if (initial == nullptr) {
      TORCH_CHECK_VALUE(last_epoch == -1, "param 'initial_lr' is not specified in param_groups[", i,
                        "] when resuming scheduler with last_epoch >= 0");
      groups[i].set_extra("initial_lr", c10::IValue(groups[i].options().get_lr()));
      initial = groups[i].extra("initial_lr");
    }
    base_lrs_.push_back(checked_number(*initial, "initial_lr"));
  }
}

void EpochScheduler::set_lrs(const std::vector<double>& lrs) {
  set_optimizer_lrs(lrs);
  epoch_set();
}

std::vector<double> EpochScheduler::get_lrs() {
  std::vector<double> lrs = get_current_lrs();
  TORCH_CHECK(lrs.size() == base_lrs_.size(), "this schedule was made for ", base_lrs_.size(),
              " parameter groups, but the optimizer has ", lrs.size());
  for (size_t g = 0; g < lrs.size(); ++g) lrs[g] = next_lr(g, last_epoch_, lrs[g]);
  return lrs;
}

void EpochScheduler::step() {
  const int64_t before = last_epoch_;
  ++step_count_;
  last_epoch_ = next_count(last_epoch_);
  try {
    set_lrs(get_lrs());
  } catch (...) {
    --step_count_;
    last_epoch_ = before;
    throw;
  }
}

void EpochScheduler::step(double epoch) {
  TORCH_CHECK_VALUE(epoch >= 0 && epoch < 9e15, "Expected non-negative epoch, but got ", epoch);
  ++step_count_;
  last_epoch_ = static_cast<int64_t>(std::floor(epoch));
  std::vector<double> lrs = get_current_lrs();
  TORCH_CHECK(lrs.size() == base_lrs_.size(), "this schedule was made for ", base_lrs_.size(),
              " parameter groups, but the optimizer has ", lrs.size());
  for (size_t g = 0; g < lrs.size(); ++g) lrs[g] = lr_at(g, last_epoch_, lrs[g]);
  set_lrs(lrs);
}

void EpochScheduler::begin() {
  initial_ = true;
  step_count_ = 0;
  step();
  initial_ = false;
}

void EpochScheduler::back_up() {
  --last_epoch_;
  if (step_count_ > 0) --step_count_;
}

void EpochScheduler::visit(FieldVisitor& visitor) {
  visitor("base_lrs", base_lrs_);
  visitor("last_epoch", last_epoch_);
  c10::IValue never(false);
  visitor("_is_initial", never);
  visitor("_get_lr_called_within_step", never);
  LRScheduler::visit(visitor);
}

void EpochScheduler::check_state() const {
  TORCH_CHECK_VALUE(base_lrs_.size() == optimizer_.param_groups().size(), "load_state_dict: the state is for ",
                    base_lrs_.size(), " parameter groups, but the optimizer has ", optimizer_.param_groups().size());
  TORCH_CHECK_VALUE(last_epoch_ >= -1 && last_epoch_ <= int64_t{1} << 53, "load_state_dict: last_epoch is ",
                    last_epoch_);
}

}  // namespace torch::optim
