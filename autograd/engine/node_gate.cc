#include "autograd/engine/node_gate.h"

#include <chrono>
#include <thread>

namespace torch::autograd {
namespace {

bool is_evaluated_by(const Frame* frame, const Node& node) {
  for (; frame != nullptr; frame = frame->outer) {
    if (frame->node == &node) return true;
  }
  return false;
}

}  // namespace

C10_NOINLINE uint32_t NodeGate::wait(bool frees, const Node& node, const Frame* outer) {
  // A pass inside the node's own evaluation reads beside it, and frees nothing that the outer one still needs.
  if (is_evaluated_by(outer, node)) return 0;
  for (uint32_t turn = 0;; ++turn) {
    uint32_t seen = gate_.load();
    const bool stale = (seen & kGeneration) != generation();
    const uint32_t inside = stale ? 0 : seen & kInside;
    const bool taken = !stale && (seen & kAlone) != 0;
    if (!taken && (frees ? inside == 0 : inside < kInside)) {
      if (gate_.compare_exchange(seen, entered(frees, inside))) return frees ? kAlone : kOneInside;
      continue;
    }
    // Passes meet in a node by chance and for the time of one kernel.
    if (turn < 64) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

}  // namespace torch::autograd
