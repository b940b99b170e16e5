#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aten/core/tensor.h"
#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/generic_node.h"
#include "autograd/engine/node.h"
#include "autograd/engine/saved_variable.h"
#include "c10/core/grad_mode.h"
#include "c10/core/thread_state.h"

// What the generated wrappers of differentiable operators call. A wrapper has this shape:
//
//   Tensor mul_Tensor_autograd(const Tensor& self, const Tensor& other) {
//     GenericNode::Ptr node;
//     if (any_requires_grad(self, other)) {
//       node = GenericNode::make(kMulTensor, {.edges = 2, .saved = 2});
//       node->set_edge(0, self);
//       node->set_edge(1, other);
//       if (node->needs(1)) node->save(0, self);
//       if (node->needs(0)) node->save(1, other);
//     }
//     Tensor result = [&] {
//       c10::AutoDispatchBelowAutograd below;
//       return <the operator>(self, other);
//     }();
//     if (node) set_history(result, node);        // then node->save_output(k, result, 0) where a formula uses `result`
//     return result;
//   }
//
// and in place
//
//   Tensor& mul__Tensor_autograd(Tensor& self, const Tensor& other) {
//     const bool record = any_requires_grad(self, other);
//     check_inplace(self, record, "mul_");
//     ... node as above, but with   if (node->needs(1)) node->save(0, saved_before_inplace(self));
//     { c10::AutoDispatchBelowAutograd below; <the operator>(self, other); }
//     if (node) rebase_history(self, node);       // then save_output where a formula uses `result`
//     return self;
//   }
//
// The wrapper runs only where gradients are on (NoGrad and inference mode exclude the Autograd key).
namespace torch::autograd {

inline bool requires_grad(const std::optional<at::Tensor>& t) {
  return t.has_value() && requires_grad(static_cast<const at::TensorBase&>(*t));
}
bool requires_grad(at::TensorList tensors);
bool requires_grad(const c10::List<std::optional<at::Tensor>>& tensors);
inline bool requires_grad(const std::vector<at::Tensor>& tensors) { return requires_grad(at::TensorList(tensors)); }

template <class... Tensors>
bool any_requires_grad(const Tensors&... tensors) {
  return (requires_grad(tensors) || ...);
}

// Makes `result` the node's result number `output_nr`. Results whose dtype has no derivative and undefined ones are left
// alone. A view keeps its base; it is from now on differentiated through this node.
void set_history(const at::Tensor& result, const NodePtr& node, uint32_t output_nr);
void set_history(const at::Tensor& result, const GenericNode::Ptr& node, uint32_t output_nr = 0);
// Results number first_nr, first_nr + 1, ...
void set_history(at::TensorList results, const GenericNode::Ptr& node, uint32_t first_nr = 0);
// As above for several views of one tensor (split, chunk, unbind): they may not be modified in place.
void set_multi_view_history(at::TensorList views, const GenericNode::Ptr& node, uint32_t first_nr = 0);

// Before an operator writes into `self`, whose result will be recorded if `record`: throws where that cannot be
// differentiated: a leaf that requires a gradient ("a leaf Variable that requires grad is being used in an in-place
// operation."), a view of one, a view made where gradients were off, one of several views.
void check_inplace(const at::Tensor& self, bool record);
void check_inplace(at::TensorList self, bool record);
// After it: `self` is now the node's result `output_nr`. Where `self` is a view, its base is made the result of a CopySlices
// node around this one, and other views of that base find their new history when they are next asked.
void rebase_history(const at::Tensor& self, const GenericNode::Ptr& node, uint32_t output_nr = 0);
void rebase_history(at::TensorList self, const GenericNode::Ptr& node, uint32_t first_nr = 0);
// For user-defined nodes, whose result metadata is added here.
void rebase_history(const at::Tensor& self, const NodePtr& node, uint32_t output_nr);

// What an in-place wrapper saves in place of `self`: a copy with the same history.
at::Tensor saved_before_inplace(const at::Tensor& self);

// For `out=` wrappers: throws "add(): functions with out=... arguments don't support automatic differentiation, but one of
// the arguments requires grad." where `any`.
void check_no_grad_for_out(const char* operator_name, bool any);

// The node of an operator that has no derivative: throws "the derivative for '<name>' is not implemented." in backward.
GenericNode::Ptr make_not_implemented_node(const char* operator_name, uint32_t edges, uint32_t results);

// Helpers of generated formulas.
// The saved tensors first, first+1, ... first+count-1.
std::vector<at::Tensor> unpack_list(GenericNode& node, size_t first, size_t count);
// grads[0..n) with zeros in place of undefined ones.
std::vector<at::Tensor> materialize_grads(GenericNode& node, const at::Tensor* grads);
inline bool any_defined(const at::Tensor* grads, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (grads[i].defined()) return true;
  }
  return false;
}
// Writes the gradients of a list argument whose edges start at `first`.
void put_list(GenericNode& node, at::Tensor* grad_inputs, size_t first, std::vector<at::Tensor>&& grads);

}  // namespace torch::autograd
