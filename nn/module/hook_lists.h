// The lists behind module_hooks.h. For the files of this folder.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <typeindex>
#include <utility>
#include <vector>

#include "nn/module/computed_tensor.h"
#include "nn/module/module_access.h"
#include "nn/module/replacement.h"

namespace torch::nn {

namespace detail {

uint64_t next_hook_id();

template <typename F>
struct Hook {
  uint64_t id;
  std::shared_ptr<const F> call;
  bool always_call;
};

// Hooks of one kind. Calls work on a copy, so that hooks may come and go meanwhile.
template <typename F>
class HookList final {
 public:
  HookList() = default;
  HookList(const HookList& other) : hooks_(other.list()) { count_ = hooks_.size(); }

  uint64_t add(F call, bool prepend, bool always_call = false) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const uint64_t id = next_hook_id();
    hooks_.insert(prepend ? hooks_.begin() : hooks_.end(),
                  Hook<F>{id, std::make_shared<const F>(std::move(call)), always_call});
    count_ = hooks_.size();
    return id;
  }
  void remove(uint64_t id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(hooks_, [id](const Hook<F>& hook) { return hook.id == id; });
    count_ = hooks_.size();
  }
  std::vector<Hook<F>> list() const {
    if (empty()) return {};
    const std::lock_guard<std::mutex> lock(mutex_);
    return hooks_;
  }
  bool empty() const noexcept { return count_.load(std::memory_order_acquire) == 0; }

 private:
  mutable std::mutex mutex_;
  std::vector<Hook<F>> hooks_;
  std::atomic<size_t> count_{0};
};

struct ComputedMember {
  std::string name;
  std::shared_ptr<const TensorRule> rule;
};

// All hooks of one module.
struct ModuleHooks final : HookSet {
  std::shared_ptr<HookSet> copy() const override { return std::make_shared<ModuleHooks>(*this); }
  bool has_call_hooks() const noexcept {
    return instead != nullptr || !computed.empty() || !forward_pre.empty() || !forward.empty() ||
           !backward_pre.empty() || !backward.empty();
  }

  HookList<ForwardPreHook> forward_pre;
  HookList<ForwardHook> forward;
  HookList<BackwardPreHook> backward_pre;
  HookList<BackwardHook> backward;
  HookList<StateDictPreHook> state_dict_pre;
  HookList<StateDictPostHook> state_dict_post;
  HookList<LoadPreHook> load_pre;
  HookList<LoadPostHook> load_post;
  // The members that a rule computes (computed_tensor.h), and the tensors that were registered without a member.
  std::vector<ComputedMember> computed;
  std::vector<std::string> without_member;
  // What is called in place of forward, and what is kept with the module (replacement.h).
  std::shared_ptr<const TensorsCall> instead;
  std::map<std::type_index, std::shared_ptr<const void>> attached;
};

inline const ModuleHooks* hooks_of(const Module& module) {
  return static_cast<const ModuleHooks*>(ModuleAccess::hooks(module).set.get());
}

// The hooks of a module that is to have some; calls look for them from here on.
ModuleHooks& hooks_for_tensors(Module& module);

}  // namespace detail
}  // namespace torch::nn
