#include "autograd/engine/node_gate.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace torch::autograd {
namespace {

// Whether one of the two or of the frames that these are run from evaluates `node`.
bool is_evaluated_by(const Frame* outer, const Frame* below, const Node& node) {
  std::vector<const Frame*> waiting{outer, below};
  for (size_t i = 0; i < waiting.size(); ++i) {
    const Frame* const next = waiting[i];
    if (next == nullptr) continue;
    if (next->node == &node) return true;
    for (const Frame* further : {next->outer, next->below}) {
      if (std::find(waiting.begin(), waiting.end(), further) == waiting.end()) waiting.push_back(further);
    }
  }
  return false;
}

}  // namespace

C10_NOINLINE uint32_t NodeGate::wait(bool frees, const Node& node, const Frame* outer, const Frame* below) {
  // A pass inside the node's own evaluation reads beside it, and frees nothing that the outer one still needs.
  if (is_evaluated_by(outer, below, node)) return 0;
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
