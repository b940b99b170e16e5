#pragma once

#include <functional>
#include <utility>

namespace torch::utils::hooks {

/// What registering a hook gives: removes it. Copies remove the same hook; letting go of a handle leaves the hook in place.
///
///   auto handle = w.register_post_accumulate_grad_hook([&](const torch::Tensor& p) { step(p); });
///   ...
///   handle.remove();
class RemovableHandle {
 public:
  RemovableHandle() = default;
  explicit RemovableHandle(std::function<void()> remove) : remove_(std::move(remove)) {}

  /// Nothing where the hook, or what it was registered on, is gone already.
  void remove() {
    if (const std::function<void()> remove = std::exchange(remove_, nullptr)) remove();
  }

 private:
  std::function<void()> remove_;
};

}  // namespace torch::utils::hooks
