// Ranges for Intel's profilers (VTune), by the ITT interface.
//
// VTune starts a program with a library of its own in INTEL_LIBITTNOTIFY64, which is opened by the first call here;
// where the variable is not set, nothing happens. Ranges belong to the domain "PyTorch".
#pragma once

#include "aten/core/record_function.h"

namespace torch::profiler::itt {

/// Whether a collector of ranges is there.
bool is_available();
/// A range of this thread, within those that are open, and its end.
void range_push(const char* name);
void range_pop();
/// An event at this moment.
void mark(const char* name);

/// range_push() and range_pop().
class range {
 public:
  explicit range(const char* name) { range_push(name); }
  ~range() { range_pop(); }
  range(const range&) = delete;
  range& operator=(const range&) = delete;
};

}  // namespace torch::profiler::itt

namespace torch::autograd::profiler {

/// While it lives, every operator, node of a backward pass and range of this thread, and of those that work for it, is
/// an ITT range:
///
///   torch::autograd::profiler::emit_itt on(/*enabled=*/true, /*record_shapes=*/true);
///   net(x).sum().backward();      // "aten::mm, seq = 4, sizes = [[2, 3], [3, 4]]" ...
///
/// Throws Error within another one of the thread.
class emit_itt {
 public:
  explicit emit_itt(bool enabled = true, bool record_shapes = false);
  ~emit_itt();
  emit_itt(const emit_itt&) = delete;
  emit_itt& operator=(const emit_itt&) = delete;

 private:
  at::CallbackHandle callback_ = at::INVALID_CALLBACK_HANDLE;
};

}  // namespace torch::autograd::profiler
