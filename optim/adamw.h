#pragma once

#include <tuple>

#include "optim/optimizer.h"

namespace torch::optim {

/// Settings of AdamW. ValueError unless lr >= 0, eps >= 0, weight_decay >= 0 and both betas lie in [0, 1).
struct AdamWOptions : public OptimizerCloneableOptions<AdamWOptions> {
  AdamWOptions(double lr = 1e-3);
  TORCH_ARG(double, lr) = 1e-3;
  typedef std::tuple<double, double> betas_t;
  TORCH_ARG(betas_t, betas) = std::make_tuple(0.9, 0.999);
  TORCH_ARG(double, eps) = 1e-8;
  TORCH_ARG(double, weight_decay) = 1e-2;
  TORCH_ARG(bool, amsgrad) = false;

 public:
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit(FieldVisitor& visitor) override;
  void check() const override;
  friend bool operator==(const AdamWOptions& a, const AdamWOptions& b) { return same_fields(a, b); }
};

struct AdamWParamState : public OptimizerCloneableParamState<AdamWParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(at::Tensor, exp_avg);
  TORCH_ARG(at::Tensor, exp_avg_sq);
  TORCH_ARG(at::Tensor, max_exp_avg_sq) = {};

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const AdamWParamState& a, const AdamWParamState& b) { return same_fields(a, b); }
};

/// Adam with decoupled weight decay (formula: aten/cpu/optimizer/optimizer_step.h).
///
///   torch::optim::AdamW adamw(net->parameters(), torch::optim::AdamWOptions(3e-4).weight_decay(0.1));
class AdamW : public Optimizer {
 public:
  explicit AdamW(const std::vector<OptimizerParamGroup>& param_groups, AdamWOptions defaults = {})
      : Optimizer(param_groups, std::make_unique<AdamWOptions>(defaults)) {
    defaults.check();
  }
  explicit AdamW(std::vector<at::Tensor> params, AdamWOptions defaults = {})
      : Optimizer(std::move(params), std::make_unique<AdamWOptions>(defaults)) {}

  at::Tensor step(LossClosure closure = nullptr) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override { return std::make_unique<AdamWParamState>(); }
};

}  // namespace torch::optim
