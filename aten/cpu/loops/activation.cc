#include "aten/cpu/loops/activation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/loops/activation.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/loops/activation-inl.h"

#if HWY_ONCE

#include "aten/cpu/isa_table.h"
#include "aten/cpu/loops/complex.h"

namespace at::cpu::loops {

constinit const ElementOp gelu = {AT_FORMULA(Gelu), {}, {}};
constinit const ElementOp gelu_tanh = {AT_FORMULA(GeluTanh), {}, {}};
constinit const ElementOp silu = {
    AT_FORMULA(Silu), complex_table<op::Silu, float>(), complex_table<op::Silu, double>()};
constinit const ElementOp mish = {AT_FORMULA(Mish), {}, {}};
constinit const ElementOp softplus = {AT_FORMULA(Softplus), {}, {}};
constinit const ElementOp elu = {AT_FORMULA(Elu), {}, {}};
constinit const ElementOp leaky_relu = {AT_FLOAT_FORMULA(LeakyRelu), {}, {}};
constinit const ElementOp hardsigmoid = {AT_FLOAT_FORMULA(Hardsigmoid), {}, {}};
constinit const ElementOp hardswish = {AT_FLOAT_FORMULA(Hardswish), {}, {}};
constinit const ElementOp softshrink = {AT_FLOAT_FORMULA(Softshrink), {}, {}};
constinit const ElementOp hardshrink = {AT_FLOAT_FORMULA(Hardshrink), {}, {}};
constinit const ElementOp prelu = {AT_FLOAT_FORMULA(Prelu), {}, {}};
constinit const ElementOp threshold = {AT_FLOAT_FORMULA(Threshold), {}, {}};
constinit const ElementOp log_sigmoid = {AT_FORMULA(LogSigmoid), {}, {}};
constinit const ElementOp squared_difference = {AT_FLOAT_FORMULA(SquaredDifference), {}, {}};
constinit const ElementOp logit_cross_entropy = {AT_FORMULA(LogitCrossEntropy), {}, {}};

}  // namespace at::cpu::loops

#endif  // HWY_ONCE
