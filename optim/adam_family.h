#pragma once

#include "optim/options.h"
#include "optim/step_lists.h"

// What Adam and AdamW share: all but their names, the default weight decay and where it goes.
namespace torch::optim {

/// With `decoupled_weight_decay` the decay shrinks the parameter itself, as in AdamW, and is no part of the gradient.
template <class Derived>
struct AdamFamilyOptions : public BetasOptions<Derived> {
  AdamFamilyOptions(double lr, double weight_decay, bool decoupled)
      : BetasOptions<Derived>(lr, weight_decay), decoupled_weight_decay_(decoupled) {}
  TORCH_OPTIM_FAMILY_ARG(bool, amsgrad) = false;
  TORCH_OPTIM_FAMILY_ARG(std::optional<bool>, fused);
  TORCH_OPTIM_FAMILY_ARG(bool, decoupled_weight_decay);

 public:
  void visit(FieldVisitor& visitor) override {
    visitor("lr", this->lr_);
    visitor("betas", this->betas_);
    visitor("eps", this->eps_);
    visitor("weight_decay", this->weight_decay_);
    visitor("amsgrad", amsgrad_);
    visitor("maximize", this->maximize_);
    visitor("foreach", this->foreach_);
    visitor("capturable", this->capturable_);
    visitor("differentiable", this->differentiable_);
    visitor("fused", fused_);
    visitor("decoupled_weight_decay", decoupled_weight_decay_);
  }
  void check() const override {
    BetasOptions<Derived>::check();
    this->check_fused(fused_);
  }
};

template <class Derived>
struct AdamFamilyParamState : public OptimizerCloneableParamState<Derived> {
  TORCH_OPTIM_FAMILY_ARG(int64_t, step) = 0;
  TORCH_OPTIM_FAMILY_ARG(at::Tensor, exp_avg);
  TORCH_OPTIM_FAMILY_ARG(at::Tensor, exp_avg_sq);
  TORCH_OPTIM_FAMILY_ARG(at::Tensor, max_exp_avg_sq) = {};

 public:
  void visit(FieldVisitor& visitor) override {
    visitor.step("step", step_);
    visitor("exp_avg", exp_avg_);
    visitor("exp_avg_sq", exp_avg_sq_);
    visitor("max_exp_avg_sq", max_exp_avg_sq_);
  }
  friend bool operator==(const Derived& a, const Derived& b) { return same_fields(a, b); }
};

template <class Options, class State>
class AdamFamily : public ListOptimizer<Options, State> {
 public:
  using ListOptimizer<Options, State>::ListOptimizer;

 protected:
  void update(StepLists& lists, const Options& options) override;
};

}  // namespace torch::optim
