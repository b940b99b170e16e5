#include "optim/lr_scheduler/reduce_on_plateau.h"

#include <algorithm>
#include <iostream>
#include <limits>
#include <string>
#include <utility>

#include "optim/field_visitors.h"

namespace torch::optim {

ReduceLROnPlateauScheduler::ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode, double factor,
                                                       int patience, double threshold, ThresholdMode threshold_mode,
                                                       int cooldown, std::vector<double> min_lr, double eps,
                                                       bool verbose)
    : optimizer_(optimizer),
      mode_(mode),
      factor_(factor),
      patience_(patience),
      threshold_(threshold),
      threshold_mode_(threshold_mode),
      cooldown_(cooldown),
      min_lrs_(std::move(min_lr)),
      eps_(eps),
      verbose_(verbose),
      best_(mode == min ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity()) {
  TORCH_CHECK_VALUE(factor < 1.0, "Factor should be < 1.0, but got ", factor);
  const size_t groups = optimizer.param_groups().size();
  if (min_lrs_.empty()) {
    min_lrs_.assign(groups, 0.0);
  } else if (min_lrs_.size() == 1) {
    min_lrs_.assign(groups, double(min_lrs_[0]));
  }
  TORCH_CHECK_VALUE(min_lrs_.size() == groups,
                    "Number of learning rates not equal to the number of param groups: expected ", groups, ", but got ",
                    min_lrs_.size());
}

bool ReduceLROnPlateauScheduler::is_better(double metric) const {
  if (mode_ == min) return metric < (threshold_mode_ == rel ? best_ * (1 - threshold_) : best_ - threshold_);
  return metric > (threshold_mode_ == rel ? best_ * (threshold_ + 1) : best_ + threshold_);
}

void ReduceLROnPlateauScheduler::step(double metric) {
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
    const double new_lr = std::max(old_lr * factor_, min_lrs_[g]);
    if (old_lr - new_lr > eps_) {
      groups[g].options().set_lr(new_lr);
      if (verbose_)
        std::cout << "Epoch " << epoch << ": reducing learning rate of group " << g << " to " << new_lr << '\n';
    }
  }
}

std::vector<double> ReduceLROnPlateauScheduler::get_last_lr() const {
  std::vector<double> lrs;
  for (const OptimizerParamGroup& group : optimizer_.param_groups()) lrs.push_back(group.options().get_lr());
  return lrs;
}

void ReduceLROnPlateauScheduler::visit(FieldVisitor& visitor) {
  double factor = factor_;
  std::vector<double> least = min_lrs_, last = get_last_lr();
  int64_t patience = patience_, cooldown = cooldown_;
  std::string mode = mode_ == min ? "min" : "max", threshold_mode = threshold_mode_ == rel ? "rel" : "abs";
  visitor("factor", factor);
  visitor("min_lrs", least);
  visitor("patience", patience);
  visitor("cooldown", cooldown);
  visitor("eps", eps_);
  visitor("last_epoch", last_epoch_);
  visitor("_last_lr", last);
  visitor("mode", mode);
  visitor("threshold", threshold_);
  visitor("threshold_mode", threshold_mode);
  visitor("best", best_);
  visitor("cooldown_counter", cooldown_left_);
  visitor("num_bad_epochs", bad_epochs_);
  TORCH_CHECK_VALUE(mode == "min" || mode == "max", "mode ", mode, " is unknown!");
  TORCH_CHECK_VALUE(threshold_mode == "rel" || threshold_mode == "abs", "threshold mode ", threshold_mode,
                    " is unknown!");
  TORCH_CHECK_VALUE(least.size() == optimizer_.param_groups().size(), "load_state_dict: the state is for ",
                    least.size(), " parameter groups, but the optimizer has ", optimizer_.param_groups().size());
  for (const int64_t count : {last_epoch_, cooldown_left_, bad_epochs_, patience, cooldown}) {
    TORCH_CHECK_VALUE(count >= 0 && count <= INT32_MAX, "load_state_dict: a count is ", count);
  }
  factor_ = factor;
  min_lrs_ = std::move(least);
  patience_ = static_cast<int>(patience);
  cooldown_ = static_cast<int>(cooldown);
  mode_ = mode == "min" ? min : max;
  threshold_mode_ = threshold_mode == "rel" ? rel : abs;
}

StateDict ReduceLROnPlateauScheduler::state_dict() const {
  FieldSaver saver;
  const_cast<ReduceLROnPlateauScheduler*>(this)->visit(saver);
  const double worse = std::numeric_limits<double>::infinity();
  saver.dict.insert(c10::IValue("mode_worse"), c10::IValue(mode_ == min ? worse : -worse));
  saver.dict.insert(c10::IValue("default_min_lr"), c10::IValue(0));
  return StateDict(c10::IValue(saver.dict));
}

void ReduceLROnPlateauScheduler::load_state_dict(const StateDict& dict) {
  const StateDict before = state_dict();
  try {
    FieldLoader loader(dict.tree(), "", nullptr, /*strict=*/true);
    visit(loader);
  } catch (...) {
    FieldLoader loader(before.tree(), "", nullptr);
    visit(loader);
    throw;
  }
}

}  // namespace torch::optim
