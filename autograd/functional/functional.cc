#include "autograd/functional/functional.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/util/exception.h"

namespace torch::autograd::functional {
namespace {

// The tensors that the function is called on. Where the caller wants a graph they are views of the inputs, else leaves.
variable_list points_of(const variable_list& inputs, bool create_graph) {
  variable_list points;
  for (const at::Tensor& input : inputs) {
    TORCH_CHECK(input.defined(), "the inputs of the user-provided function must be defined");
    if (create_graph && input.requires_grad()) {
      points.push_back(at::alias(input));
    } else {
      points.push_back(at::detach(input).set_requires_grad(true));
    }
  }
  return points;
}

void check_outputs(const variable_list& outputs, bool strict) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    TORCH_CHECK(outputs[i].defined(), "output ", i, " of the user-provided function is undefined");
    TORCH_CHECK(
        !strict || outputs[i].requires_grad(), "Output ", i,
        " of the user-provided function does not require gradients. The outputs must be computed in a differentiable manner "
        "from the input when running in strict mode.");
  }
}

const at::Tensor& value_of(const variable_list& outputs, const char* name) {
  TORCH_CHECK(outputs.size() == 1, "The function given to ", name, " should return a single Tensor");
  TORCH_CHECK(
      outputs[0].numel() == 1, "The Tensor returned by the function given to ", name, " should contain a single element");
  return outputs[0];
}

// `v`, or a one where it was left out; of the sizes of `like`.
variable_list direction(const variable_list& v, const variable_list& like, const char* whose) {
  if (v.empty()) {
    TORCH_CHECK(
        like.size() == 1 && like[0].numel() == 1, "The vector v can only be None if ", whose,
        " a single Tensor with a single element.");
    return {at::ones_like(like[0])};
  }
  TORCH_CHECK(v.size() == like.size(), "v is a list of invalid length: should be ", like.size(), " but got ", v.size(), ".");
  for (size_t i = 0; i < v.size(); ++i) {
    TORCH_CHECK(v[i].defined(), "entry ", i, " of v is undefined");
    TORCH_CHECK(v[i].sizes() == like[i].sizes(), "v has invalid size: should be ", like[i].sizes(), " but got ", v[i].sizes(), ".");
  }
  return v;
}

constexpr const char* kOfOutput = "the user-provided function returns";
constexpr const char* kOfInput = "the input to the user-provided function is";

// Gradients of those outputs that have one; an undefined one where an input is not used.
variable_list gradients(
    const variable_list& outputs, const variable_list& inputs, const variable_list& v, bool keep_graph, bool create_graph) {
  variable_list recorded, directions;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    recorded.push_back(outputs[i]);
    directions.push_back(v[i]);
  }
  if (recorded.empty()) return variable_list(inputs.size());
  return grad(recorded, inputs, directions, keep_graph || create_graph, create_graph, true);
}

void fill_zeros(variable_list& grads, const variable_list& like) {
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].defined()) grads[i] = at::zeros_like(like[i]);
  }
}

void check_independent(const variable_list& grads, bool strict) {
  for (size_t i = 0; i < grads.size(); ++i) {
    TORCH_CHECK(
        !strict || grads[i].defined(), "The output of the user-provided function is independent of input ", i,
        ". This is not allowed in strict mode.");
  }
}

void check_jacobian(const variable_list& grads, bool strict) {
  for (size_t i = 0; i < grads.size(); ++i) {
    TORCH_CHECK(
        !strict || (grads[i].defined() && grads[i].requires_grad()),
        "While computing the hessian, found that the jacobian of the user-provided function with respect to input ", i,
        " is independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
        "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for example).");
  }
}

variable_list finished(variable_list tensors, bool create_graph) {
  if (!create_graph) {
    for (at::Tensor& t : tensors) t = at::detach(t);
  }
  return tensors;
}

at::Tensor finished(const at::Tensor& t, bool create_graph) {
  return create_graph ? t : at::detach(t);
}

ListFunction in_lists(const TensorFunction& function) {
  return [&function](const variable_list& inputs) -> variable_list { return {function(inputs[0])}; };
}

variable_list in_list(const at::Tensor& v) {
  return v.defined() ? variable_list{v} : variable_list();
}

}  // namespace

std::pair<variable_list, variable_list> vjp(
    const ListFunction& function, const variable_list& inputs, const variable_list& v, bool create_graph, bool strict) {
  const AutoGradMode record(true);
  const variable_list points = points_of(inputs, create_graph);
  variable_list outputs = function(points);
  check_outputs(outputs, strict);
  variable_list grads = gradients(outputs, points, direction(v, outputs, kOfOutput), false, create_graph);
  check_independent(grads, strict);
  fill_zeros(grads, points);
  return {finished(std::move(outputs), create_graph), finished(std::move(grads), create_graph)};
}

std::pair<variable_list, variable_list> jvp(
    const ListFunction& function, const variable_list& inputs, const variable_list& v, bool create_graph, bool strict) {
  const AutoGradMode record(true);
  const variable_list given = direction(v, inputs, kOfInput);
  const variable_list points = points_of(inputs, create_graph);
  variable_list outputs = function(points);
  check_outputs(outputs, strict);
  // u -> u J is linear; its derivative times v is J v.
  variable_list u;
  for (const at::Tensor& output : outputs) u.push_back(at::zeros_like(output).set_requires_grad(true));
  const variable_list grads = gradients(outputs, points, u, true, true);
  check_independent(grads, strict);
  variable_list products(outputs.size());
  variable_list recorded, directions;
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].defined() || !grads[i].requires_grad()) continue;
    recorded.push_back(grads[i]);
    directions.push_back(given[i]);
  }
  if (!recorded.empty()) products = grad(recorded, u, directions, create_graph, create_graph, true);
  fill_zeros(products, outputs);
  return {finished(std::move(outputs), create_graph), finished(std::move(products), create_graph)};
}

std::vector<variable_list> jacobian(const ListFunction& function, const variable_list& inputs, bool create_graph, bool strict) {
  const AutoGradMode record(true);
  const variable_list points = points_of(inputs, create_graph);
  const variable_list outputs = function(points);
  check_outputs(outputs, strict);
  std::vector<variable_list> result;
  for (size_t o = 0; o < outputs.size(); ++o) {
    const at::Tensor& output = outputs[o];
    std::vector<variable_list> rows(points.size());
    const at::Tensor flat = at::reshape(output, {-1});
    for (int64_t k = 0; k < output.numel(); ++k) {
      variable_list grads = gradients({at::select(flat, 0, k)}, points, {at::ones({}, output.options())}, true, create_graph);
      for (size_t i = 0; i < points.size(); ++i) {
        TORCH_CHECK(
            !strict || grads[i].defined(), "Output ", o, " of the user-provided function is independent of input ", i,
            ". This is not allowed in strict mode.");
        TORCH_CHECK(
            !strict || !create_graph || grads[i].requires_grad(), "The jacobian of the user-provided function is independent of input ",
            i, ". This is not allowed in strict mode when create_graph=True.");
      }
      fill_zeros(grads, points);
      for (size_t i = 0; i < points.size(); ++i) rows[i].push_back(std::move(grads[i]));
    }
    variable_list blocks;
    for (size_t i = 0; i < points.size(); ++i) {
      at::DimVector sizes(output.sizes().begin(), output.sizes().end());
      for (const int64_t size : points[i].sizes()) sizes.push_back(size);
      blocks.push_back(rows[i].empty() ? at::zeros(sizes, points[i].options()) : at::reshape(at::stack(rows[i]), sizes));
    }
    result.push_back(finished(std::move(blocks), create_graph));
  }
  return result;
}

std::vector<variable_list> hessian(const ListFunction& function, const variable_list& inputs, bool create_graph, bool strict) {
  const ListFunction gradient = [&](const variable_list& points) {
    const variable_list outputs = function(points);
    value_of(outputs, "hessian");
    check_outputs(outputs, strict);
    variable_list grads = gradients(outputs, points, {at::ones_like(outputs[0])}, true, true);
    check_jacobian(grads, strict);
    fill_zeros(grads, points);
    return grads;
  };
  return jacobian(gradient, inputs, create_graph, strict);
}

std::pair<at::Tensor, variable_list> vhp(
    const ListFunction& function, const variable_list& inputs, const variable_list& v, bool create_graph, bool strict) {
  const AutoGradMode record(true);
  const variable_list given = direction(v, inputs, kOfInput);
  const variable_list points = points_of(inputs, create_graph);
  const variable_list outputs = function(points);
  const at::Tensor& value = value_of(outputs, "vhp");
  check_outputs(outputs, strict);
  variable_list first = gradients(outputs, points, {at::ones_like(value)}, true, true);
  check_jacobian(first, strict);
  fill_zeros(first, points);
  variable_list products = gradients(first, points, given, false, create_graph);
  check_independent(products, strict);
  fill_zeros(products, points);
  return {finished(value, create_graph), finished(std::move(products), create_graph)};
}

std::pair<at::Tensor, variable_list> hvp(
    const ListFunction& function, const variable_list& inputs, const variable_list& v, bool create_graph, bool strict) {
  at::Tensor value;
  const ListFunction gradient = [&](const variable_list& points) {
    const variable_list outputs = function(points);
    value = value_of(outputs, "hvp");
    check_outputs(outputs, strict);
    variable_list grads = gradients(outputs, points, {at::ones_like(value)}, true, true);
    check_jacobian(grads, strict);
    fill_zeros(grads, points);
    return grads;
  };
  variable_list products = jvp(gradient, inputs, v, create_graph, strict).second;
  return {finished(value, create_graph), std::move(products)};
}

std::pair<at::Tensor, at::Tensor> vjp(
    const TensorFunction& function, const at::Tensor& input, const at::Tensor& v, bool create_graph, bool strict) {
  auto [outputs, products] = vjp(in_lists(function), {input}, in_list(v), create_graph, strict);
  return {std::move(outputs[0]), std::move(products[0])};
}

std::pair<at::Tensor, at::Tensor> jvp(
    const TensorFunction& function, const at::Tensor& input, const at::Tensor& v, bool create_graph, bool strict) {
  auto [outputs, products] = jvp(in_lists(function), {input}, in_list(v), create_graph, strict);
  return {std::move(outputs[0]), std::move(products[0])};
}

at::Tensor jacobian(const TensorFunction& function, const at::Tensor& input, bool create_graph, bool strict) {
  return jacobian(in_lists(function), {input}, create_graph, strict)[0][0];
}

at::Tensor hessian(const TensorFunction& function, const at::Tensor& input, bool create_graph, bool strict) {
  return hessian(in_lists(function), {input}, create_graph, strict)[0][0];
}

std::pair<at::Tensor, at::Tensor> vhp(
    const TensorFunction& function, const at::Tensor& input, const at::Tensor& v, bool create_graph, bool strict) {
  auto [value, products] = vhp(in_lists(function), {input}, in_list(v), create_graph, strict);
  return {std::move(value), std::move(products[0])};
}

std::pair<at::Tensor, at::Tensor> hvp(
    const TensorFunction& function, const at::Tensor& input, const at::Tensor& v, bool create_graph, bool strict) {
  auto [value, products] = hvp(in_lists(function), {input}, in_list(v), create_graph, strict);
  return {std::move(value), std::move(products[0])};
}

}  // namespace torch::autograd::functional
