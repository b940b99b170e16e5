#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "autograd/engine/node.h"

// Derivatives of functions of tensors: products with Jacobian and Hessian, and these matrices themselves.
//
// Functions take and return lists of tensors; those with `Tensor` in their place are the same for one. They are called on views of
// the inputs that require a gradient, so what they do to them is not seen outside. `create_graph`: the results can be
// differentiated again. `strict`: an output that does not depend on an input in a differentiable way is an error; otherwise its
// derivative is zero. Jacobians and Hessians that vmap computes in one pass (`vectorize`) are in func/functional.h.
//
//   Tensor x = torch::rand({3});
//   Tensor j = functional::jacobian([](const Tensor& t) { return t.exp(); }, x);               // 3 x 3, diagonal
//   auto [y, hv] = functional::hvp([](const Tensor& t) { return t.pow(3).sum(); }, x, v);
namespace torch::autograd::functional {

using ListFunction = std::function<variable_list(const variable_list&)>;
using TensorFunction = std::function<at::Tensor(const at::Tensor&)>;

// The outputs, and for each input the sum over the outputs of v times the Jacobian: sizes of the inputs. `v` is one tensor an
// output, of its sizes; it may be empty where there is one output with one element. Throws Error for other sizes.
std::pair<variable_list, variable_list> vjp(
    const ListFunction& function, const variable_list& inputs, const variable_list& v = {}, bool create_graph = false,
    bool strict = false);
std::pair<at::Tensor, at::Tensor> vjp(
    const TensorFunction& function, const at::Tensor& input, const at::Tensor& v = {}, bool create_graph = false,
    bool strict = false);

// The outputs, and for each output the Jacobian times v: sizes of the outputs. `v` is one tensor an input; it may be empty where
// there is one input with one element. Computed by two backward passes, so that every operator with a derivative will do;
// forward_ad computes the same in one pass.
std::pair<variable_list, variable_list> jvp(
    const ListFunction& function, const variable_list& inputs, const variable_list& v = {}, bool create_graph = false,
    bool strict = false);
std::pair<at::Tensor, at::Tensor> jvp(
    const TensorFunction& function, const at::Tensor& input, const at::Tensor& v = {}, bool create_graph = false,
    bool strict = false);

// result[i][j]: the Jacobian of output i by input j, of the sizes of the output followed by those of the input.
std::vector<variable_list> jacobian(
    const ListFunction& function, const variable_list& inputs, bool create_graph = false, bool strict = false);
at::Tensor jacobian(const TensorFunction& function, const at::Tensor& input, bool create_graph = false, bool strict = false);

// Of a function with one output with one element: result[i][j] is the Hessian's block of inputs i and j, of the sizes of input i
// followed by those of input j.
std::vector<variable_list> hessian(
    const ListFunction& function, const variable_list& inputs, bool create_graph = false, bool strict = false);
at::Tensor hessian(const TensorFunction& function, const at::Tensor& input, bool create_graph = false, bool strict = false);

// The value of such a function, and v times the Hessian (vhp), the Hessian times v (hvp): one tensor an input. vhp is the
// cheaper of the two; for twice continuously differentiable functions of real numbers they are the same.
std::pair<at::Tensor, variable_list> vhp(
    const ListFunction& function, const variable_list& inputs, const variable_list& v = {}, bool create_graph = false,
    bool strict = false);
std::pair<at::Tensor, at::Tensor> vhp(
    const TensorFunction& function, const at::Tensor& input, const at::Tensor& v = {}, bool create_graph = false,
    bool strict = false);
std::pair<at::Tensor, variable_list> hvp(
    const ListFunction& function, const variable_list& inputs, const variable_list& v = {}, bool create_graph = false,
    bool strict = false);
std::pair<at::Tensor, at::Tensor> hvp(
    const TensorFunction& function, const at::Tensor& input, const at::Tensor& v = {}, bool create_graph = false,
    bool strict = false);

}  // namespace torch::autograd::functional
