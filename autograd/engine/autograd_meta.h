#pragma once

#include <cstddef>
#include <cstdint>

#include "aten/core/tensor.h"
#include "autograd/engine/edge.h"
#include "autograd/engine/node.h"
#include "c10/core/tensor_impl.h"
#include "c10/util/atomic.h"

namespace torch::autograd {

struct ForwardGrad;

// What autograd knows of one tensor. A leaf that requires a gradient has no grad_fn and accumulates into `grad`; a result of
// a recorded operation has a grad_fn and is its result number `output_nr`.
class AutogradMeta final : public c10::AutogradMetaInterface {
 public:
  AutogradMeta() noexcept = default;
  ~AutogradMeta() override;
  static void* operator new(size_t bytes);
  static void operator delete(void* p, size_t bytes) noexcept;

  bool requires_grad(const c10::TensorImpl& self) const override;
  // False makes any tensor a leaf without a gradient; what refuses that to results is Tensor::set_requires_grad.
  void set_requires_grad(bool requires_grad, c10::TensorImpl& self) override;
  at::Tensor& mutable_grad() override { return grad_; }
  const at::Tensor& grad() const override { return grad_; }
  void detach(c10::TensorImpl& self) override;

  NodePtr grad_fn_;
  at::Tensor grad_;
  // The leaf's node (an owned reference) or null; set once, by whoever records with the leaf first.
  c10::Atomic<Node*> accumulator_{nullptr};
  // Hook keys of the tensor's hooks by position, for remove_hook; null without hooks.
  struct HookKeys;
  HookKeys* hook_keys_ = nullptr;
  // The tensor's tangent (autograd/engine/forward_grad.h), or null.
  ForwardGrad* forward_grad_ = nullptr;
  uint32_t output_nr_ = 0;
  bool requires_grad_ = false;  // of a leaf
  bool retains_grad_ = false;
};

// The tensor's meta, or null.
inline AutogradMeta* meta_of(const at::TensorBase& t) noexcept {
  return static_cast<AutogradMeta*>(t.unsafeGetTensorImpl()->autograd_meta());
}
// The tensor's meta, made where there is none.
AutogradMeta& materialize_meta(const at::TensorBase& t);

// Whether `t` takes part in a recorded computation; false for undefined ones.
inline bool requires_grad(const at::TensorBase& t) { return t.requires_grad(); }

// Whether tensors of a dtype have gradients.
inline bool is_differentiable_type(c10::ScalarType dtype) {
  return c10::isFloatingType(dtype) || c10::isComplexType(dtype);
}

// Whether the view was made where nothing was recorded: it has no history.
inline bool is_detached_view(const c10::TensorImpl& view) {
  return view.creation_meta() == c10::CreationMeta::kNoGrad || view.creation_meta() == c10::CreationMeta::kInference;
}
// Refuses to write to a view that may not be written to (`indirect`: whose base, or another view of it, has been).
[[noreturn]] void throw_view_inplace(const at::TensorBase& view, bool indirect);

// The operation that made `t`, or an empty pointer for a leaf. For a view whose base was modified in place since, this is an
// AsStridedBackward0 node made here.
const NodePtr& grad_fn(const at::TensorBase& t);
// Where a gradient for `t` goes: its grad_fn, or the accumulating node of a leaf, or nowhere.
Edge gradient_edge(const at::TensorBase& t);
// The node that adds to t.grad(), made where there is none; empty where `t` is no leaf that requires a gradient.
NodePtr grad_accumulator(const at::TensorBase& t);
// As above, without making one.
NodePtr try_get_grad_accumulator(const at::TensorBase& t);
// Makes `t` result `edge.input_nr` of `edge.function`.
void set_gradient_edge(const at::TensorBase& t, Edge edge);

}  // namespace torch::autograd
