#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "c10/util/arg.h"
#include "c10/util/exception.h"
#include "optim/optimizer.h"

// What the settings of optimizers share.
namespace torch::optim {

// TORCH_ARG for a base class: the setter hands back the class that derives from it.
#define TORCH_OPTIM_FAMILY_ARG(T, name)    \
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
 protected:                                \
  T name##_ /* NOLINT */

// What copies the settings and the state of an optimizer is compiled with the optimizer, not with each program.
#define TORCH_OPTIM_CLASSES_OF(external, name)                       \
  external template class OptimizerCloneableOptions<name##Options>; \
  external template class OptimizerCloneableParamState<name##ParamState>;

/// A learning rate.
template <class Derived>
class LrOptions : public OptimizerCloneableOptions<Derived> {
 public:
  explicit LrOptions(double lr) : lr_(lr) {}
  TORCH_OPTIM_FAMILY_ARG(double, lr);

 public:
  double get_lr() const override { return lr_; }
  void set_lr(double lr) override { lr_ = lr; }
  friend bool operator==(const Derived& a, const Derived& b) { return same_fields(a, b); }
};

/// A learning rate (>= 0, else ValueError), and what most optimizers know (optimizer.h says what it means).
template <class Derived>
class StepOptions : public LrOptions<Derived> {
 public:
  explicit StepOptions(double lr) : LrOptions<Derived>(lr) {}
  TORCH_OPTIM_FAMILY_ARG(bool, maximize) = false;
  TORCH_OPTIM_FAMILY_ARG(std::optional<bool>, foreach);
  TORCH_OPTIM_FAMILY_ARG(bool, differentiable) = false;

 public:
  void check() const override { TORCH_CHECK_VALUE(this->lr_ >= 0, "Invalid learning rate: ", this->lr_); }
  void check_parameter(const at::Tensor& parameter) const override {
    if (!differentiable_) OptimizerOptions::check_parameter(parameter);
  }
  bool records_steps() const override { return differentiable_; }

 protected:
  void check_fused(const std::optional<bool>& fused) const {
    TORCH_CHECK(!fused.value_or(false) || !differentiable_, "`fused` does not support `differentiable`");
    TORCH_CHECK(!fused.value_or(false) || !foreach_.value_or(false),
                "`fused` and `foreach` cannot be `True` together.");
  }
};

/// The settings of Adam and of what was made from it. ValueError unless eps >= 0, weight_decay >= 0 and both betas lie
/// in [0, 1).
template <class Derived>
class BetasOptions : public StepOptions<Derived> {
 public:
  BetasOptions(double lr, double weight_decay) : StepOptions<Derived>(lr), weight_decay_(weight_decay) {}
  typedef std::tuple<double, double> betas_t;
  TORCH_OPTIM_FAMILY_ARG(betas_t, betas) = std::make_tuple(0.9, 0.999);
  TORCH_OPTIM_FAMILY_ARG(double, eps) = 1e-8;
  TORCH_OPTIM_FAMILY_ARG(double, weight_decay);
  TORCH_OPTIM_FAMILY_ARG(bool, capturable) = false;

 public:
  void check() const override {
    StepOptions<Derived>::check();
    const auto [beta1, beta2] = betas_;
    TORCH_CHECK_VALUE(eps_ >= 0, "Invalid epsilon value: ", eps_);
    TORCH_CHECK_VALUE(0 <= beta1 && beta1 < 1, "Invalid beta parameter at index 0: ", beta1);
    TORCH_CHECK_VALUE(0 <= beta2 && beta2 < 1, "Invalid beta parameter at index 1: ", beta2);
    TORCH_CHECK_VALUE(weight_decay_ >= 0, "Invalid weight_decay value: ", weight_decay_);
  }
};

}  // namespace torch::optim
