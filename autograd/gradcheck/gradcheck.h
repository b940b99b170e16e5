#pragma once

#include <functional>
#include <string>

#include "aten/core/tensor.h"
#include "autograd/engine/node.h"

namespace torch::autograd {

struct GradcheckOptions {
  double eps = 1e-6;    // step of the central difference
  double atol = 1e-5;   // |analytic - numeric| <= atol + rtol * |numeric|
  double rtol = 1e-3;
  // Backward run twice must give the same bits up to this much.
  double nondet_tol = 0.0;
  // Which derivatives are compared with the difference quotients: those of backward, and those of forward mode (for
  // gradgradcheck: the tangents of the gradients, forward over reverse).
  bool check_backward_ad = true;
  bool check_forward_ad = false;
};

// What a check found. `message` names the first difference: input, output, element, analytic and numeric value.
struct GradcheckResult {
  bool ok = true;
  std::string message;
  explicit operator bool() const { return ok; }
};

using GradcheckFunction = std::function<variable_list(const variable_list&)>;

// Compares the derivatives that autograd computes for `function` at `inputs` with central differences, for every element of
// every input that requires a gradient and every element of every result that requires one; it is an error that none does. Complex numbers are
// pairs of real ones, with the gradient convention of torch::autograd::backward. Inputs that require a gradient must be
// double or complex double, and not overlap themselves; they come back unchanged. The function must not modify its inputs and must give the same
// results each time.
//
//   auto x = torch::randn({3}, torch::kDouble).requires_grad_();
//   TORCH_CHECK(gradcheck([](const variable_list& v) -> variable_list { return {v[0].sin()}; }, {x}));
GradcheckResult gradcheck(
    const GradcheckFunction& function, const variable_list& inputs, const GradcheckOptions& options = {});

// As above for the second derivatives: checks the gradient of `function`, with random gradients of its results, as a function
// of the inputs and of those.
GradcheckResult gradgradcheck(
    const GradcheckFunction& function, const variable_list& inputs, const GradcheckOptions& options = {});

}  // namespace torch::autograd
