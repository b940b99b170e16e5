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
  // While calls are observed: the operator whose derivative is about to call it below autograd, which is the same call.
  const void* recorded_operator = nullptr;
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

/// Below the recording of gradients: what a kernel for the Autograd key holds around the call that it records.
class AutoDispatchBelowAutograd : public ExcludeDispatchKeyGuard {
 public:
  AutoDispatchBelowAutograd() : ExcludeDispatchKeyGuard(kAutogradKey) {}
};

/// Below the keeping of views and versions as well.
class AutoDispatchBelowADInplaceOrView : public ExcludeDispatchKeyGuard {
 public:
  AutoDispatchBelowADInplaceOrView() : ExcludeDispatchKeyGuard(autograd_dispatch_keyset_with_ADInplaceOrView) {}
};

/// Without functionalization.
class AutoDispatchSkipFunctionalize : public ExcludeDispatchKeyGuard {
 public:
  AutoDispatchSkipFunctionalize() : ExcludeDispatchKeyGuard(DispatchKeySet(DispatchKey::Functionalize)) {}
};

/// Replaces the thread's included and excluded keys until the end of the scope.
class ForceDispatchKeyGuard {
 public:
  ForceDispatchKeyGuard() : before_(thread_state()) {}
  ForceDispatchKeyGuard(DispatchKeySet included, DispatchKeySet excluded) : ForceDispatchKeyGuard() {
    thread_state().included = included;
    thread_state().explicitly_excluded = excluded;
    thread_state().update();
  }
  ~ForceDispatchKeyGuard() {
    thread_state().included = before_.included;
    thread_state().explicitly_excluded = before_.explicitly_excluded;
    thread_state().update();
  }
  ForceDispatchKeyGuard(const ForceDispatchKeyGuard&) = delete;
  ForceDispatchKeyGuard& operator=(const ForceDispatchKeyGuard&) = delete;

 private:
  ThreadState before_;
};

namespace impl {
using c10::ExcludeDispatchKeyGuard;
using c10::ForceDispatchKeyGuard;
using c10::IncludeDispatchKeyGuard;

/// The keys that this thread adds to every call and takes from every call, as libtorch counts them: in inference mode
/// those of derivatives are taken, else ADInplaceOrView is added.
struct LocalDispatchKeySet {
  DispatchKeySet included_;
  DispatchKeySet excluded_;
};
inline LocalDispatchKeySet tls_local_dispatch_key_set() {
  const ThreadState& state = thread_state();
  if (state.inference) return {state.included, state.explicitly_excluded | autograd_dispatch_keyset};
  return {state.included | DispatchKeySet(DispatchKey::ADInplaceOrView), state.explicitly_excluded};
}
inline bool tls_is_dispatch_keyset_excluded(DispatchKeySet keys) {
  return tls_local_dispatch_key_set().excluded_.has_all(keys);
}
inline bool tls_is_dispatch_keyset_included(DispatchKeySet keys) {
  return tls_local_dispatch_key_set().included_.has_all(keys);
}
inline bool tls_is_dispatch_key_excluded(DispatchKey key) { return tls_local_dispatch_key_set().excluded_.has(key); }
inline bool tls_is_dispatch_key_included(DispatchKey key) { return tls_local_dispatch_key_set().included_.has(key); }
inline void tls_set_dispatch_key_excluded(DispatchKey key, bool on) {
  ThreadState& state = thread_state();
  state.explicitly_excluded = on ? state.explicitly_excluded.add(key) : state.explicitly_excluded.remove(key);
  state.update();
}
inline void tls_set_dispatch_key_included(DispatchKey key, bool on) {
  ThreadState& state = thread_state();
  state.included = on ? state.included.add(key) : state.included.remove(key);
}
}  // namespace impl

}  // namespace c10

namespace at {
using c10::AutoDispatchBelowADInplaceOrView;
using c10::AutoDispatchBelowAutograd;
using c10::AutoDispatchSkipFunctionalize;
}  // namespace at
