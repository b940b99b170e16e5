#pragma once

#include "c10/dispatch/registry.h"

namespace at {

/// A handler of every operator that the thread calls while it is pushed, below autograd and above the backends: it sees
/// matmul's mm, not matmul, and gradients are recorded as without it. Modes form a stack; the last one pushed is asked first,
/// and while it works it is not on the stack, so that what it calls goes to the one before.
///
///   struct Count final : at::DispatchMode {
///     void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) override {
///       ++calls[toString(op.operator_name())];
///       op.callBoxed(stack);
///     }
///   };
///   Count count;
///   at::DispatchModeGuard on(count);
///
/// Threads that work for this one with its at::ThreadLocalState have the same stack, such as those that run backward passes on
/// devices: `handle` may be called in several threads at once, and the mode must live until they are done.
class DispatchMode {
 public:
  virtual ~DispatchMode() = default;
  /// Replaces the arguments on the stack by the results. `keys` are those of the call, without the mode's own.
  virtual void handle(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) = 0;
};

/// Pushes a mode, which it does not own, until the end of the scope.
class DispatchModeGuard {
 public:
  explicit DispatchModeGuard(DispatchMode& mode);
  ~DispatchModeGuard();
  DispatchModeGuard(const DispatchModeGuard&) = delete;
  DispatchModeGuard& operator=(const DispatchModeGuard&) = delete;
};

/// How many modes are on this thread's stack.
size_t dispatch_mode_depth();

}  // namespace at
