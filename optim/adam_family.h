#pragma once

#include <tuple>
#include <vector>

#include "aten/cpu/optimizer/optimizer_step.h"
#include "optim/fused_step.h"
#include "optim/optimizer.h"

// What Adam and AdamW share.

namespace torch::optim {

template <class Options>
void visit_adam_options(Options& options, FieldVisitor& visitor) {
  visitor.number("lr", options.lr());
  visitor.number("beta1", std::get<0>(options.betas()));
  visitor.number("beta2", std::get<1>(options.betas()));
  visitor.number("eps", options.eps());
  visitor.number("weight_decay", options.weight_decay());
  visitor.flag("amsgrad", options.amsgrad());
}

template <class Options>
void check_adam_options(const Options& options) {
  const auto [beta1, beta2] = options.betas();
  TORCH_CHECK_VALUE(options.lr() >= 0, "Invalid learning rate: ", options.lr());
  TORCH_CHECK_VALUE(options.eps() >= 0, "Invalid epsilon value: ", options.eps());
  TORCH_CHECK_VALUE(0 <= beta1 && beta1 < 1, "Invalid beta parameter at index 0: ", beta1);
  TORCH_CHECK_VALUE(0 <= beta2 && beta2 < 1, "Invalid beta parameter at index 1: ", beta2);
  TORCH_CHECK_VALUE(options.weight_decay() >= 0, "Invalid weight_decay value: ", options.weight_decay());
}

template <class State>
void visit_adam_state(State& state, FieldVisitor& visitor) {
  visitor.count("step", state.step());
  visitor.tensor("exp_avg", state.exp_avg());
  visitor.tensor("exp_avg_sq", state.exp_avg_sq());
  visitor.tensor("max_exp_avg_sq", state.max_exp_avg_sq());
}

/// The update of one parameter group.
class AdamUpdate {
 public:
  AdamUpdate(double lr, std::tuple<double, double> betas, double eps, double weight_decay, bool decoupled);
  /// `max_exp_avg_sq` is null without AMSGrad. Counts the step.
  void add(at::Tensor& param, int64_t* step, at::Tensor* exp_avg, at::Tensor* exp_avg_sq, at::Tensor* max_exp_avg_sq);
  void run();

 private:
  at::cpu::AdamStep common_;
  FusedParameters parameters_;
  std::vector<at::cpu::AdamStep> steps_;
  std::vector<int64_t*> counters_;
};

}  // namespace torch::optim
