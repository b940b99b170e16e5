#include "autograd/engine/backward_range.h"

#include <utility>
#include <vector>

namespace torch::autograd {

C10_NOINLINE void BackwardRange::open(const at::impl::RangeHooks& hooks, const Node& node, const at::Tensor* gradients) {
  void* const range = hooks.open(at::impl::kBackwardScope);
  if (range == nullptr) return;
  std::vector<c10::IValue> inputs;
  try {
    if (hooks.needs_inputs(range)) inputs.assign(gradients, gradients + node.num_inputs());
    hooks.begin(range, node.name(), std::move(inputs), static_cast<int64_t>(node.sequence_nr()));
  } catch (...) {
    hooks.close(range);
    throw;
  }
  range_ = range;
}

}  // namespace torch::autograd
