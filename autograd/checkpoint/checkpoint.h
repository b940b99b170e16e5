#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "autograd/engine/node.h"

/// Activation checkpointing: a part of a model keeps its arguments instead of what its operators save for backward, and runs
/// again in backward, in the regions of autocast that it was in. (Files of a model's state are utils/checkpoint.)
///
///   auto y = torch::utils::checkpoint::checkpoint([&](const torch::Tensor& x) { return block(x); }, x);
///   y.sum().backward();     // block runs a second time
namespace torch::utils::checkpoint {

using autograd::variable_list;

/// Something that holds from its making to its end: an object of any type whose constructor and destructor do it.
using Context = std::shared_ptr<void>;
/// Makes the two contexts of one call of checkpoint: one for the run in forward, one for each in backward.
struct Contexts {
  std::function<Context()> forward;
  std::function<Context()> recompute;
};

/// Options of checkpoint() and checkpoint_sequential().
///
///   CheckpointOptions().use_reentrant(true).preserve_rng_state(false)
class CheckpointOptions {
 public:
  /// The older of the two kinds, which records nothing in forward and runs a backward pass inside the node in backward. It
  /// refuses torch::autograd::grad and the `inputs` of backward, needs a tensor that requires a gradient among the arguments,
  /// makes all results require one, and always runs the whole function again. Default: false.
  CheckpointOptions& use_reentrant(bool value) { return set(use_reentrant_, value); }
  /// Runs the function again with the state that random generators had in forward, and then gives them back the state of
  /// before: the default ones of the CPU and of the arguments' devices. What the function draws on other devices, or from
  /// generators of its own, differs the second time. Default: true. Throws NotImplementedError for arguments on a device whose
  /// hooks give no generator.
  CheckpointOptions& preserve_rng_state(bool value) { return set(preserve_rng_state_, value); }
  /// "default": the sizes, dtype and device of what is computed again are compared with the first; "none": nothing is. Not
  /// for use_reentrant. Throws ValueError for other texts.
  CheckpointOptions& determinism_check(std::string value);
  /// Runs the function again only until all that backward needs is there. Default: what set_checkpoint_early_stop says, else
  /// true. Not for use_reentrant.
  CheckpointOptions& early_stop(bool value) { return set(early_stop_, value); }
  /// Contexts for the function to run in; called once a checkpoint() call. Not for use_reentrant.
  CheckpointOptions& context_fn(std::function<Contexts()> value) { return set(context_fn_, std::move(value)); }

  bool use_reentrant() const { return use_reentrant_; }
  bool preserve_rng_state() const { return preserve_rng_state_; }
  bool checks_determinism() const { return checks_determinism_; }
  std::optional<bool> early_stop() const { return early_stop_; }
  const std::function<Contexts()>& context_fn() const { return context_fn_; }

 private:
  template <class Field, class Value>
  CheckpointOptions& set(Field& field, Value&& value) {
    field = std::forward<Value>(value);
    return *this;
  }

  bool use_reentrant_ = false;
  bool preserve_rng_state_ = true;
  bool checks_determinism_ = true;
  std::optional<bool> early_stop_;
  std::function<Contexts()> context_fn_;
};

/// Whether checkpoints of this thread stop early, until the end of the scope; early_stop() of the options goes first.
class set_checkpoint_early_stop {
 public:
  explicit set_checkpoint_early_stop(bool enable);
  ~set_checkpoint_early_stop();
  set_checkpoint_early_stop(const set_checkpoint_early_stop&) = delete;
  set_checkpoint_early_stop& operator=(const set_checkpoint_early_stop&) = delete;

 private:
  int8_t before_;
};

namespace detail {

using Function = std::function<variable_list(const variable_list&)>;
variable_list checkpoint(Function function, const variable_list& inputs, const CheckpointOptions& options);

inline variable_list as_list(variable_list tensors) { return tensors; }
inline variable_list as_list(at::Tensor tensor) { return {std::move(tensor)}; }

}  // namespace detail

/// function(inputs), a Tensor or a variable_list, checkpointed. What `function` refers to must live, and be the same, until
/// backward has run; it is copied.
///
/// Throws what `function` throws; in backward c10::Error where the second run saved another number of tensors than the first
/// or others than the first did ("Recomputed values for the following tensors have different metadata ..").
template <class Function>
auto checkpoint(Function function, const variable_list& inputs, const CheckpointOptions& options = {}) {
  using Result = std::decay_t<std::invoke_result_t<Function&, const variable_list&>>;
  variable_list results = detail::checkpoint(
      [function = std::move(function)](const variable_list& given) mutable { return detail::as_list(function(given)); },
      inputs, options);
  if constexpr (std::is_same_v<Result, at::Tensor>) {
    return std::move(results[0]);
  } else {
    return results;
  }
}
/// The same for a function of one tensor.
template <class Function>
  requires std::is_invocable_v<Function&, const at::Tensor&>
auto checkpoint(Function function, const at::Tensor& input, const CheckpointOptions& options = {}) {
  return checkpoint(
      [function = std::move(function)](const variable_list& given) mutable { return function(given[0]); },
      variable_list{input}, options);
}

/// functions[n - 1](... functions[0](input)): in `segments` parts of which all but the last are checkpointed. Throws ValueError
/// where there are fewer functions than segments or no segments.
at::Tensor checkpoint_sequential(
    const std::vector<std::function<at::Tensor(const at::Tensor&)>>& functions,
    int64_t segments,
    const at::Tensor& input,
    const CheckpointOptions& options = {});
/// The same for a sequence of modules, each of which is called with `forward`.
template <class Sequence>
  requires requires(Sequence& s) { (*s.begin()).forward(at::Tensor()); }
at::Tensor checkpoint_sequential(
    Sequence& modules, int64_t segments, const at::Tensor& input, const CheckpointOptions& options = {}) {
  std::vector<std::function<at::Tensor(const at::Tensor&)>> functions;
  for (auto&& module : modules) functions.push_back([module](const at::Tensor& x) mutable { return module.forward(x); });
  return checkpoint_sequential(functions, segments, input, options);
}

}  // namespace torch::utils::checkpoint
