#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "autograd/engine/saved_variable.h"

namespace torch::autograd {

/// The hooks that tensors saved by this thread pass through: a stack, of which the top holds. Threads that work for this one
/// with its at::ThreadLocalState see the same.
struct SavedTensorDefaultHooks {
  /// Makes the hooks of one saved tensor.
  using Factory = std::function<std::unique_ptr<SavedVariableHooks>()>;

  /// Throws the message of disable() where that holds.
  static void push_hooks(Factory make);
  static void pop_hooks();
  /// Forbids hooks in this thread: push_hooks throws `error_message` until enable(). Throws it itself where hooks are pushed
  /// already.
  static void disable(const std::string& error_message);
  static void enable();
  static bool is_enabled();
  static std::optional<std::string> get_disabled_error_message();
};

/// Makes every tensor saved by this thread, while the object lives, pass through hooks that `make` creates (one a tensor).
class SavedTensorsHooksGuard {
 public:
  explicit SavedTensorsHooksGuard(SavedTensorDefaultHooks::Factory make) {
    SavedTensorDefaultHooks::push_hooks(std::move(make));
  }
  ~SavedTensorsHooksGuard() { SavedTensorDefaultHooks::pop_hooks(); }
  SavedTensorsHooksGuard(const SavedTensorsHooksGuard&) = delete;
  SavedTensorsHooksGuard& operator=(const SavedTensorsHooksGuard&) = delete;
};

}  // namespace torch::autograd

namespace at {
using torch::autograd::SavedTensorDefaultHooks;
}
