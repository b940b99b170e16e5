#pragma once

#include "aten/cpu/elementwise.h"

// Activations, losses and gradients, float and double (silu: complex too). p0, p1, p2 are the context's scalars.
//
// gelu and gelu_tanh are x * c with c, the cumulative distribution (or its tanh approximation), good to 2^-23 absolutely; the
// others are within 4 ULP. Gradients take (gradient, input), sigmoid's and tanh's (gradient, result).

namespace at::cpu::loops {

extern const ElementOp gelu;
extern const ElementOp gelu_tanh;
extern const ElementOp silu;
extern const ElementOp mish;
extern const ElementOp softplus;  // p0 = beta, p1 = threshold
extern const ElementOp elu;  // p0 = alpha * scale, p1 = scale, p2 = input scale
extern const ElementOp leaky_relu;  // p0 = slope
extern const ElementOp hardsigmoid;
extern const ElementOp hardswish;
extern const ElementOp softshrink;  // p0 = lambda
extern const ElementOp hardshrink;  // p0 = lambda
extern const ElementOp prelu;  // a > 0 ? a : a * b
extern const ElementOp threshold;  // x <= p0 ? p1 : x
extern const ElementOp log_sigmoid;
extern const ElementOp squared_difference;   // (a - b)^2
extern const ElementOp logit_cross_entropy;  // (1 - b) a + log(1 + exp(-a))
extern const ElementOp sigmoid_backward;
extern const ElementOp tanh_backward;
extern const ElementOp gelu_backward;
extern const ElementOp gelu_tanh_backward;
extern const ElementOp silu_backward;
extern const ElementOp threshold_backward;  // p0 = threshold

}  // namespace at::cpu::loops
