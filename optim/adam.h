#pragma once

#include <tuple>

#include "optim/optimizer.h"

namespace torch::optim {

/// Settings of Adam. ValueError unless lr >= 0, eps >= 0, weight_decay >= 0 and both betas lie in [0, 1).
struct AdamOptions : public OptimizerCloneableOptions<AdamOptions> {
  AdamOptions(double lr = 1e-3);
  TORCH_ARG(double, lr) = 1e-3;
  typedef std::tuple<double, double> betas_t;
  TORCH_ARG(betas_t, betas) = std::make_tuple(0.9, 0.999);
  TORCH_ARG(double, eps) = 1e-8;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(bool, amsgrad) = false;

 public:
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit(FieldVisitor& visitor) override;
  void check() const override;
  friend bool operator==(const AdamOptions& a, const AdamOptions& b) { return same_fields(a, b); }
};

struct AdamParamState : public OptimizerCloneableParamState<AdamParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(at::Tensor, exp_avg);
  TORCH_ARG(at::Tensor, exp_avg_sq);
  TORCH_ARG(at::Tensor, max_exp_avg_sq) = {};

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const AdamParamState& a, const AdamParamState& b) { return same_fields(a, b); }
};

/// Adam, with weight decay as part of the gradient (formula: aten/cpu/optimizer/optimizer_step.h).
///
///   torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(1e-3).betas({0.9, 0.95}));
class Adam : public Optimizer {
 public:
  explicit Adam(const std::vector<OptimizerParamGroup>& param_groups, AdamOptions defaults = {})
      : Optimizer(param_groups, std::make_unique<AdamOptions>(defaults)) {
    defaults.check();
  }
  explicit Adam(std::vector<at::Tensor> params, AdamOptions defaults = {})
      : Optimizer(std::move(params), std::make_unique<AdamOptions>(defaults)) {}

  at::Tensor step(LossClosure closure = nullptr) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override { return std::make_unique<AdamParamState>(); }
};

}  // namespace torch::optim
