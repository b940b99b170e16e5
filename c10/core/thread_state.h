#pragma once

#include "c10/core/dispatch_key_set.h"

namespace c10 {

// What a thread has switched on and off: one constant-initialised, trivially destructible block, so that reading it costs
// one thread-local load and no guard.
struct ThreadState {
  // Keys every call handles, and keys no call handles. `excluded` is what the call path reads: the explicitly excluded
  // keys and, where gradients are off, Autograd; where forward-mode derivatives are off, ForwardAD.
  DispatchKeySet included;
  DispatchKeySet excluded;
  DispatchKeySet explicitly_excluded;
  bool grad_enabled = true;
  bool inference = false;
  bool fw_grad_enabled = true;

  void update() {
    excluded = explicitly_excluded;
    if (!grad_enabled || inference) excluded |= kAutogradKey;
    if (!fw_grad_enabled || inference) excluded |= kForwardKey;
  }
};

namespace detail {
extern thread_local constinit ThreadState thread_state_storage
#if defined(__PIC__) && !defined(__PIE__)
    __attribute__((tls_model("initial-exec")))
#endif
    ;
}  // namespace detail

inline ThreadState& thread_state() {
  return detail::thread_state_storage;
}

// Calls made while the guard lives skip `keys`; the previous state comes back at its end.
class ExcludeDispatchKeyGuard {
 public:
  explicit ExcludeDispatchKeyGuard(DispatchKeySet keys)
      : state_(thread_state()), before_(state_.explicitly_excluded) {
    state_.explicitly_excluded |= keys;
    state_.excluded |= keys;
  }
  ~ExcludeDispatchKeyGuard() {
    state_.explicitly_excluded = before_;
    state_.update();
  }
  ExcludeDispatchKeyGuard(const ExcludeDispatchKeyGuard&) = delete;
  ExcludeDispatchKeyGuard& operator=(const ExcludeDispatchKeyGuard&) = delete;

 private:
  ThreadState& state_;
  DispatchKeySet before_;
};

// Calls made while the guard lives pass through `keys` as well.
class IncludeDispatchKeyGuard {
 public:
  explicit IncludeDispatchKeyGuard(DispatchKeySet keys)
      : state_(thread_state()), before_(state_.included) {
    state_.included |= keys;
  }
  ~IncludeDispatchKeyGuard() { state_.included = before_; }
  IncludeDispatchKeyGuard(const IncludeDispatchKeyGuard&) = delete;
  IncludeDispatchKeyGuard& operator=(const IncludeDispatchKeyGuard&) = delete;

 private:
  ThreadState& state_;
  DispatchKeySet before_;
};

// What a derivative's wrapper holds around the kernel it records.
class AutoDispatchBelowAutograd : public ExcludeDispatchKeyGuard {
 public:
  AutoDispatchBelowAutograd() : ExcludeDispatchKeyGuard(kAutogradKey) {}
};

}  // namespace c10
