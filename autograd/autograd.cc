#include "autograd/autograd.h"

#include "autograd/engine/grad_ops.h"
#include "c10/util/exception.h"

namespace torch::autograd {
namespace {

variable_list make_grads(const variable_list& outputs, const variable_list& given) {
  TORCH_CHECK(
      given.empty() || given.size() == outputs.size(), "got ", outputs.size(), " tensors and ", given.size(), " gradients");
  variable_list grads;
  grads.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i < given.size() && given[i].defined()) {
      grads.push_back(given[i]);
      continue;
    }
    TORCH_CHECK(outputs[i].defined(), "element ", i, " of tensors is undefined");
    if (!requires_grad(outputs[i])) {
      grads.emplace_back();
      continue;
    }
    TORCH_CHECK(outputs[i].numel() == 1, "grad can be implicitly created only for scalar outputs");
    TORCH_CHECK(
        !outputs[i].is_complex(), "grad can be implicitly created only for real scalar outputs but got ",
        c10::toString(outputs[i].scalar_type()));
    grads.push_back(grad_ops::one(outputs[i]));
  }
  return grads;
}

variable_list run_backward(
    const variable_list& outputs,
    const variable_list& grads,
    bool keep_graph,
    bool create_graph,
    const variable_list& inputs,
    bool allow_unused,
    bool accumulate) {
  edge_list roots;
  roots.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    TORCH_CHECK(
        requires_grad(outputs[i]), "element ", i, " of tensors does not require grad and does not have a grad_fn");
    roots.push_back(gradient_edge(outputs[i]));
  }
  edge_list ends;
  ends.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    TORCH_CHECK(
        requires_grad(inputs[i]), "One of the differentiated Tensors ",
        accumulate ? "given as 'inputs' to backward does not require grad" : "does not require grad");
    if (accumulate) retain_grad(inputs[i]);
    ends.push_back(gradient_edge(inputs[i]));
  }
  variable_list results =
      Engine::get_default_engine().execute(roots, grads, keep_graph, create_graph, accumulate, ends);
  if (!accumulate) {
    for (const at::Tensor& result : results) {
      TORCH_CHECK(
          allow_unused || result.defined(),
          "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the "
          "desired behavior.");
    }
  }
  return results;
}

}  // namespace

void backward(
    const variable_list& tensors,
    const variable_list& grad_tensors,
    std::optional<bool> retain_graph,
    bool create_graph,
    const variable_list& inputs) {
  run_backward(
      tensors, make_grads(tensors, grad_tensors), retain_graph.value_or(create_graph), create_graph, inputs,
      /*allow_unused=*/true, /*accumulate=*/true);
}

variable_list grad(
    const variable_list& outputs,
    const variable_list& inputs,
    const variable_list& grad_outputs,
    std::optional<bool> retain_graph,
    bool create_graph,
    bool allow_unused) {
  TORCH_CHECK_VALUE(!inputs.empty(), "grad requires non-empty inputs.");
  return run_backward(
      outputs, make_grads(outputs, grad_outputs), retain_graph.value_or(create_graph), create_graph, inputs, allow_unused,
      /*accumulate=*/false);
}

}  // namespace torch::autograd
