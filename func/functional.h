// Jacobians and Hessians of torch::autograd::functional that vmap computes in one pass: Python's `vectorize` and `strategy`.
//
//   at::Tensor j = functional::jacobian(f, x, false, false, /*vectorize=*/true, "forward-mode");
#pragma once

#include <string_view>
#include <vector>

#include "autograd/functional/functional.h"

namespace torch::autograd::functional {

// jacobian() with `vectorize`: all rows, or with `strategy` = "forward-mode" all columns, in one pass that vmap batches, so that
// operators need batching rules; by columns is the choice where there are fewer inputs than outputs. Throws Error where `strict` is
// asked for too, NotImplementedError for forward mode with create_graph or without vectorize, ValueError for other strategies
// than "reverse-mode" and "forward-mode".
std::vector<variable_list> jacobian(
    const ListFunction& function, const variable_list& inputs, bool create_graph, bool strict, bool vectorize,
    std::string_view strategy = "reverse-mode");
at::Tensor jacobian(
    const TensorFunction& function, const at::Tensor& input, bool create_graph, bool strict, bool vectorize,
    std::string_view strategy = "reverse-mode");

// hessian() with what jacobian() of the gradient is asked for.
std::vector<variable_list> hessian(
    const ListFunction& function, const variable_list& inputs, bool create_graph, bool strict, bool vectorize,
    std::string_view outer_jacobian_strategy = "reverse-mode");
at::Tensor hessian(
    const TensorFunction& function, const at::Tensor& input, bool create_graph, bool strict, bool vectorize,
    std::string_view outer_jacobian_strategy = "reverse-mode");

}  // namespace torch::autograd::functional
