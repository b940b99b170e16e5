#pragma once

#include "optim/optimizer.h"
#include "optim/step_lists.h"

namespace torch::optim {

/// Settings of SGD. The learning rate has no default.
///   lr > 0, momentum >= 0, weight_decay >= 0 (else ValueError); nesterov needs a momentum and no dampening.
struct SGDOptions : public OptimizerCloneableOptions<SGDOptions> {
  SGDOptions(double lr);
  TORCH_ARG(double, lr);
  TORCH_ARG(double, momentum) = 0;
  TORCH_ARG(double, dampening) = 0;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(bool, nesterov) = false;

 public:
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit(FieldVisitor& visitor) override;
  void check() const override;
  friend bool operator==(const SGDOptions& a, const SGDOptions& b) { return same_fields(a, b); }
};

struct SGDParamState : public OptimizerCloneableParamState<SGDParamState> {
  TORCH_ARG(at::Tensor, momentum_buffer);

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const SGDParamState& a, const SGDParamState& b) { return same_fields(a, b); }
};

/// Stochastic gradient descent with momentum (formula: at::_fused_sgd_).
///
///   torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
class SGD : public Optimizer {
 public:
  explicit SGD(const std::vector<OptimizerParamGroup>& param_groups, SGDOptions defaults)
      : Optimizer(param_groups, std::make_unique<SGDOptions>(defaults)) {
    defaults.check();
  }
  explicit SGD(std::vector<at::Tensor> params, SGDOptions defaults)
      : Optimizer(std::move(params), std::make_unique<SGDOptions>(defaults)) {}

  at::Tensor step(LossClosure closure = nullptr) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override { return std::make_unique<SGDParamState>(); }

 private:
  StepScratch scratch_;
};

}  // namespace torch::optim
