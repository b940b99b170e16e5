#include "nn/module/module_hooks.h"

#include "nn/module/backward_hooks.h"
#include "nn/module/hook_lists.h"

namespace torch::nn::detail {

namespace {

// The hooks of all modules. Never destroyed: threads may outlive main().
struct GlobalHooks {
  std::shared_ptr<ModuleHooks> calls = std::make_shared<ModuleHooks>();
  std::shared_ptr<HookList<TensorRegistrationHook>> parameter = std::make_shared<HookList<TensorRegistrationHook>>();
  std::shared_ptr<HookList<TensorRegistrationHook>> buffer = std::make_shared<HookList<TensorRegistrationHook>>();
  std::shared_ptr<HookList<ModuleRegistrationHook>> module = std::make_shared<HookList<ModuleRegistrationHook>>();
};
GlobalHooks& global_hooks() {
  static GlobalHooks& hooks = *new GlobalHooks;
  return hooks;
}

// The global hooks, then the module's own.
template <typename F>
std::vector<Hook<F>> hooks_for(const Module& module, HookList<F> ModuleHooks::*kind, size_t* global = nullptr) {
  std::vector<Hook<F>> all = (global_hooks().calls.get()->*kind).list();
  if (global != nullptr) *global = all.size();
  if (const ModuleHooks* own = hooks_of(module)) {
    std::vector<Hook<F>> more = (own->*kind).list();
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

void check_count(const Module& module, const char* hook, const char* what, size_t got, size_t expected) {
  TORCH_CHECK(got == expected, class_name(module), ": a ", hook, " returned ", got, " tensor(s) in place of ", expected,
              " ", what);
}

// One call of a module with its hooks.
class Run {
 public:
  Run(Module& module, HookedCall& call)
      : module_(module), call_(call), hooks_(hooks_for(module, &ModuleHooks::forward, &global_)) {}

  void forward() {
    try {
      run();
    } catch (...) {
      finish_after_exception();
      throw;
    }
  }

 private:
  void run() {
    TensorWalk reading(inputs_, /*writes=*/false);
    call_.walk_arguments(reading);
    bool replaced = false;
    for (const auto& hook : hooks_for(module_, &ModuleHooks::forward_pre)) {
      Replacement fresh = (*hook.call)(module_, inputs_);
      if (!fresh.has_value()) continue;
      check_count(module_, "forward pre-hook", "argument(s)", fresh->size(), inputs_.size());
      inputs_ = std::move(*fresh);
      replaced = true;
    }
    std::vector<Hook<BackwardPreHook>> backward_pre = hooks_for(module_, &ModuleHooks::backward_pre);
    std::vector<Hook<BackwardHook>> backward = hooks_for(module_, &ModuleHooks::backward);
    std::shared_ptr<BackwardPass> pass;
    if (!backward_pre.empty() || !backward.empty()) {
      pass = std::make_shared<BackwardPass>(module_, std::move(backward_pre), std::move(backward));
      replaced |= pass->watch_inputs(inputs_);
    }
    if (replaced) {
      TensorWalk writing(inputs_, /*writes=*/true);
      call_.walk_arguments(writing);
    }
    const ModuleHooks* const own = hooks_of(module_);
    if (own != nullptr && own->instead != nullptr) {
      const std::shared_ptr<const TensorsCall> instead = own->instead;
      Tensors results = (*instead)(inputs_);
      call_.set_result(results);
    } else {
      if (own != nullptr && !own->computed.empty()) refresh_tensors(module_);
      call_.forward();
    }
    finish(pass.get());
  }

  void finish(BackwardPass* pass) {
    TensorWalk reading(outputs_, /*writes=*/false);
    call_.walk_result(reading);
    bool replaced = false;
    while (next_ < hooks_.size()) replaced |= run_hook(hooks_[next_++]);
    if (pass != nullptr) replaced |= pass->watch_outputs(outputs_);
    if (replaced) {
      TensorWalk writing(outputs_, /*writes=*/true);
      call_.walk_result(writing);
    }
  }

  bool run_hook(const Hook<ForwardHook>& hook) {
    Replacement fresh = (*hook.call)(module_, inputs_, outputs_);
    if (!fresh.has_value()) return false;
    check_count(module_, "forward hook", "result(s)", fresh->size(), outputs_.size());
    outputs_ = std::move(*fresh);
    return true;
  }

  // The hooks that asked to be called in any case and were not yet.
  void finish_after_exception() {
    for (; next_ < hooks_.size(); ++next_) {
      if (!hooks_[next_].always_call) continue;
      try {
        run_hook(hooks_[next_]);
      } catch (const std::exception& e) {
        TORCH_WARN(
            next_ < global_ ? "global module" : "module",
            " forward hook with `always_call=True` raised an exception that was silenced as another error was raised "
            "in forward: ",
            e.what());
      } catch (...) {
        TORCH_WARN("a module's forward hook with `always_call=True` threw, while another error was raised in forward");
      }
    }
  }

  Module& module_;
  HookedCall& call_;
  size_t global_ = 0;
  const std::vector<Hook<ForwardHook>> hooks_;
  size_t next_ = 0;
  Tensors inputs_, outputs_;
};

class Runner final : public HookRunner {
 public:
  bool has_call_hooks(const Module& module) const noexcept override {
    const ModuleHooks* const own = hooks_of(module);
    return (own != nullptr && own->has_call_hooks()) || global_hooks().calls->has_call_hooks();
  }
  void run(Module& module, HookedCall& call) const override { Run(module, call).forward(); }

  void on_parameter(Module& module, const std::string& name, at::Tensor& parameter) const override {
    on_tensor(*global_hooks().parameter, module, name, parameter);
  }
  void on_buffer(Module& module, const std::string& name, at::Tensor& buffer) const override {
    on_tensor(*global_hooks().buffer, module, name, buffer);
  }
  void on_module(Module& module, const std::string& name, std::shared_ptr<Module>& child) const override {
    for (const auto& hook : global_hooks().module->list()) {
      if (auto fresh = (*hook.call)(module, name, child)) child = std::move(fresh);
    }
  }

 private:
  static void on_tensor(const HookList<TensorRegistrationHook>& hooks, Module& module, const std::string& name,
                        at::Tensor& tensor) {
    for (const auto& hook : hooks.list()) {
      if (at::Tensor fresh = (*hook.call)(module, name, tensor); fresh.defined()) tensor = std::move(fresh);
    }
  }
};

// From here on calls and registrations look for hooks.
void switch_on() {
  static const Runner runner;
  hook_runner.store(&runner, std::memory_order_release);
}

template <typename F, typename Owner>
RemovableHandle add(const std::shared_ptr<Owner>& owner, HookList<F>& list, F hook, bool prepend = false,
                    bool always_call = false) {
  TORCH_CHECK_VALUE(hook != nullptr, "a module hook must be callable");
  const uint64_t id = list.add(std::move(hook), prepend, always_call);
  return RemovableHandle([owner = std::weak_ptr<Owner>(owner), &list, id] {
    if (const auto alive = owner.lock()) list.remove(id);
  });
}

std::shared_ptr<ModuleHooks> hooks_to_change(Module* module) {
  if (module == nullptr) return global_hooks().calls;
  std::shared_ptr<HookSet>& set = ModuleAccess::hooks(*module).set;
  if (set == nullptr) set = std::make_shared<ModuleHooks>();
  return std::static_pointer_cast<ModuleHooks>(set);
}

}  // namespace

ModuleHooks& hooks_for_tensors(Module& module) {
  switch_on();
  return *hooks_to_change(&module);
}

uint64_t next_hook_id() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void one_output_expected(const Module& module, size_t outputs) {
  TORCH_CHECK(false, class_name(module), ": a forward hook that takes one tensor was given ", outputs,
              " results; take a std::vector<torch::Tensor>");
  __builtin_unreachable();
}

RemovableHandle add_hook(Module* module, ForwardPreHook hook, bool prepend) {
  const auto hooks = hooks_to_change(module);
  switch_on();
  return add(hooks, hooks->forward_pre, std::move(hook), prepend);
}
RemovableHandle add_hook(Module* module, ForwardHook hook, bool prepend, bool always_call) {
  const auto hooks = hooks_to_change(module);
  switch_on();
  return add(hooks, hooks->forward, std::move(hook), prepend, always_call);
}
RemovableHandle add_backward_pre_hook(Module* module, BackwardPreHook hook, bool prepend) {
  const auto hooks = hooks_to_change(module);
  switch_on();
  return add(hooks, hooks->backward_pre, std::move(hook), prepend);
}
RemovableHandle add_backward_hook(Module* module, BackwardHook hook, bool prepend) {
  const auto hooks = hooks_to_change(module);
  switch_on();
  return add(hooks, hooks->backward, std::move(hook), prepend);
}
RemovableHandle add_hook(Module& module, StateDictPreHook hook) {
  const auto hooks = hooks_to_change(&module);
  return add(hooks, hooks->state_dict_pre, std::move(hook));
}
RemovableHandle add_hook(Module& module, StateDictPostHook hook) {
  const auto hooks = hooks_to_change(&module);
  return add(hooks, hooks->state_dict_post, std::move(hook));
}
RemovableHandle add_hook(Module& module, LoadPreHook hook) {
  const auto hooks = hooks_to_change(&module);
  return add(hooks, hooks->load_pre, std::move(hook));
}
RemovableHandle add_hook(Module& module, LoadPostHook hook) {
  const auto hooks = hooks_to_change(&module);
  return add(hooks, hooks->load_post, std::move(hook));
}
RemovableHandle add_parameter_hook(TensorRegistrationHook hook) {
  switch_on();
  return add(global_hooks().parameter, *global_hooks().parameter, std::move(hook));
}
RemovableHandle add_buffer_hook(TensorRegistrationHook hook) {
  switch_on();
  return add(global_hooks().buffer, *global_hooks().buffer, std::move(hook));
}
RemovableHandle add_module_hook(ModuleRegistrationHook hook) {
  switch_on();
  return add(global_hooks().module, *global_hooks().module, std::move(hook));
}

}  // namespace torch::nn::detail
