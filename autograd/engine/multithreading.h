#pragma once

namespace torch::autograd {

/// Until the end of the scope, whether backward passes of this thread run the nodes of a device in that device's thread
/// (true, as without a guard) or, as those of the CPU, in this one: torch.autograd.set_multithreading_enabled. Streams
/// are the same in both. For what a thread alone sees of itself, such as a recording of its calls.
///
///   { MultithreadingGuard in_this_thread(false); loss.backward(); }
class MultithreadingGuard {
 public:
  explicit MultithreadingGuard(bool enabled);
  ~MultithreadingGuard();
  MultithreadingGuard(const MultithreadingGuard&) = delete;
  MultithreadingGuard& operator=(const MultithreadingGuard&) = delete;

 private:
  const bool before_;
};

}  // namespace torch::autograd
