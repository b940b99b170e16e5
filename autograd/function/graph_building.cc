#include "autograd/function/graph_building.h"

#include "autograd/engine/record.h"
#include "c10/util/exception.h"

namespace torch::autograd {

bool any_variable_requires_grad(const variable_list& variables) { return graph_building::requires_gradient(variables); }

// A node that was made by `new` counts nobody until it gets into a graph; from then on the shared_ptr is one that it counts.
NodePtr graph_building::counted(const std::shared_ptr<Node>& node) {
  if (node != nullptr && c10::raw::intrusive_ptr::use_count(node.get()) == 0) {
    const auto* deleter = std::get_deleter<void (*)(Node*)>(node);
    TORCH_CHECK(deleter != nullptr && *deleter == &deleteNode,
                "set_history: a node in a std::shared_ptr needs torch::autograd::deleteNode as its deleter");
    c10::detail::RefCount::init(node.get());
  }
  return NodePtr::reclaim_copy(node.get());
}

void deleteNode(Node* node) {
  if (c10::raw::intrusive_ptr::use_count(node) == 0) {
    delete node;
  } else {
    c10::raw::intrusive_ptr::decref(node);
  }
}

void set_history(const at::Tensor& variable, const NodePtr& grad_fn) {
  TORCH_CHECK(grad_fn, "set_history: grad_fn is no node");
  if (!variable.defined()) {
    grad_fn->add_input_metadata(Node::undefined_input());
    return;
  }
  set_history(variable, grad_fn, grad_fn->add_input_metadata(variable));
}

void set_history(const variable_list& variables, const NodePtr& grad_fn) {
  for (const at::Tensor& variable : variables) set_history(variable, grad_fn);
}

void create_gradient_edge(at::Tensor& variable, NodePtr function) {
  TORCH_CHECK(variable.defined() && function, "create_gradient_edge: needs a tensor and a node");
  const uint32_t number = function->add_input_metadata(variable);
  set_gradient_edge(variable, Edge(std::move(function), number));
}

void increment_version(const at::Tensor& t) {
  TORCH_CHECK(t.defined(), "increment_version: the tensor is undefined");
  impl::bump_version(t);
}

namespace impl {

void rebase_history(const at::Tensor& t, Edge edge) {
  TORCH_CHECK(t.defined() && edge.function, "rebase_history: needs a tensor and a node");
  autograd::rebase_history(t, edge.function, edge.input_nr);
}

}  // namespace impl
}  // namespace torch::autograd
