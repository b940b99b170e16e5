#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "c10/core/thread_state.h"
#include "c10/util/intrusive_ptr.h"

namespace at {

namespace impl {

/// What a library above this one keeps per thread and wants carried along: `get` reads it, `set` makes a value read before
/// that of the calling thread. Null stands for a thread that set nothing.
struct ThreadLocalPart {
  using Value = c10::intrusive_ptr<c10::intrusive_ptr_target>;
  Value (*get)();
  void (*set)(const Value& value);
};

/// Adds a part before main. There is room for kMaxThreadLocalParts.
inline constexpr size_t kMaxThreadLocalParts = 12;
bool register_thread_local_part(ThreadLocalPart part);

}  // namespace impl

/// What a thread has switched on: gradient, forward-mode and inference modes, excluded and included dispatch keys (autocast
/// among them), the stack of at::DispatchMode, callbacks of record_function, default hooks of saved tensors, the forward-mode
/// level. A copy is made where work is handed out, and holds in the thread that does
/// it for as long as a guard lives there:
///
///   at::ThreadLocalState state;
///   std::thread worker([state] {
///     at::ThreadLocalStateGuard guard(state);
///     ...
///   });
class ThreadLocalState {
 public:
  /// Reads the calling thread's.
  ThreadLocalState();

  /// The same with recording for gradients on or off.
  void set_grad_mode(bool enabled);

  /// Makes `state` the calling thread's.
  static void setThreadLocalState(const ThreadLocalState& state);

 private:
  c10::ThreadState own_;
  impl::ThreadLocalPart::Value parts_[impl::kMaxThreadLocalParts];
};

/// `state` until the end of the scope; then what was before.
class ThreadLocalStateGuard {
 public:
  explicit ThreadLocalStateGuard(const ThreadLocalState& state) { ThreadLocalState::setThreadLocalState(state); }
  ~ThreadLocalStateGuard() { ThreadLocalState::setThreadLocalState(before_); }
  ThreadLocalStateGuard(const ThreadLocalStateGuard&) = delete;
  ThreadLocalStateGuard& operator=(const ThreadLocalStateGuard&) = delete;

 private:
  const ThreadLocalState before_;
};

/// `callback`, to be called in any thread as if in this one.
///
///   pool.submit(at::wrapPropagateTLSState([&] { y = model(x); }));
template <class F>
auto wrapPropagateTLSState(F callback) {
  return [state = ThreadLocalState(), callback = std::move(callback)](auto&&... args) mutable -> decltype(auto) {
    ThreadLocalStateGuard guard(state);
    return callback(std::forward<decltype(args)>(args)...);
  };
}

}  // namespace at
