#pragma once

#include "aten/cpu/elementwise.h"

// Activations and their gradients, float and double (silu: complex too). p0, p1, p2 are the context's scalars.
//
// gelu and gelu_tanh are x * c with c, the cumulative distribution (or its tanh approximation), good to 2^-23 absolutely; the
// others are within 4 ULP. Gradients take (gradient, input), sigmoid's, tanh's and elu_result's (gradient, result).

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
extern const ElementOp sigmoid_backward;
extern const ElementOp tanh_backward;
extern const ElementOp gelu_backward;
extern const ElementOp gelu_tanh_backward;
extern const ElementOp silu_backward;
extern const ElementOp mish_backward;
extern const ElementOp softplus_backward;
extern const ElementOp elu_backward;  // as elu, of the input
extern const ElementOp elu_result_backward;  // as elu, of the result
extern const ElementOp leaky_relu_backward;
extern const ElementOp hardtanh_backward;  // p0 = min, p1 = max
extern const ElementOp hardsigmoid_backward;
extern const ElementOp hardswish_backward;
extern const ElementOp shrink_backward;  // p0 = lambda
extern const ElementOp threshold_backward;  // p0 = threshold
extern const ElementOp log_sigmoid_backward;
extern const ElementOp logit_backward;  // p0 = eps, p1 = 1 - eps

}  // namespace at::cpu::loops
