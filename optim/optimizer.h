#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/arg.h"
#include "c10/util/exception.h"
#include "c10/util/flat_hash_map.h"
#include "c10/util/string_utils.h"
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
  std::unique_ptr<OptimizerParamState> clone() const override;
};

// Outside of the class, where declaring it compiled elsewhere (TORCH_OPTIM_CLASSES_OF) keeps programs from compiling it.
template <class Derived>
std::unique_ptr<OptimizerParamState> OptimizerCloneableParamState<Derived>::clone() const {
  return std::unique_ptr<OptimizerParamState>(new Derived(static_cast<const Derived&>(*this)));
}

/// The settings of a parameter group. Derive from OptimizerCloneableOptions.
class OptimizerOptions {
 public:
  virtual ~OptimizerOptions() = default;
  virtual std::unique_ptr<OptimizerOptions> clone() const = 0;
  /// Options of this class as nobody set them (a learning rate that has no default is 1e-3); null where there are none.
  virtual std::unique_ptr<OptimizerOptions> unset() const { return nullptr; }
  /// The learning rate, which schedules read and change. Throw NotImplementedError unless overridden.
  virtual double get_lr() const;
  virtual void set_lr(double lr);
  virtual void visit(FieldVisitor& /*visitor*/) {}
  virtual void serialize(torch::serialize::InputArchive& archive);
  virtual void serialize(torch::serialize::OutputArchive& archive) const;
  /// Throws ValueError for settings out of range. Called when a group is added.
  virtual void check() const {}
  /// Throws for a parameter that cannot be stepped with these settings: by default one that is no leaf.
  virtual void check_parameter(const at::Tensor& parameter) const;
  /// Whether steps are recorded by autograd.
  virtual bool records_steps() const { return false; }
};

template <class Derived>
class OptimizerCloneableOptions : public OptimizerOptions {
 public:
  std::unique_ptr<OptimizerOptions> clone() const override;
  std::unique_ptr<OptimizerOptions> unset() const override;
};

template <class Derived>
std::unique_ptr<OptimizerOptions> OptimizerCloneableOptions<Derived>::clone() const {
  return std::unique_ptr<OptimizerOptions>(new Derived(static_cast<const Derived&>(*this)));
}
template <class Derived>
std::unique_ptr<OptimizerOptions> OptimizerCloneableOptions<Derived>::unset() const {
  if constexpr (std::is_default_constructible_v<Derived>) return std::make_unique<Derived>();
  if constexpr (std::is_constructible_v<Derived, double>) return std::make_unique<Derived>(1e-3);
  return nullptr;
}

/// Field by field; tensors by their values.
bool same_fields(const OptimizerOptions& a, const OptimizerOptions& b);
bool same_fields(const OptimizerParamState& a, const OptimizerParamState& b);
/// Fields of `options` that stand as in unset() take the values of `defaults`, which is of the same class (else nothing
/// happens).
void inherit_fields(OptimizerOptions& options, const OptimizerOptions& defaults);

/// Parameters that share settings. Without options of its own a group takes the optimizer's; of options that it has,
/// those take the optimizer's that are as a new object of the class has them.
class OptimizerParamGroup {
 public:
  using Extras = std::vector<std::pair<std::string, c10::IValue>>;

  OptimizerParamGroup(std::vector<at::Tensor> params) : params_(std::move(params)) {}
  OptimizerParamGroup(std::vector<at::Tensor> params, std::unique_ptr<OptimizerOptions> options)
      : params_(std::move(params)), options_(std::move(options)) {}
  OptimizerParamGroup(const OptimizerParamGroup& other) { *this = other; }
  OptimizerParamGroup(OptimizerParamGroup&&) = default;
  OptimizerParamGroup& operator=(const OptimizerParamGroup& other);
  OptimizerParamGroup& operator=(OptimizerParamGroup&&) = default;
  /// Parameters with names, which the state dict then holds as "param_names":
  ///   OptimizerParamGroup::named(net->named_parameters().pairs())
  static OptimizerParamGroup named(std::vector<std::pair<std::string, at::Tensor>> params,
                                   std::unique_ptr<OptimizerOptions> options = nullptr);

  bool has_options() const { return options_ != nullptr; }
  /// Throw where there are none.
  OptimizerOptions& options();
  const OptimizerOptions& options() const;
  void set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
  std::vector<at::Tensor>& params() { return params_; }
  const std::vector<at::Tensor>& params() const { return params_; }
  /// Empty, or one a parameter.
  const std::vector<std::string>& param_names() const { return param_names_; }

  /// What else stands in the group, as in Python's dict of it: "initial_lr" and the like, which schedules write.
  const Extras& extras() const { return extras_; }
  void set_extras(Extras extras) { extras_ = std::move(extras); }
  /// Null where there is none.
  const c10::IValue* extra(std::string_view name) const;
  void set_extra(std::string_view name, c10::IValue value);

 private:
  friend class Optimizer;

  std::vector<at::Tensor> params_;
  std::vector<std::string> param_names_;
  std::unique_ptr<OptimizerOptions> options_;
  Extras extras_;
};

/// A parameter in the map of states: its TensorImpl. Text, as "0x55…", names one too.
class OptimizerStateKey {
 public:
  OptimizerStateKey(const void* parameter) : address_(parameter) {}
  OptimizerStateKey(const std::string& address);
  operator void*() const { return const_cast<void*>(address_); }
  bool operator==(const OptimizerStateKey& other) const { return address_ == other.address_; }
  struct Hash {
    size_t operator()(const OptimizerStateKey& key) const { return std::hash<const void*>()(key.address_); }
  };

 private:
  const void* address_;
};

}  // namespace torch::optim

namespace ska {

// States by parameter, as older programs name the type ...
template <>
class flat_hash_map<std::string, std::unique_ptr<torch::optim::OptimizerParamState>>
    : public std::unordered_map<torch::optim::OptimizerStateKey, std::unique_ptr<torch::optim::OptimizerParamState>,
                                torch::optim::OptimizerStateKey::Hash> {
 public:
  using unordered_map::unordered_map;
};
// ... and as newer ones do.
template <>
class flat_hash_map<void*, std::unique_ptr<torch::optim::OptimizerParamState>>
    : public flat_hash_map<std::string, std::unique_ptr<torch::optim::OptimizerParamState>> {
 public:
  using flat_hash_map<std::string, std::unique_ptr<torch::optim::OptimizerParamState>>::flat_hash_map;
};

}  // namespace ska

namespace torch::optim {

/// A gradient of some rows (indices of the first dimension) of a parameter, as embeddings have it. A row that is listed
/// twice gets the sum.
struct RowGradient {
  at::Tensor parameter;
  at::Tensor indices;  ///< int64, {n} or {1, n}
  at::Tensor values;   ///< {n, …}: the parameter's sizes and dtype but for the first dimension
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
/// Parameters are dense floating-point or complex leaf tensors on any device (complex ones are stepped as pairs of
/// reals); a parameter without a gradient is left alone. A step is one operator for all parameters of a group on one
/// device, such as at::_fused_adam_; on the CPU it updates them in place in one pass over each, in parallel, and its
/// result does not depend on the number of threads.
///
/// Errors: a non-leaf parameter, one that is in two groups, and settings out of range throw when the group is added. A
/// parameter listed twice in one group is kept once, with a warning.
///
/// Settings that all optimizers of PyTorch have, where they have them: `maximize` climbs. With `differentiable` steps
/// are recorded by autograd: parameters may be no leaves, and what a step starts from is left as it was. `foreach`
/// and `fused` are accepted: a step is one operator on lists in any case. With `capturable` Adam and AdamW can be captured
/// into a graph of a device: they count their steps there. What Python refuses together is refused.
///
/// An optimizer of one's own overrides step() and calls run_step() in it, so that hooks and closures work.
class Optimizer {
 public:
  using LossClosure = std::function<at::Tensor()>;
  using StepHook = std::function<void(Optimizer&)>;
  using StateDictPreHook = std::function<void(Optimizer&)>;
  using StateDictPostHook = std::function<void(Optimizer&, StateDict&)>;
  using LoadStateDictPreHook = std::function<void(Optimizer&, StateDict&)>;
  using LoadStateDictPostHook = std::function<void(Optimizer&)>;

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(Optimizer&&) = default;
  virtual ~Optimizer() = default;

  explicit Optimizer(const std::vector<OptimizerParamGroup>& param_groups, std::unique_ptr<OptimizerOptions> defaults);
  explicit Optimizer(std::vector<at::Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults);

  void add_param_group(const OptimizerParamGroup& param_group);
  /// Adds to the first group. As libtorch's, this and the next two warn that they will be removed.
  void add_parameters(const std::vector<at::Tensor>& parameters);

  /// One update. A `closure` computes the loss again, with gradients switched on; its result is returned.
  virtual at::Tensor step(LossClosure closure = nullptr) = 0;

  /// Gives the next step a gradient of some rows instead of the parameter's own; several for one parameter add up. For
  /// optimizers that Python gives sparse gradients to: SGD, Adagrad, SparseAdam; others throw in step().
  void add_row_gradient(RowGradient gradient);

  /// Whether step() takes set_amp_scaling(): optimizers that are `fused`. torch::amp::GradScaler asks.
  virtual bool step_supports_amp_scaling() const { return false; }
  /// For the steps until the next call: gradients are divided by `grad_scale`, and where `found_inf` is not 0 nothing
  /// is updated. Tensors of one element; Python sets them as attributes of these names.
  void set_amp_scaling(std::optional<at::Tensor> grad_scale, std::optional<at::Tensor> found_inf);

  /// Drops the gradients, or with `set_to_none` false fills them with zeros and detaches them.
  void zero_grad(bool set_to_none = true);

  std::vector<OptimizerParamGroup>& param_groups() noexcept { return param_groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const noexcept { return param_groups_; }
  OptimizerOptions& defaults() noexcept { return *defaults_; }
  const OptimizerOptions& defaults() const noexcept { return *defaults_; }
  /// The first group's parameters.
  const std::vector<at::Tensor>& parameters() const noexcept;
  /// How many parameters all groups have.
  size_t size() const noexcept;

  using StateMap = ska::flat_hash_map<void*, std::unique_ptr<OptimizerParamState>>;
  /// By the parameter's TensorImpl (`param.unsafeGetTensorImpl()`); a parameter has an entry after its first update.
  StateMap& state() noexcept { return state_; }
  const StateMap& state() const noexcept { return state_; }

  /// All state and settings, as Python's: {"state": {number: {…}}, "param_groups": [{…, "params": numbers}]}.
  /// Parameters are numbered in the order of the groups.
  StateDict state_dict() const;
  /// Takes over what state_dict() gave, here or in Python, in an optimizer of the same class over as many parameters.
  /// Group settings are restored; those that the dict does not have stay. Tensors are copied, in the dtype and on the
  /// device of their parameter. Everything is checked first: after a ValueError nothing has changed.
  void load_state_dict(const StateDict& dict);

  /// To and from an archive, by default what state_dict() gives. Linked with //utils/serialize:optimizer_archive.
  virtual void save(torch::serialize::OutputArchive& archive) const;
  virtual void load(torch::serialize::InputArchive& archive);

  /// Called before and after every step, state_dict() and load_state_dict(), in order of registration; `prepend` puts
  /// one in front. The number returned removes the hook. Hooks that get the dict may change it (a copy of its dicts).
  size_t register_step_pre_hook(StepHook hook);
  size_t register_step_post_hook(StepHook hook);
  size_t register_state_dict_pre_hook(StateDictPreHook hook, bool prepend = false);
  size_t register_state_dict_post_hook(StateDictPostHook hook, bool prepend = false);
  size_t register_load_state_dict_pre_hook(LoadStateDictPreHook hook, bool prepend = false);
  size_t register_load_state_dict_post_hook(LoadStateDictPostHook hook, bool prepend = false);
  void remove_hook(size_t id);

 protected:
  /// A fresh state for load_state_dict; null: this class has none.
  virtual std::unique_ptr<OptimizerParamState> make_state() const { return nullptr; }

  /// The frame of a step: hooks, closure, recording as the group wants it. `update` is called once for each group.
  at::Tensor run_step(const LossClosure& closure, const std::function<void(OptimizerParamGroup&)>& update);
  /// The same where `update` calls the closure itself; its result is returned.
  at::Tensor run_whole_step(const std::function<at::Tensor()>& update);

  /// What add_row_gradient() gave for a parameter and what its own gradient is where that is sparse, rows in order, each
  /// once; undefined indices: nothing.
  RowGradient row_gradient(const at::Tensor& parameter) const;
  bool has_row_gradients() const noexcept { return !row_gradients_.empty(); }

  /// The state of a parameter as a T, made if it is not there yet.
  template <class T>
  T& state_of(const at::Tensor& param) {
    std::unique_ptr<OptimizerParamState>& slot = state_[param.unsafeGetTensorImpl()];
    if (slot == nullptr) slot = std::make_unique<T>();
    return static_cast<T&>(*slot);
  }

  /// Whether set_amp_scaling() said that nothing is to be updated.
  bool found_inf() const;

  StateMap state_;
  std::vector<OptimizerParamGroup> param_groups_;
  std::unique_ptr<OptimizerOptions> defaults_;
  std::optional<at::Tensor> grad_scale_, found_inf_;

 private:
  enum class Moment : uint8_t { kBeforeStep, kAfterStep, kBeforeState, kAfterState, kBeforeLoad, kAfterLoad };
  struct Hook {
    size_t id;
    Moment moment;
    std::function<void(Optimizer&, StateDict*)> call;
  };
  size_t add_hook(Moment moment, std::function<void(Optimizer&, StateDict*)> call, bool prepend);
  void call_hooks(Moment moment, StateDict* dict = nullptr);

  std::vector<Hook> hooks_;
  size_t next_hook_ = 0;
  std::vector<RowGradient> row_gradients_;
};

/// Called before and after every step of every optimizer, before its own hooks and after them. From any thread.
size_t register_optimizer_step_pre_hook(Optimizer::StepHook hook);
size_t register_optimizer_step_post_hook(Optimizer::StepHook hook);
void remove_optimizer_step_hook(size_t id);

}  // namespace torch::optim
