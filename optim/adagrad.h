#pragma once

#include "optim/optimizer.h"
#include "optim/step_lists.h"

namespace torch::optim {

/// Settings of Adagrad. ValueError unless all are >= 0.
struct AdagradOptions : public OptimizerCloneableOptions<AdagradOptions> {
  AdagradOptions(double lr = 1e-2);
  TORCH_ARG(double, lr) = 1e-2;
  TORCH_ARG(double, lr_decay) = 0;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(double, initial_accumulator_value) = 0;
  TORCH_ARG(double, eps) = 1e-10;

 public:
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit(FieldVisitor& visitor) override;
  void check() const override;
  friend bool operator==(const AdagradOptions& a, const AdagradOptions& b) { return same_fields(a, b); }
};

struct AdagradParamState : public OptimizerCloneableParamState<AdagradParamState> {
  TORCH_ARG(at::Tensor, sum);
  TORCH_ARG(int64_t, step) = 0;

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const AdagradParamState& a, const AdagradParamState& b) { return same_fields(a, b); }
};

/// Adagrad; the rate of step t is lr / (1 + (t - 1) * lr_decay) (formula: at::_fused_adagrad_).
class Adagrad : public Optimizer {
 public:
  explicit Adagrad(const std::vector<OptimizerParamGroup>& param_groups, AdagradOptions defaults = {})
      : Optimizer(param_groups, std::make_unique<AdagradOptions>(defaults)) {
    defaults.check();
  }
  explicit Adagrad(std::vector<at::Tensor> params, AdagradOptions defaults = {})
      : Optimizer(std::move(params), std::make_unique<AdagradOptions>(defaults)) {}

  at::Tensor step(LossClosure closure = nullptr) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override { return std::make_unique<AdagradParamState>(); }

 private:
  StepScratch scratch_;
};

}  // namespace torch::optim
