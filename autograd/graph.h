#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "aten/core/tensor.h"
#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/node.h"
#include "autograd/engine/removable_handle.h"
#include "autograd/engine/saved_tensor_hooks.h"

/// Tools for the recorded graph: what becomes of saved tensors, and hooks that concern several tensors.
namespace torch::autograd::graph {

using utils::hooks::RemovableHandle;

/// Where in the graph `t` was made: to differentiate by or from it when the tensor itself is gone. Throws "It is not possible
/// to get the gradient edge of a Tensor that does not require gradients".
GradientEdge get_gradient_edge(const at::Tensor& t);

namespace detail {

template <class Pack, class Unpack>
class FunctionHooks final : public SavedVariableHooks {
 public:
  using Packed = std::decay_t<std::invoke_result_t<Pack&, const at::Tensor&>>;
  struct Pair {
    Pack pack;
    Unpack unpack;
  };
  explicit FunctionHooks(std::shared_ptr<Pair> functions) : functions_(std::move(functions)) {}
  void call_pack_hook(const at::Tensor& tensor) override { packed_.emplace(functions_->pack(tensor)); }
  at::Tensor call_unpack_hook() override { return functions_->unpack(*packed_); }

 private:
  std::shared_ptr<Pair> functions_;
  std::optional<Packed> packed_;
};

}  // namespace detail

/// While it lives, tensors that this thread saves for backward pass through `pack`, and what that returns is kept instead;
/// backward gets what `unpack` makes of it, which must be a tensor of the same sizes, dtype and device. `pack` may return
/// anything that can be copied or moved. Of nested ones the innermost holds. Throws where such hooks are disabled; `pack` must
/// not modify its argument.
///
///   auto pack = [](const torch::Tensor& t) { return t.to(torch::kHalf); };
///   auto unpack = [](const torch::Tensor& kept) { return kept.to(torch::kFloat); };
///   torch::autograd::graph::saved_tensors_hooks hooks(pack, unpack);
///   auto y = model(x);
template <class Pack, class Unpack>
class saved_tensors_hooks {
 public:
  saved_tensors_hooks(Pack pack, Unpack unpack)
      : guard_([functions = std::make_shared<typename Hooks::Pair>(std::move(pack), std::move(unpack))]()
                   -> std::unique_ptr<SavedVariableHooks> { return std::make_unique<Hooks>(functions); }) {}

 private:
  using Hooks = detail::FunctionHooks<Pack, Unpack>;
  SavedTensorsHooksGuard guard_;
};

/// While it lives, tensors that this thread saves for backward are kept in the CPU's memory and go back to their device when
/// they are needed. `pin_memory`: in page-locked memory, copied back while the device works.
class save_on_cpu {
 public:
  explicit save_on_cpu(bool pin_memory = false);

 private:
  SavedTensorsHooksGuard guard_;
};

/// While it lives, hooks for saved tensors are refused in this thread with `error_message`; throws it where some are set.
class disable_saved_tensors_hooks {
 public:
  explicit disable_saved_tensors_hooks(const std::string& error_message);
  ~disable_saved_tensors_hooks();
  disable_saved_tensors_hooks(const disable_saved_tensors_hooks&) = delete;
  disable_saved_tensors_hooks& operator=(const disable_saved_tensors_hooks&) = delete;

 private:
  std::optional<std::string> before_;
};

/// Calls `hook` once a backward pass, when the gradients of all of `tensors` that the pass computes are there, with one
/// gradient a tensor: undefined for those that the pass does not reach. `hook` must not modify them. Throws where one of the
/// tensors requires no gradient.
RemovableHandle register_multi_grad_hook(
    const variable_list& tensors, std::function<void(const variable_list&)> hook);
/// Calls `hook` once a backward pass with the first of these gradients that is there.
RemovableHandle register_any_grad_hook(const variable_list& tensors, std::function<void(const at::Tensor&)> hook);
/// Either, by the documented name of the mode: "all" takes a hook of a variable_list, "any" one of a tensor. Throws ValueError
/// for another mode.
template <class Hook>
RemovableHandle register_multi_grad_hook(const variable_list& tensors, Hook hook, std::string_view mode);

/// A hook on a node: `hook(grad_inputs, grad_outputs)` runs after it and may return other gradients of its inputs, or an
/// empty list to keep them. A pre-hook, `hook(grad_outputs)`, runs before it.
RemovableHandle register_hook(
    const NodePtr& node, std::function<variable_list(const variable_list&, const variable_list&)> hook);
RemovableHandle register_prehook(const NodePtr& node, std::function<variable_list(const variable_list&)> hook);

namespace detail {
[[noreturn]] void throw_bad_mode(std::string_view mode, bool takes_list);
}

template <class Hook>
RemovableHandle register_multi_grad_hook(const variable_list& tensors, Hook hook, std::string_view mode) {
  constexpr bool kTakesList = std::is_invocable_v<Hook&, const variable_list&>;
  if (mode != (kTakesList ? "all" : "any")) detail::throw_bad_mode(mode, kTakesList);
  if constexpr (kTakesList) {
    return register_multi_grad_hook(tensors, std::function<void(const variable_list&)>(std::move(hook)));
  } else {
    return register_any_grad_hook(tensors, std::function<void(const at::Tensor&)>(std::move(hook)));
  }
}

}  // namespace torch::autograd::graph
