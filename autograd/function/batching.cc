#include "autograd/function/batching.h"

#include <atomic>

#include "c10/core/thread_state.h"

namespace torch::autograd::detail {
namespace {

constinit std::atomic<const Batching*> the_batching{nullptr};

}  // namespace

void set_batching(const Batching* batching) {
  the_batching.store(batching, std::memory_order_release);
}

const Batching* active_batching() {
  if (C10_LIKELY(!c10::thread_state().included.has(c10::DispatchKey::FuncTorchBatched))) return nullptr;
  return &batching();
}

const Batching& batching() {
  return *the_batching.load(std::memory_order_acquire);
}

}  // namespace torch::autograd::detail
