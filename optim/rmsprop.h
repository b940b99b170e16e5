#pragma once

#include "optim/optimizer.h"
#include "optim/step_lists.h"

namespace torch::optim {

/// Settings of RMSprop. ValueError unless all numbers are >= 0.
struct RMSpropOptions : public OptimizerCloneableOptions<RMSpropOptions> {
  RMSpropOptions(double lr = 1e-2);
  TORCH_ARG(double, lr) = 1e-2;
  TORCH_ARG(double, alpha) = 0.99;
  TORCH_ARG(double, eps) = 1e-8;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(double, momentum) = 0;
  TORCH_ARG(bool, centered) = false;

 public:
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit(FieldVisitor& visitor) override;
  void check() const override;
  friend bool operator==(const RMSpropOptions& a, const RMSpropOptions& b) { return same_fields(a, b); }
};

struct RMSpropParamState : public OptimizerCloneableParamState<RMSpropParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(at::Tensor, square_avg);
  TORCH_ARG(at::Tensor, momentum_buffer) = {};
  TORCH_ARG(at::Tensor, grad_avg) = {};

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const RMSpropParamState& a, const RMSpropParamState& b) { return same_fields(a, b); }
};

/// RMSprop, optionally centred and with momentum (formula: at::_fused_rmsprop_).
class RMSprop : public Optimizer {
 public:
  explicit RMSprop(const std::vector<OptimizerParamGroup>& param_groups, RMSpropOptions defaults = {})
      : Optimizer(param_groups, std::make_unique<RMSpropOptions>(defaults)) {
    defaults.check();
  }
  explicit RMSprop(std::vector<at::Tensor> params, RMSpropOptions defaults = {})
      : Optimizer(std::move(params), std::make_unique<RMSpropOptions>(defaults)) {}

  at::Tensor step(LossClosure closure = nullptr) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override { return std::make_unique<RMSpropParamState>(); }

 private:
  StepScratch scratch_;
};

}  // namespace torch::optim
