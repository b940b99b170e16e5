#pragma once

#include <sys/single_threaded.h>

#include <cstdint>

#include "autograd/engine/fork.h"
#include "autograd/engine/node.h"
#include "autograd/engine/pass.h"

namespace torch::autograd {

// A pass in a node. Several that keep the graph may be in one at once; one that will free what the node saved is alone there,
// so that of several such passes the first finds the saved tensors and all others find them freed.
class NodeGate {
 public:
  // Waits, where it must, for other passes to leave `node`, but not for `outer`, `below` and the frames that these are run
  // from: they go on after this.
  NodeGate(Node& node, bool frees, const Frame* outer, const Frame* below = nullptr) : gate_(node.gate_) {
    uint32_t seen = gate_.load<c10::MemoryOrder::relaxed>();
    if (seen == kSavesNothing) return;
    if (C10_LIKELY(seen == 0)) {
      const uint32_t wanted = entered(frees, 0);
      if (__libc_single_threaded) {
        gate_.store<c10::MemoryOrder::relaxed>(wanted);
        inside_ = frees ? kAlone : kOneInside;
        return;
      }
      if (C10_LIKELY(gate_.compare_exchange(seen, wanted))) {
        inside_ = frees ? kAlone : kOneInside;
        return;
      }
    }
    inside_ = wait(frees, node, outer, below);
  }
  ~NodeGate() {
    if (inside_ == kAlone) {
      gate_.store(0);
    } else if (inside_ == kOneInside) {
      gate_.fetch_sub(kOneInside);
    }
  }
  NodeGate(const NodeGate&) = delete;
  NodeGate& operator=(const NodeGate&) = delete;

  // Whether what the node saved may be freed now: nobody else reads it.
  bool may_free() const noexcept { return inside_ == kAlone; }

  // The gate of a node that has nothing to free.
  static constexpr uint32_t kSavesNothing = uint32_t{1} << 30;

 private:
  // Bits 0 to 7: how many are inside that keep the graph. Bits 8 to 29: in which process, by fork_generation: those of the
  // parent never leave. Bit 31: one is inside that frees it.
  static constexpr uint32_t kOneInside = 1;
  static constexpr uint32_t kInside = 0xff;
  static constexpr uint32_t kGeneration = 0x3fffff00;
  static constexpr uint32_t kAlone = uint32_t{1} << 31;

  static uint32_t generation() noexcept { return fork_generation.load<c10::MemoryOrder::relaxed>() << 8 & kGeneration; }
  static uint32_t entered(bool frees, uint32_t inside) noexcept {
    return generation() | (frees ? kAlone : inside + kOneInside);
  }
  uint32_t wait(bool frees, const Node& node, const Frame* outer, const Frame* below);

  c10::Atomic<uint32_t>& gate_;
  uint32_t inside_ = 0;
};

}  // namespace torch::autograd
