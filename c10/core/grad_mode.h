#pragma once

#include "c10/core/thread_state.h"

namespace c10 {

// Whether this thread records operations for differentiation. On at start.
struct GradMode {
  static bool is_enabled() { return thread_state().grad_enabled; }
  static void set_enabled(bool enabled) {
    thread_state().grad_enabled = enabled;
    thread_state().update();
  }
};

// Switches recording on or off until the end of the scope.
class AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled) : before_(GradMode::is_enabled()) { GradMode::set_enabled(enabled); }
  ~AutoGradMode() { GradMode::set_enabled(before_); }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool before_;
};

// No recording until the end of the scope.
//
//   { torch::NoGradGuard no_grad; weight.sub_(grad * 0.1); }
class NoGradGuard : public AutoGradMode {
 public:
  NoGradGuard() : AutoGradMode(false) {}
};

// Whether this thread computes forward-mode derivatives of dual tensors; independent of GradMode.
class AutoFwGradMode {
 public:
  explicit AutoFwGradMode(bool enabled) : before_(thread_state().fw_grad_enabled) { set(enabled); }
  ~AutoFwGradMode() { set(before_); }
  AutoFwGradMode(const AutoFwGradMode&) = delete;
  AutoFwGradMode& operator=(const AutoFwGradMode&) = delete;

 private:
  static void set(bool enabled) {
    thread_state().fw_grad_enabled = enabled;
    thread_state().update();
  }
  bool before_;
};

// In inference mode nothing is recorded and tensors made are inference tensors: no version counting, no view tracking. They
// can never take part in a recorded computation.
class InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true)
      : inference_before_(thread_state().inference), grad_before_(thread_state().grad_enabled) {
    thread_state().inference = enabled;
    thread_state().grad_enabled = !enabled;
    thread_state().update();
  }
  ~InferenceMode() {
    thread_state().inference = inference_before_;
    thread_state().grad_enabled = grad_before_;
    thread_state().update();
  }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;

  static bool is_enabled() { return thread_state().inference; }

 private:
  bool inference_before_;
  bool grad_before_;
};

}  // namespace c10
