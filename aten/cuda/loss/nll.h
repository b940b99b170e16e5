#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

namespace at::cuda {

/// Dense input [batch][classes][inner] and targets [batch][inner]. A target that is no class and not `ignored` ends the
/// launch.
struct NllCall {
  c10::ScalarType dtype;  // of all floating-point operands
  const char* x;          // null where there is nothing but a gradient
  const int64_t* targets;
  const char* weight;  // of the classes; null: 1
  int64_t batch, classes, inner, ignored;
};

/// The loss of each target, to `each` in the dtype; or, where that is null, losses and weights in float64, 0 for
/// ignored ones.
void launch_nll_forward(const NllCall& call, char* each, double* losses, double* weights);

/// The gradient of a zeroed input: -weight * gradient, over the divisor where there is one. `gradient` is of each
/// target or of all.
void launch_nll_backward(const NllCall& call, const char* gradient, bool of_each, const char* divisor, char* to);

}  // namespace at::cuda
