#include "optim/lr_scheduler/step_lr.h"

#include <algorithm>
#include <cmath>

namespace torch::optim {

StepLR::StepLR(Optimizer& optimizer, unsigned step_size, double gamma) : StepLR(optimizer, step_size, gamma, -1, 1) {}

StepLR::StepLR(Optimizer& optimizer, unsigned step_size, double gamma, int64_t last_epoch)
    : StepLR(optimizer, step_size, gamma, last_epoch, 0) {}

StepLR::StepLR(Optimizer& optimizer, unsigned step_size, double gamma, int64_t last_epoch, int64_t late)
    : EpochScheduler(optimizer, last_epoch), step_size_(step_size), gamma_(gamma), late_(late) {
  TORCH_CHECK_VALUE(step_size > 0, "StepLR: expected a positive step_size, but got 0");
  begin();
}

double StepLR::next_lr(size_t, int64_t epoch, double lr) const {
  return epoch > late_ && (epoch - late_) % step_size_ == 0 ? lr * gamma_ : lr;
}

double StepLR::lr_at(size_t group, int64_t epoch, double) const {
  const int64_t times = std::max<int64_t>(epoch - late_, 0) / step_size_;
  return base_lrs_[group] * std::pow(gamma_, static_cast<double>(times));
}

void StepLR::visit(FieldVisitor& visitor) {
  visitor("step_size", step_size_);
  visitor("gamma", gamma_);
  EpochScheduler::visit(visitor);
}

void StepLR::check_state() const {
  EpochScheduler::check_state();
  TORCH_CHECK_VALUE(step_size_ > 0, "load_state_dict: step_size is ", step_size_);
}

}  // namespace torch::optim
