#pragma once

#include "aten/core/range_hooks.h"
#include "autograd/engine/node.h"

namespace torch::autograd {

// The evaluation of a node as a range of at::RecordScope::BACKWARD_FUNCTION, with the node's name and number and, for those who
// ask for inputs, the gradients that come in.
class BackwardRange {
 public:
  BackwardRange(const Node& node, const at::Tensor* gradients) {
    if (const at::impl::RangeHooks* hooks = at::impl::range_hooks(); C10_UNLIKELY(hooks != nullptr)) {
      open(*hooks, node, gradients);
    }
  }
  ~BackwardRange() {
    if (C10_UNLIKELY(range_ != nullptr)) at::impl::range_hooks()->close(range_);
  }
  BackwardRange(const BackwardRange&) = delete;
  BackwardRange& operator=(const BackwardRange&) = delete;

 private:
  void open(const at::impl::RangeHooks& hooks, const Node& node, const at::Tensor* gradients);

  void* range_ = nullptr;
};

}  // namespace torch::autograd
