// What operators written outside this library record themselves with:
//
//   at::Tensor twice(const at::Tensor& x) {
//     const bool record = torch::autograd::compute_requires_grad(x);
//     at::Tensor y;
//     { at::AutoDispatchBelowADInplaceOrView below; y = x * 2; }
//     if (record) {
//       auto node = c10::make_intrusive<TwiceBackward>();        // a Node
//       node->set_next_edges(torch::autograd::collect_next_edges(x));
//       torch::autograd::set_history(y, node);
//     }
//     return y;
//   }
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/node.h"
#include "c10/core/grad_mode.h"

namespace torch::autograd {

/// Whether one of the tensors requires a gradient.
bool any_variable_requires_grad(const variable_list& variables);

namespace graph_building {
inline bool requires_gradient(const at::TensorBase& t) { return t.requires_grad(); }
inline bool requires_gradient(const std::optional<at::Tensor>& t) { return t.has_value() && t->requires_grad(); }
template <class Tensors>
  requires(!std::is_convertible_v<const Tensors&, const at::TensorBase&>) && requires(const Tensors& ts) { ts.begin(); }
bool requires_gradient(const Tensors& ts) {
  for (const auto& t : ts) {
    if (requires_gradient(t)) return true;
  }
  return false;
}

inline void append(variable_list& list, const at::Tensor& t) { list.push_back(t); }
inline void append(variable_list& list, const std::optional<at::Tensor>& t) {
  if (t.has_value()) list.push_back(*t);
}
template <class Tensors>
  requires(!std::is_convertible_v<const Tensors&, const at::Tensor&>) && requires(const Tensors& ts) { ts.begin(); }
void append(variable_list& list, const Tensors& ts) {
  for (const auto& t : ts) append(list, t);
}

// The count of a node that a std::shared_ptr holds.
NodePtr counted(const std::shared_ptr<Node>& node);
}  // namespace graph_building

/// Whether a call with these arguments (tensors, optional ones, lists of them) is recorded: gradients are on and one of them
/// requires one.
template <class... Args>
bool compute_requires_grad(const Args&... args) {
  return at::GradMode::is_enabled() && (graph_building::requires_gradient(args) || ...);
}

/// The arguments' tensors, one after another.
template <class... Args>
variable_list flatten_tensor_args(const Args&... args) {
  variable_list list;
  (graph_building::append(list, args), ...);
  return list;
}

/// Makes `variable` the next result of the node. Throws c10::Error without a node.
void set_history(const at::Tensor& variable, const NodePtr& grad_fn);
void set_history(const variable_list& variables, const NodePtr& grad_fn);

/// The deleter of a node that a std::shared_ptr holds, as programs from before PyTorch 2 write it: the graph may go on using
/// the node when the pointer has gone.
///
///   std::shared_ptr<TwiceBackward> node(new TwiceBackward(), torch::autograd::deleteNode);
void deleteNode(Node* node);
/// The same for such a node. Throws c10::Error where its deleter is another.
template <class T>
  requires std::is_base_of_v<Node, T>
void set_history(const at::Tensor& variable, const std::shared_ptr<T>& grad_fn) {
  set_history(variable, graph_building::counted(grad_fn));
}
template <class T>
  requires std::is_base_of_v<Node, T>
void set_history(const variable_list& variables, const std::shared_ptr<T>& grad_fn) {
  set_history(variables, graph_building::counted(grad_fn));
}
/// The same of a tensor without a history of its own.
void create_gradient_edge(at::Tensor& variable, NodePtr function);

/// Counts a change in place: backward through what saved the tensor before throws.
void increment_version(const at::Tensor& t);

/// libtorch's names of what belongs to a tensor.
namespace impl {
/// Where a gradient for the tensor goes, its node or, for a leaf, the one that accumulates.
using autograd::gradient_edge;
using autograd::grad_accumulator;
using autograd::set_gradient_edge;
using autograd::try_get_grad_accumulator;
inline AutogradMeta* get_autograd_meta(const at::TensorBase& t) { return t.defined() ? meta_of(t) : nullptr; }
inline AutogradMeta* materialize_autograd_meta(const at::TensorBase& t) { return &materialize_meta(t); }
inline void bump_version(const at::TensorBase& t) { t.unsafeGetTensorImpl()->bump_version(); }
/// After a change in place: the tensor is the edge's result from now on.
void rebase_history(const at::Tensor& t, Edge edge);
}  // namespace impl

}  // namespace torch::autograd
