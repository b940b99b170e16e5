#pragma once

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "optim/optimizer.h"
#include "optim/step_lists.h"

// What Adam and AdamW share: all but their names, the default weight decay and the operator of a step.
namespace torch::optim {

// TORCH_ARG for a base class: the setter hands back the class that derives from it.
#define TORCH_FAMILY_ARG(T, name)          \
 public:                                   \
  Derived& name(const T& new_##name) {     \
    this->name##_ = new_##name;            \
    return static_cast<Derived&>(*this);   \
  }                                        \
  Derived& name(T&& new_##name) {          \
    this->name##_ = std::move(new_##name); \
    return static_cast<Derived&>(*this);   \
  }                                        \
  const T& name() const noexcept {         \
    return this->name##_;                  \
  }                                        \
  T& name() noexcept {                     \
    return this->name##_;                  \
  }                                        \
                                           \
 private:                                  \
  T name##_ /* NOLINT */

/// ValueError unless lr >= 0, eps >= 0, weight_decay >= 0 and both betas lie in [0, 1).
template <class Derived>
struct AdamFamilyOptions : public OptimizerCloneableOptions<Derived> {
  AdamFamilyOptions(double lr, double weight_decay) : lr_(lr), weight_decay_(weight_decay) {}
  typedef std::tuple<double, double> betas_t;
  TORCH_FAMILY_ARG(double, lr);
  TORCH_FAMILY_ARG(betas_t, betas) = std::make_tuple(0.9, 0.999);
  TORCH_FAMILY_ARG(double, eps) = 1e-8;
  TORCH_FAMILY_ARG(double, weight_decay);
  TORCH_FAMILY_ARG(bool, amsgrad) = false;

 public:
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  void visit(FieldVisitor& visitor) override {
    visitor.number("lr", lr_);
    visitor.number("beta1", std::get<0>(betas_));
    visitor.number("beta2", std::get<1>(betas_));
    visitor.number("eps", eps_);
    visitor.number("weight_decay", weight_decay_);
    visitor.flag("amsgrad", amsgrad_);
  }
  void check() const override {
    const auto [beta1, beta2] = betas_;
    TORCH_CHECK_VALUE(lr_ >= 0, "Invalid learning rate: ", lr_);
    TORCH_CHECK_VALUE(eps_ >= 0, "Invalid epsilon value: ", eps_);
    TORCH_CHECK_VALUE(0 <= beta1 && beta1 < 1, "Invalid beta parameter at index 0: ", beta1);
    TORCH_CHECK_VALUE(0 <= beta2 && beta2 < 1, "Invalid beta parameter at index 1: ", beta2);
    TORCH_CHECK_VALUE(weight_decay_ >= 0, "Invalid weight_decay value: ", weight_decay_);
  }
  friend bool operator==(const Derived& a, const Derived& b) { return same_fields(a, b); }
};

template <class Derived>
struct AdamFamilyParamState : public OptimizerCloneableParamState<Derived> {
  TORCH_FAMILY_ARG(int64_t, step) = 0;
  TORCH_FAMILY_ARG(at::Tensor, exp_avg);
  TORCH_FAMILY_ARG(at::Tensor, exp_avg_sq);
  TORCH_FAMILY_ARG(at::Tensor, max_exp_avg_sq) = {};

 public:
  void visit(FieldVisitor& visitor) override {
    visitor.count("step", step_);
    visitor.tensor("exp_avg", exp_avg_);
    visitor.tensor("exp_avg_sq", exp_avg_sq_);
    visitor.tensor("max_exp_avg_sq", max_exp_avg_sq_);
  }
  friend bool operator==(const Derived& a, const Derived& b) { return same_fields(a, b); }
};

#undef TORCH_FAMILY_ARG

/// `kDecoupled`: weight decay shrinks the parameter itself, as in AdamW, and is no part of the gradient.
template <class Options, class State, bool kDecoupled>
class AdamFamily : public Optimizer {
 public:
  explicit AdamFamily(const std::vector<OptimizerParamGroup>& param_groups, Options defaults = {})
      : Optimizer(param_groups, std::make_unique<Options>(defaults)) {
    defaults.check();
  }
  explicit AdamFamily(std::vector<at::Tensor> params, Options defaults = {})
      : Optimizer(std::move(params), std::make_unique<Options>(defaults)) {}

  at::Tensor step(LossClosure closure = nullptr) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override { return std::make_unique<State>(); }

 private:
  void update(OptimizerParamGroup& group);

  StepScratch scratch_;
};

}  // namespace torch::optim
