#include "nn/module/replacement.h"

#include <utility>

#include "nn/module/hook_lists.h"

namespace torch::nn {

void call_instead(Module& module, TensorsCall call) {
  detail::hooks_for_tensors(module).instead =
      call == nullptr ? nullptr : std::make_shared<const TensorsCall>(std::move(call));
}

void call_instead(Module& module, AnyModule other) {
  TORCH_CHECK(!other.is_empty() && other.ptr().get() != &module, detail::class_name(module),
              ": another module is needed to be called instead");
  call_instead(module, [other = std::move(other)](const std::vector<at::Tensor>& arguments) mutable {
    at::Tensor result;
    TORCH_CHECK(arguments.size() == 1 && other.forward_tensor(arguments[0], result), detail::class_name(*other.ptr()),
                ": expected one tensor, but it is called in place of a module of ", arguments.size(), " arguments");
    return std::vector<at::Tensor>{std::move(result)};
  });
}

bool is_replaced(const Module& module) {
  const detail::ModuleHooks* const hooks = detail::hooks_of(module);
  return hooks != nullptr && hooks->instead != nullptr;
}

namespace {

template <typename F>
void move_hooks(detail::HookList<F>& from, detail::HookList<F>& to) {
  for (const auto& hook : from.list()) {
    to.add(F(*hook.call), /*prepend=*/false, hook.always_call);
    from.remove(hook.id);
  }
}

template <typename F, typename Condition>
void remove_hooks(detail::HookList<F>& list, const Condition& condition) {
  for (const auto& hook : list.list()) {
    if (condition(*hook.call)) list.remove(hook.id);
  }
}

}  // namespace

void move_forward_hooks(Module& from, Module& to) {
  if (detail::hooks_of(from) == nullptr) return;
  detail::ModuleHooks &source = detail::hooks_for_tensors(from), &target = detail::hooks_for_tensors(to);
  move_hooks(source.forward_pre, target.forward_pre);
  move_hooks(source.forward, target.forward);
}

void remove_forward_hooks(Module& module) {
  if (detail::hooks_of(module) == nullptr) return;
  detail::ModuleHooks& hooks = detail::hooks_for_tensors(module);
  const auto all = [](const auto&) { return true; };
  remove_hooks(hooks.forward_pre, all);
  remove_hooks(hooks.forward, all);
}

void remove_forward_hooks(Module& module, const std::type_info& type) {
  if (detail::hooks_of(module) == nullptr) return;
  remove_hooks(detail::hooks_for_tensors(module).forward,
               [&](const detail::ForwardHook& hook) { return hook.target_type() == type; });
}

namespace detail {

void attach(Module& module, std::type_index type, std::shared_ptr<const void> value) {
  auto& all = hooks_for_tensors(module).attached;
  if (value == nullptr) {
    all.erase(type);
  } else {
    all[type] = std::move(value);
  }
}

const void* attached(const Module& module, std::type_index type) {
  const ModuleHooks* const hooks = hooks_of(module);
  if (hooks == nullptr) return nullptr;
  const auto found = hooks->attached.find(type);
  return found == hooks->attached.end() ? nullptr : found->second.get();
}

}  // namespace detail
}  // namespace torch::nn
