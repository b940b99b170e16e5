#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/arg.h"
#include "c10/util/exception.h"
#include "optim/state_dict.h"

namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace torch::optim {

/// What an optimizer remembers of one parameter. Derive from OptimizerCloneableParamState.
class OptimizerParamState {
 public:
  virtual ~OptimizerParamState() = default;
  /// A copy; tensors are shared.
  virtual std::unique_ptr<OptimizerParamState> clone() const = 0;
  /// Shows every field to `visitor`, in a fixed order.
  virtual void visit(FieldVisitor& /*visitor*/) {}
  /// libtorch's way to be saved (utils/serialize/optimizer_archive.h). By default what visit() shows.
  virtual void serialize(torch::serialize::InputArchive& archive);
  virtual void serialize(torch::serialize::OutputArchive& archive) const;
};

template <class Derived>
class OptimizerCloneableParamState : public OptimizerParamState {
 public:
  std::unique_ptr<OptimizerParamState> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

/// The settings of a parameter group. Derive from OptimizerCloneableOptions.
class OptimizerOptions {
 public:
  virtual ~OptimizerOptions() = default;
  virtual std::unique_ptr<OptimizerOptions> clone() const = 0;
  /// The learning rate, which schedules read and change. Throw NotImplementedError unless overridden.
  virtual double get_lr() const;
  virtual void set_lr(double lr);
  virtual void visit(FieldVisitor& /*visitor*/) {}
  virtual void serialize(torch::serialize::InputArchive& archive);
  virtual void serialize(torch::serialize::OutputArchive& archive) const;
  /// Throws ValueError for settings out of range. Called when a group is added.
  virtual void check() const {}
};

template <class Derived>
class OptimizerCloneableOptions : public OptimizerOptions {
 public:
  std::unique_ptr<OptimizerOptions> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

/// Field by field; tensors by identity.
bool same_fields(const OptimizerOptions& a, const OptimizerOptions& b);
bool same_fields(const OptimizerParamState& a, const OptimizerParamState& b);

/// Parameters that share settings. Without options of its own a group takes the optimizer's.
class OptimizerParamGroup {
 public:
  OptimizerParamGroup(std::vector<at::Tensor> params) : params_(std::move(params)) {}
  OptimizerParamGroup(std::vector<at::Tensor> params, std::unique_ptr<OptimizerOptions> options)
      : params_(std::move(params)), options_(std::move(options)) {}
  OptimizerParamGroup(const OptimizerParamGroup& other)
      : params_(other.params_), options_(other.options_ ? other.options_->clone() : nullptr) {}
  OptimizerParamGroup(OptimizerParamGroup&&) = default;
  OptimizerParamGroup& operator=(const OptimizerParamGroup& other) {
    params_ = other.params_;
    options_ = other.options_ ? other.options_->clone() : nullptr;
    return *this;
  }
  OptimizerParamGroup& operator=(OptimizerParamGroup&&) = default;

  bool has_options() const { return options_ != nullptr; }
  /// Throw where there are none.
  OptimizerOptions& options();
  const OptimizerOptions& options() const;
  void set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
  std::vector<at::Tensor>& params() { return params_; }
  const std::vector<at::Tensor>& params() const { return params_; }

 private:
  std::vector<at::Tensor> params_;
  std::unique_ptr<OptimizerOptions> options_;
};

/// Updates parameters from their gradients. Move-only.
///
///   torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(3e-4).weight_decay(0.1));
///   for (...) {
///     optimizer.zero_grad();
///     loss(model, batch).backward();
///     optimizer.step();
///   }
///
/// Parameters are dense floating-point or complex leaf tensors on any device (complex ones are stepped as pairs of reals); a
/// parameter without a gradient is left alone. A step is one operator for all parameters of a group on one device, such as
/// at::_fused_adam_; on the CPU it updates them in place in one pass over each, in parallel, and its result does not depend
/// on the number of threads.
///
/// Errors: a non-leaf parameter, one that is in two groups, and settings out of range throw when the group is added. A
/// parameter listed twice in one group is kept once, with a warning.
class Optimizer {
 public:
  using LossClosure = std::function<at::Tensor()>;
  using StepHook = std::function<void(Optimizer&)>;

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(Optimizer&&) = default;
  virtual ~Optimizer() = default;

  explicit Optimizer(const std::vector<OptimizerParamGroup>& param_groups, std::unique_ptr<OptimizerOptions> defaults);
  explicit Optimizer(std::vector<at::Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults);

  void add_param_group(const OptimizerParamGroup& param_group);
  /// Adds to the first group.
  void add_parameters(const std::vector<at::Tensor>& parameters);

  /// One update. A `closure` computes the loss again, with gradients switched on; its result is returned.
  virtual at::Tensor step(LossClosure closure = nullptr) = 0;

  /// Drops the gradients, or with `set_to_none` false fills them with zeros and detaches them.
  void zero_grad(bool set_to_none = true);

  std::vector<OptimizerParamGroup>& param_groups() noexcept { return param_groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const noexcept { return param_groups_; }
  OptimizerOptions& defaults() noexcept { return *defaults_; }
  const OptimizerOptions& defaults() const noexcept { return *defaults_; }
  /// The first group's parameters.
  const std::vector<at::Tensor>& parameters() const noexcept;
  /// How many those are.
  size_t size() const noexcept;

  using StateMap = std::unordered_map<void*, std::unique_ptr<OptimizerParamState>>;
  /// By the parameter's TensorImpl (`param.unsafeGetTensorImpl()`); a parameter has an entry after its first update.
  StateMap& state() noexcept { return state_; }
  const StateMap& state() const noexcept { return state_; }

  /// All state and settings. Parameters are numbered in the order of the groups.
  StateDict state_dict() const;
  /// Takes over what state_dict() gave, in an optimizer of the same class over parameters of the same number, sizes and
  /// dtypes. Everything is checked first: after a ValueError nothing has changed. Tensors are copied.
  void load_state_dict(const StateDict& dict);

  /// To and from an archive, by default what state_dict() gives. Linked with //utils/serialize:optimizer_archive.
  virtual void save(torch::serialize::OutputArchive& archive) const;
  virtual void load(torch::serialize::InputArchive& archive);

  /// Called before and after every step. The number returned removes the hook.
  size_t register_step_pre_hook(StepHook hook);
  size_t register_step_post_hook(StepHook hook);
  void remove_hook(size_t id);

 protected:
  /// A fresh state for load_state_dict; null: this class has none.
  virtual std::unique_ptr<OptimizerParamState> make_state() const { return nullptr; }

  /// The frame of a step: hooks, closure, no recording. `update` is called once for each group.
  at::Tensor run_step(const LossClosure& closure, const std::function<void(OptimizerParamGroup&)>& update);

  /// The state of a parameter as a T, made if it is not there yet.
  template <class T>
  T& state_of(const at::Tensor& param) {
    std::unique_ptr<OptimizerParamState>& slot = state_[param.unsafeGetTensorImpl()];
    if (slot == nullptr) slot = std::make_unique<T>();
    return static_cast<T&>(*slot);
  }

  StateMap state_;
  std::vector<OptimizerParamGroup> param_groups_;
  std::unique_ptr<OptimizerOptions> defaults_;

 private:
  struct Hook {
    size_t id;
    bool before;
    StepHook call;
  };
  void call_hooks(bool before);

  std::vector<Hook> hooks_;
  size_t next_hook_ = 0;
};

}  // namespace torch::optim
