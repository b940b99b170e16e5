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
  /// The rate as a tensor of one element on the parameters' device, which steps read there, also replayed ones. set_lr()
  /// writes it, too.
  TORCH_OPTIM_FAMILY_ARG(at::Tensor, tensor_lr);

 public:
  void set_lr(double lr) override;
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
  /// With `capturable` the count, a Float on the parameter's device; `step` follows when the state is read as a whole.
  TORCH_OPTIM_FAMILY_ARG(at::Tensor, device_step) = {};

 public:
  void visit(FieldVisitor& visitor) override {
    read_device_step();
    visitor.step("step", step_);
    write_device_step();
    visitor("exp_avg", exp_avg_);
    visitor("exp_avg_sq", exp_avg_sq_);
    visitor("max_exp_avg_sq", max_exp_avg_sq_);
  }
  friend bool operator==(const Derived& a, const Derived& b) { return same_fields(a, b); }

 private:
  void read_device_step();
  void write_device_step();
};

template <class Options, class State>
class AdamFamily : public ListOptimizer<Options, State> {
 public:
  using ListOptimizer<Options, State>::ListOptimizer;

 protected:
  void update(StepLists& lists, const Options& options) override;

 private:
  void list_device_counts(StepLists& lists);
};

}  // namespace torch::optim
