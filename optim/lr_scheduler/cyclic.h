#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "c10/util/arg.h"
#include "optim/lr_scheduler/lr_scheduler.h"

// Schedules that move the rate up and down, and the momentum (or the first beta) against it.

namespace torch::optim {

/// Settings of CyclicLR. Lists have one number, or one for each group. `mode` is "triangular", "triangular2" (half the
/// height each cycle) or "exp_range" (gamma^iteration); a `scale_fn` of the cycle or of the iteration (`scale_mode`
/// "cycle", "iterations") stands for any of them.
struct CyclicLROptions {
  CyclicLROptions(double base_lr, double max_lr) : base_lr_{base_lr}, max_lr_{max_lr} {}
  CyclicLROptions(std::vector<double> base_lr, std::vector<double> max_lr)
      : base_lr_(std::move(base_lr)), max_lr_(std::move(max_lr)) {}
  TORCH_ARG(std::vector<double>, base_lr);
  TORCH_ARG(std::vector<double>, max_lr);
  TORCH_ARG(int64_t, step_size_up) = 2000;
  TORCH_ARG(std::optional<int64_t>, step_size_down);
  TORCH_ARG(std::string, mode) = "triangular";
  TORCH_ARG(double, gamma) = 1.0;
  TORCH_ARG(std::function<double(double)>, scale_fn);
  TORCH_ARG(std::string, scale_mode) = "cycle";
  TORCH_ARG(bool, cycle_momentum) = true;
  TORCH_ARG(std::vector<double>, base_momentum) = {0.8};
  TORCH_ARG(std::vector<double>, max_momentum) = {0.9};
  TORCH_ARG(int64_t, last_epoch) = -1;
};

/// Rates between two bounds, up and down again and again (Smith, 2017). Stepped after every batch.
class CyclicLR : public EpochScheduler {
 public:
  CyclicLR(Optimizer& optimizer, CyclicLROptions options);

 protected:
  double next_lr(size_t group, int64_t epoch, double lr) const override;
  void epoch_set() override;
  void visit(FieldVisitor& visitor) override;
  void check_state() const override;

 private:
  double height(int64_t epoch) const;

  CyclicLROptions options_;
  double total_size_, step_ratio_;
};

/// Settings of OneCycleLR. `total_steps`, or `epochs` and `steps_per_epoch`; `anneal_strategy` is "cos" or "linear".
struct OneCycleLROptions {
  OneCycleLROptions(double max_lr) : max_lr_{max_lr} {}
  OneCycleLROptions(std::vector<double> max_lr) : max_lr_(std::move(max_lr)) {}
  TORCH_ARG(std::vector<double>, max_lr);
  TORCH_ARG(std::optional<int64_t>, total_steps);
  TORCH_ARG(std::optional<int64_t>, epochs);
  TORCH_ARG(std::optional<int64_t>, steps_per_epoch);
  TORCH_ARG(double, pct_start) = 0.3;
  TORCH_ARG(std::string, anneal_strategy) = "cos";
  TORCH_ARG(bool, cycle_momentum) = true;
  TORCH_ARG(std::vector<double>, base_momentum) = {0.85};
  TORCH_ARG(std::vector<double>, max_momentum) = {0.95};
  TORCH_ARG(double, div_factor) = 25;
  TORCH_ARG(double, final_div_factor) = 1e4;
  TORCH_ARG(bool, three_phase) = false;
  TORCH_ARG(int64_t, last_epoch) = -1;
};

/// From max_lr / div_factor up to max_lr in the first part of all steps, then down to a final_div_factor-th of where it
/// began (Smith and Topin, 2018). Stepped after every batch; a step past the last one is a ValueError.
class OneCycleLR : public EpochScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, OneCycleLROptions options);

 protected:
  double next_lr(size_t group, int64_t epoch, double lr) const override;
  void epoch_set() override;
  void visit(FieldVisitor& visitor) override;

 private:
  struct Phase {
    double end_step;
    std::string start_lr, end_lr, start_momentum, end_momentum;
  };
  // A number of the group that moves from one of its extras to another.
  double annealed(size_t group, int64_t epoch, std::string Phase::*from, std::string Phase::*to) const;
  c10::IValue phases() const;
  void read_phases(const c10::IValue& value);

  OneCycleLROptions options_;
  int64_t total_steps_ = 0;
  std::vector<Phase> phases_;
};

}  // namespace torch::optim
