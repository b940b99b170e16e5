// Nodes that do little: errors in backward, undefined gradients, roots. For graphs that programs build by hand.
#pragma once

#include <string>
#include <utility>

#include "autograd/engine/node.h"

namespace torch::autograd {

/// Throws std::runtime_error with its message in backward.
struct Error : public Node {
  Error(std::string message, edge_list&& next_edges) : Node(std::move(next_edges)), msg(std::move(message)) {}
  explicit Error(std::string message) : msg(std::move(message)) {}
  variable_list apply(variable_list&& inputs) override;

  std::string msg;
};

/// Throws "derivative for f is not implemented" in backward.
struct NotImplemented : public Error {
  NotImplemented(const std::string& forward_fn, edge_list&& next_edges)
      : Error("derivative for " + forward_fn + " is not implemented", std::move(next_edges)) {}
  explicit NotImplemented(const std::string& forward_fn) : NotImplemented(forward_fn, {}) {}
};

/// As a function: gives its arguments back so that backward through them throws its message.
struct DelayedError : public Node {
  DelayedError(std::string message, int64_t num_inputs);
  variable_list apply(variable_list&& inputs) override;

  std::string msg;
};

/// As a function: gives its arguments back so that their gradients are undefined.
struct UndefinedGrad : public Node {
  UndefinedGrad() { add_input_metadata(undefined_input()); }
  variable_list apply(variable_list&& inputs) override;
};
struct UndefinedGradBackward : public Node {
  explicit UndefinedGradBackward(edge_list&& next_edges) : Node(std::move(next_edges)) {}
  UndefinedGradBackward() = default;
  variable_list apply(variable_list&& inputs) override;
};

/// Sends given gradients to given nodes.
struct GraphRoot : public Node {
  GraphRoot(edge_list functions, variable_list inputs);
  variable_list apply(variable_list&&) override { return outputs; }

  variable_list outputs;
};

/// Passes gradients on.
struct Identity : public Node {
  variable_list apply(variable_list&& inputs) override { return std::move(inputs); }
};

/// Where the gradients of `tensors` go, for a node that is made of them; undefined ones lead nowhere.
edge_list collect_next_edges(const variable_list& tensors);
template <class... Tensors>
  requires(std::same_as<std::remove_cvref_t<Tensors>, at::Tensor> && ...)
edge_list collect_next_edges(const Tensors&... tensors) {
  return collect_next_edges(variable_list{tensors...});
}

}  // namespace torch::autograd
