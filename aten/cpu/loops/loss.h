#pragma once

#include "aten/cpu/elementwise.h"

// Losses of single elements, float and double, and the gradients of activations and losses that have parameters. a, b, c are
// the inputs and p0, p1, p2 the context's scalars.

namespace at::cpu::loops {

extern const ElementOp absolute_difference;  // |a - b|
extern const ElementOp smooth_l1;            // d = |a - b| below p0: p1 d^2, else d - p2
extern const ElementOp huber;                // d = |a - b| up to p0: d^2 / 2, else p0 (d - p1)
extern const ElementOp soft_margin;          // log(1 + exp(-a b))
extern const ElementOp divergence;           // b (log b - a), 0 log 0 being 0
extern const ElementOp divergence_of_logs;   // exp(b) (b - a)

// Of (gradient, input) but where said.
extern const ElementOp clamped_difference;  // a times (d = b - c: p1 above p0, -p1 below -p0, else p2 d)
extern const ElementOp elu_backward;        // a times (b > 0: p0, else p1 exp(p2 b)), p0 for NaN
extern const ElementOp elu_result_backward;  // (gradient, result): a times (b > 0: p0, else p1 (b + p2))
extern const ElementOp leaky_relu_backward;  // p0 = slope
extern const ElementOp hardswish_backward;
extern const ElementOp softplus_backward;  // p0 = beta, p1 = threshold

}  // namespace at::cpu::loops
