// Hooks: functions that a module's calls, backward passes and state dictionaries stop at. They are registered with
// Module::register_forward_hook and its like (module.h), or for all modules at once with the functions of
// torch::nn::modules below. Each registration gives a handle that takes the hook away again.
//
//   using Tensors = std::vector<torch::Tensor>;
//   auto handle = net->register_forward_hook([](torch::nn::Module& m, const Tensors& inputs, const Tensors& outputs) {
//     std::cout << m.name() << " gave " << outputs[0].sizes() << "\n";
//   });
//   net(x);
//   handle.remove();
//
// Arguments, results and their gradients are flattened to lists (module_call.h). A hook returns nothing, or what
// replaces the tensors it was shown: a list of as many, a tuple, an optional of those, or one tensor. An undefined
// tensor alone, or an empty optional, replaces nothing.
//
// Hooks run in the order of registration, those for all modules first; `prepend` puts one before the others. A hook may
// remove itself or others while it runs: calls under way still see those they began with. Registering and removing is
// not to be done while other threads call the module; hooks for all modules may be registered at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/engine/removable_handle.h"
#include "c10/util/exception.h"
#include "nn/module/module_call.h"

namespace torch::nn {

class StateDict;
struct IncompatibleKeys;

// Takes a hook away, at any time, also more than once and after the module is gone.
using torch::utils::hooks::RemovableHandle;

namespace detail {

using Tensors = std::vector<at::Tensor>;
using Replacement = std::optional<Tensors>;
using ForwardPreHook = std::function<Replacement(Module&, const Tensors& inputs)>;
using ForwardHook = std::function<Replacement(Module&, const Tensors& inputs, const Tensors& outputs)>;
using BackwardPreHook = std::function<Replacement(Module&, const Tensors& grad_outputs)>;
using BackwardHook = std::function<Replacement(Module&, const Tensors& grad_inputs, const Tensors& grad_outputs)>;
using StateDictPreHook = std::function<void(Module&, const std::string& prefix, bool keep_vars)>;
using StateDictPostHook = std::function<void(Module&, StateDict& state, const std::string& prefix)>;
using LoadPreHook = std::function<void(
    Module&, StateDict& state, const std::string& prefix, bool strict, std::vector<std::string>& missing_keys,
    std::vector<std::string>& unexpected_keys, std::vector<std::string>& error_msgs)>;
using LoadPostHook = std::function<void(Module&, IncompatibleKeys& keys)>;
using TensorRegistrationHook = std::function<at::Tensor(Module&, const std::string& name, const at::Tensor&)>;
using ModuleRegistrationHook =
    std::function<std::shared_ptr<Module>(Module&, const std::string& name, const std::shared_ptr<Module>&)>;

// `module` null: for all modules.
RemovableHandle add_hook(Module* module, ForwardPreHook hook, bool prepend);
RemovableHandle add_hook(Module* module, ForwardHook hook, bool prepend, bool always_call);
RemovableHandle add_backward_pre_hook(Module* module, BackwardPreHook hook, bool prepend);
RemovableHandle add_backward_hook(Module* module, BackwardHook hook, bool prepend);
RemovableHandle add_hook(Module& module, StateDictPreHook hook);
RemovableHandle add_hook(Module& module, StateDictPostHook hook);
RemovableHandle add_hook(Module& module, LoadPreHook hook);
RemovableHandle add_hook(Module& module, LoadPostHook hook);
RemovableHandle add_parameter_hook(TensorRegistrationHook hook);
RemovableHandle add_buffer_hook(TensorRegistrationHook hook);
RemovableHandle add_module_hook(ModuleRegistrationHook hook);

template <typename F, typename... Args>
Replacement call_hook(F& hook, Module& module, const Args&... args) {
  using R = std::invoke_result_t<F&, Module&, const Args&...>;
  if constexpr (std::is_void_v<R>) {
    hook(module, args...);
    return std::nullopt;
  } else if constexpr (std::is_same_v<R, Replacement>) {
    return hook(module, args...);
  } else {
    auto result = hook(module, args...);
    static_assert(TensorsOf<decltype(result)>::any, "a hook returns nothing, tensors, or an optional of tensors");
    if constexpr (requires { result.has_value(); }) {
      if (!result.has_value()) return std::nullopt;
    }
    Tensors list;
    TensorWalk walk(list, /*writes=*/false);
    walk_tensors(walk, result);
    if (list.size() == 1 && !list[0].defined()) return std::nullopt;
    return list;
  }
}

[[noreturn]] void one_output_expected(const Module& module, size_t outputs);

template <typename F>
ForwardPreHook forward_pre_hook(F hook) {
  return [hook = std::move(hook)](Module& m, const Tensors& inputs) mutable { return call_hook(hook, m, inputs); };
}
// The hook takes the results as a list, or one result as it is.
template <typename F>
ForwardHook forward_hook(F hook) {
  return [hook = std::move(hook)](Module& m, const Tensors& inputs, const Tensors& outputs) mutable {
    if constexpr (std::is_invocable_v<F&, Module&, const Tensors&, const Tensors&>) {
      return call_hook(hook, m, inputs, outputs);
    } else {
      if (outputs.size() > 1) one_output_expected(m, outputs.size());
      return call_hook(hook, m, inputs, outputs.empty() ? at::Tensor() : outputs[0]);
    }
  };
}
template <typename F>
BackwardHook backward_hook(F hook) {
  return [hook = std::move(hook)](Module& m, const Tensors& grad_inputs, const Tensors& grad_outputs) mutable {
    return call_hook(hook, m, grad_inputs, grad_outputs);
  };
}

}  // namespace detail

// Hooks for all modules.
namespace modules {

// `hook(Module&, const Tensors& inputs)`, before each module's own.
template <typename F>
RemovableHandle register_module_forward_pre_hook(F hook) {
  return detail::add_hook(nullptr, detail::forward_pre_hook(std::move(hook)), false);
}
// `hook(Module&, const Tensors& inputs, const Tensors& outputs)`.
template <typename F>
RemovableHandle register_module_forward_hook(F hook, bool always_call = false) {
  return detail::add_hook(nullptr, detail::forward_hook(std::move(hook)), false, always_call);
}
// `hook(Module&, const Tensors& grad_outputs)`.
template <typename F>
RemovableHandle register_module_full_backward_pre_hook(F hook) {
  return detail::add_backward_pre_hook(nullptr, detail::forward_pre_hook(std::move(hook)), false);
}
// `hook(Module&, const Tensors& grad_inputs, const Tensors& grad_outputs)`.
template <typename F>
RemovableHandle register_module_full_backward_hook(F hook) {
  return detail::add_backward_hook(nullptr, detail::backward_hook(std::move(hook)), false);
}
// `hook(Module&, name, tensor)` when a parameter (a buffer) is registered; a defined result takes its place.
inline RemovableHandle register_module_parameter_registration_hook(detail::TensorRegistrationHook hook) {
  return detail::add_parameter_hook(std::move(hook));
}
inline RemovableHandle register_module_buffer_registration_hook(detail::TensorRegistrationHook hook) {
  return detail::add_buffer_hook(std::move(hook));
}
// `hook(Module&, name, child)` when a submodule is registered. A result that is not null takes its place in the list of
// children; the member that the registration's result is assigned to keeps the module that was registered.
inline RemovableHandle register_module_module_registration_hook(detail::ModuleRegistrationHook hook) {
  return detail::add_module_hook(std::move(hook));
}

}  // namespace modules
}  // namespace torch::nn
