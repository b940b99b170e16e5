#include "autograd/autograd.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/engine/grad_ops.h"
#include "c10/util/exception.h"

namespace torch::autograd {
namespace {

// What one backward pass is asked for.
struct Pass {
  edge_list roots;
  variable_list grads;
  edge_list ends;
  bool keep_graph;
  bool create_graph;
};

const InputMetadata& metadata_of(const Edge& edge) {
  return edge.function->input_metadata(edge.input_nr);
}

edge_list edges_of(const variable_list& tensors) {
  edge_list edges;
  edges.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    TORCH_CHECK(tensors[i].defined(), "element ", i, " of tensors is undefined");
    const Edge edge = requires_grad(tensors[i]) ? gradient_edge(tensors[i]) : Edge();
    TORCH_CHECK(edge.is_valid(), "element ", i, " of tensors does not require grad and does not have a grad_fn");
    edges.push_back(edge);
  }
  return edges;
}

edge_list edges_of(const std::vector<GradientEdge>& places) {
  edge_list edges;
  edges.reserve(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    TORCH_CHECK(
        places[i].node != nullptr && places[i].output_nr < places[i].node->num_inputs(), "gradient edge ", i,
        " leads to no result of a node");
    edges.emplace_back(places[i].node, places[i].output_nr);
  }
  return edges;
}

// The inputs of a pass: by `what` they are called in the error.
edge_list ends_of(const variable_list& inputs, const char* what) {
  edge_list ends;
  ends.reserve(inputs.size());
  for (const at::Tensor& input : inputs) {
    const Edge edge = requires_grad(input) ? gradient_edge(input) : Edge();
    TORCH_CHECK(edge.is_valid(), "One of the differentiated Tensors ", what);
    ends.push_back(edge);
  }
  return ends;
}

// `given`, with 1 for those that are left out. `batched`: one dimension more than the roots.
variable_list grads_for(const edge_list& roots, const variable_list& given, bool batched) {
  TORCH_CHECK(
      given.empty() || given.size() == roots.size(), "got ", roots.size(), " tensors and ", given.size(), " gradients");
  variable_list grads;
  grads.reserve(roots.size());
  for (size_t i = 0; i < roots.size(); ++i) {
    const InputMetadata& root = metadata_of(roots[i]);
    if (i < given.size() && given[i].defined()) {
      TORCH_CHECK(
          !batched || (given[i].dim() > 0 && given[i].sizes().slice(1) == root.shape()),
          "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
          "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
          "detected: grad_output[", i, "] has a shape of ", given[i].sizes(), " and output[", i, "] has a shape of ",
          root.shape(), ".");
      grads.push_back(given[i]);
      continue;
    }
    TORCH_CHECK(!batched, "grad: with is_grads_batched every output needs a grad_output, and output ", i, " has none");
    int64_t numel = 1;
    for (const int64_t size : root.shape()) numel *= size;
    TORCH_CHECK(numel == 1, "grad can be implicitly created only for scalar outputs");
    TORCH_CHECK(
        !c10::isComplexType(root.scalar_type()), "grad can be implicitly created only for real scalar outputs but got ",
        c10::toString(root.scalar_type()));
    c10::NoGradGuard no_grad;
    grads.push_back(at::ones(root.shape(), root.options()));
  }
  return grads;
}

variable_list gradients(const Pass& pass) {
  return Engine::get_default_engine().execute(
      pass.roots, pass.grads, pass.keep_graph, pass.create_graph, /*accumulate_grad=*/false, pass.ends);
}

// One pass for each gradient of the batch; the results side by side.
variable_list batched_gradients(const Pass& pass) {
  const int64_t count = pass.grads.empty() ? 0 : pass.grads[0].size(0);
  for (const at::Tensor& grad : pass.grads) {
    TORCH_CHECK(grad.size(0) == count, "grad: the batches of grad_outputs have sizes ", count, " and ", grad.size(0));
  }
  c10::AutoGradMode record(pass.create_graph);
  variable_list all(pass.ends.size());
  const auto batch_for = [&](size_t i) {
    c10::DimVector sizes{count};
    for (const int64_t size : metadata_of(pass.ends[i]).shape()) sizes.push_back(size);
    return at::zeros(sizes, metadata_of(pass.ends[i]).options());
  };
  for (int64_t row = 0; row < count; ++row) {
    Pass single{pass.roots, {}, pass.ends, pass.keep_graph || row + 1 < count, pass.create_graph};
    for (const at::Tensor& grad : pass.grads) single.grads.push_back(at::select(grad, 0, row));
    const variable_list grads = gradients(single);
    for (size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined()) continue;
      if (!all[i].defined()) all[i] = batch_for(i);
      at::Tensor place = at::select(all[i], 0, row);
      at::copy_(place, grads[i]);
    }
  }
  for (size_t i = 0; i < all.size() && count == 0; ++i) all[i] = batch_for(i);
  return all;
}

variable_list grad_between(
    edge_list roots,
    edge_list ends,
    const variable_list& grad_outputs,
    std::optional<bool> retain_graph,
    bool create_graph,
    std::optional<bool> allow_unused,
    bool is_grads_batched,
    bool materialize_grads) {
  TORCH_CHECK_VALUE(!ends.empty(), "grad requires non-empty inputs.");
  TORCH_CHECK_VALUE(
      !materialize_grads || allow_unused.value_or(true),
      "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.");
  variable_list grads = grads_for(roots, grad_outputs, is_grads_batched);
  const Pass pass{
      std::move(roots), std::move(grads), std::move(ends), retain_graph.value_or(create_graph), create_graph};
  variable_list results = is_grads_batched ? batched_gradients(pass) : gradients(pass);
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].defined()) continue;
    if (materialize_grads) {
      results[i] = metadata_of(pass.ends[i]).zeros();
      continue;
    }
    TORCH_CHECK(
        allow_unused.value_or(false), "The differentiated Tensor at index ", i,
        " appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.");
  }
  return results;
}

void backward_from(
    const edge_list& roots,
    const variable_list& grad_tensors,
    std::optional<bool> retain_graph,
    bool create_graph,
    const variable_list& inputs) {
  const edge_list ends = ends_of(inputs, "given as 'inputs' to backward does not require grad");
  for (const at::Tensor& input : inputs) retain_grad(input);
  Engine::get_default_engine().execute(
      roots, grads_for(roots, grad_tensors, /*batched=*/false), retain_graph.value_or(create_graph), create_graph,
      /*accumulate_grad=*/true, ends);
}

}  // namespace

void backward(
    const variable_list& tensors,
    const variable_list& grad_tensors,
    std::optional<bool> retain_graph,
    bool create_graph,
    const variable_list& inputs) {
  backward_from(edges_of(tensors), grad_tensors, retain_graph, create_graph, inputs);
}

void backward(
    const std::vector<GradientEdge>& tensors,
    const variable_list& grad_tensors,
    std::optional<bool> retain_graph,
    bool create_graph,
    const variable_list& inputs) {
  backward_from(edges_of(tensors), grad_tensors, retain_graph, create_graph, inputs);
}

variable_list grad(
    const variable_list& outputs,
    const variable_list& inputs,
    const variable_list& grad_outputs,
    std::optional<bool> retain_graph,
    bool create_graph,
    std::optional<bool> allow_unused,
    bool is_grads_batched,
    bool materialize_grads) {
  return grad_between(
      edges_of(outputs), ends_of(inputs, "does not require grad"), grad_outputs, retain_graph, create_graph, allow_unused,
      is_grads_batched, materialize_grads);
}

variable_list grad(
    const std::vector<GradientEdge>& outputs,
    const std::vector<GradientEdge>& inputs,
    const variable_list& grad_outputs,
    std::optional<bool> retain_graph,
    bool create_graph,
    std::optional<bool> allow_unused,
    bool is_grads_batched,
    bool materialize_grads) {
  return grad_between(
      edges_of(outputs), edges_of(inputs), grad_outputs, retain_graph, create_graph, allow_unused, is_grads_batched,
      materialize_grads);
}

}  // namespace torch::autograd
