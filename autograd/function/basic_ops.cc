#include "autograd/function/basic_ops.h"

#include <stdexcept>

#include "aten/ops/view/ops.h"
#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/record.h"

namespace torch::autograd {
namespace {

// Copies of the tensors' handles as the results of `node`.
variable_list results_of(const NodePtr& node, const variable_list& tensors) {
  variable_list results;
  for (const at::Tensor& t : tensors) {
    at::Tensor result = t.defined() ? at::detach(t) : t;
    if (result.defined()) set_history(result, node, node->add_input_metadata(result));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

edge_list collect_next_edges(const variable_list& tensors) {
  edge_list edges;
  for (const at::Tensor& t : tensors)
    edges.push_back(t.defined() && requires_grad(static_cast<const at::TensorBase&>(t)) ? gradient_edge(t) : Edge());
  return edges;
}

variable_list Error::apply(variable_list&&) { throw std::runtime_error(msg); }

DelayedError::DelayedError(std::string message, int64_t num_inputs) : msg(std::move(message)) {
  for (int64_t i = 0; i < num_inputs; ++i) add_input_metadata(undefined_input());
}

variable_list DelayedError::apply(variable_list&& inputs) {
  return results_of(c10::make_intrusive<Error>(msg, collect_next_edges(inputs)), inputs);
}

variable_list UndefinedGrad::apply(variable_list&& inputs) {
  return results_of(c10::make_intrusive<UndefinedGradBackward>(collect_next_edges(inputs)), inputs);
}

variable_list UndefinedGradBackward::apply(variable_list&&) { return variable_list(num_outputs()); }

GraphRoot::GraphRoot(edge_list functions, variable_list inputs)
    : Node(std::move(functions)), outputs(std::move(inputs)) {
  for (const at::Tensor& t : outputs) add_input_metadata(t);
}

}  // namespace torch::autograd
