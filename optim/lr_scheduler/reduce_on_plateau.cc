#include "optim/lr_scheduler/reduce_on_plateau.h"

#include <algorithm>
#include <limits>

namespace torch::optim {

ReduceLROnPlateauScheduler::ReduceLROnPlateauScheduler(
    Optimizer& optimizer, SchedulerMode mode, float factor, int patience, double threshold, ThresholdMode threshold_mode,
    int cooldown, const std::vector<float>& min_lr, double eps, bool verbose)
    : optimizer_(optimizer),
      mode_(mode),
      factor_(factor),
      patience_(patience),
      threshold_(threshold),
      threshold_mode_(threshold_mode),
      cooldown_(cooldown),
      min_lrs_(min_lr),
      eps_(eps),
      verbose_(verbose),
      best_(mode == min ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity()) {
  TORCH_CHECK_VALUE(factor < 1.0f, "Factor should be < 1.0, but got ", factor);
  const size_t groups = optimizer.param_groups().size();
  if (min_lrs_.empty()) {
    min_lrs_.assign(groups, 0.0f);
  } else if (min_lrs_.size() == 1) {
    min_lrs_.assign(groups, float(min_lrs_[0]));
  }
  TORCH_CHECK_VALUE(min_lrs_.size() == groups, "Number of learning rates not equal to the number of param groups: expected ",
                    groups, ", but got ", min_lrs_.size());
}

bool ReduceLROnPlateauScheduler::is_better(double metric) const {
  if (mode_ == min) return metric < (threshold_mode_ == rel ? best_ * (1 - threshold_) : best_ - threshold_);
  return metric > (threshold_mode_ == rel ? best_ * (threshold_ + 1) : best_ + threshold_);
}

void ReduceLROnPlateauScheduler::step(float metric) {
  ++last_epoch_;
  if (is_better(metric)) {
    best_ = metric;
    bad_epochs_ = 0;
  } else {
    ++bad_epochs_;
  }
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    bad_epochs_ = 0;
  }
  if (bad_epochs_ > patience_) {
    reduce_lr(last_epoch_);
    cooldown_left_ = cooldown_;
    bad_epochs_ = 0;
  }
}

void ReduceLROnPlateauScheduler::reduce_lr(int64_t epoch) {
  std::vector<OptimizerParamGroup>& groups = optimizer_.param_groups();
  TORCH_CHECK(groups.size() == min_lrs_.size(), "this schedule was made for ", min_lrs_.size(),
              " parameter groups, but the optimizer has ", groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    const double old_lr = groups[g].options().get_lr();
    const double new_lr = std::max(old_lr * factor_, static_cast<double>(min_lrs_[g]));
    if (old_lr - new_lr > eps_) {
      groups[g].options().set_lr(new_lr);
      if (verbose_) TORCH_WARN("Epoch ", epoch, ": reducing learning rate of group ", g, " to ", new_lr);
    }
  }
}

StateDict ReduceLROnPlateauScheduler::state_dict() const {
  StateDict dict;
  dict.scalars = {{"best", best_},
                  {"last_epoch", last_epoch_},
                  {"bad_epochs", bad_epochs_},
                  {"cooldown_left", cooldown_left_}};
  return dict;
}

void ReduceLROnPlateauScheduler::load_state_dict(const StateDict& dict) {
  for (const char* name : {"best", "last_epoch", "bad_epochs", "cooldown_left"})
    TORCH_CHECK_VALUE(dict.scalar(name) != nullptr, "load_state_dict: ReduceLROnPlateauScheduler needs ", name,
                      ", which is missing");
  const double best = dict.scalar("best")->toDouble();
  const int64_t last_epoch = checked_count(*dict.scalar("last_epoch"), "last_epoch");
  const int64_t bad_epochs = checked_count(*dict.scalar("bad_epochs"), "bad_epochs");
  cooldown_left_ = checked_count(*dict.scalar("cooldown_left"), "cooldown_left");
  best_ = best;
  last_epoch_ = last_epoch;
  bad_epochs_ = bad_epochs;
}

}  // namespace torch::optim
