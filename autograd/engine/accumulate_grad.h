#pragma once

#include <string>

#include "aten/core/tensor.h"
#include "autograd/engine/node.h"
#include "c10/core/tensor_impl.h"
#include "c10/util/intrusive_ptr.h"

namespace torch::autograd {

// The end of the graph at a leaf: adds what comes in to the leaf's grad. The leaf owns it, it refers to the leaf weakly, and
// the graph shares it. Several backward passes may run it at once.
//
// A first gradient becomes the leaf's grad without a copy where nobody else holds it and it is laid out like the leaf.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const at::TensorBase& leaf);

  std::string name() const override { return "torch::autograd::AccumulateGrad"; }
  void evaluate(at::Tensor* grad, at::Tensor* none) override;
  // The leaf, or an undefined tensor where it is gone.
  at::Tensor variable() const;

 private:
  void add_to(const at::Tensor& leaf, at::Tensor fresh);

  c10::weak_intrusive_ptr<c10::TensorImpl> leaf_;
};

}  // namespace torch::autograd
