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

AT_ELEMENT_OP(gelu, {AT_FORMULA(Gelu), {}, {}});
AT_ELEMENT_OP(gelu_tanh, {AT_FORMULA(GeluTanh), {}, {}});
AT_ELEMENT_OP(silu, {AT_FORMULA(Silu), complex_table<op::Silu, float>(), complex_table<op::Silu, double>()});
AT_ELEMENT_OP(mish, {AT_FORMULA(Mish), {}, {}});
AT_ELEMENT_OP(softplus, {AT_FORMULA(Softplus), {}, {}});
AT_ELEMENT_OP(elu, {AT_FORMULA(Elu), {}, {}});
AT_ELEMENT_OP(leaky_relu, {AT_FLOAT_FORMULA(LeakyRelu), {}, {}});
AT_ELEMENT_OP(hardsigmoid, {AT_FLOAT_FORMULA(Hardsigmoid), {}, {}});
AT_ELEMENT_OP(hardswish, {AT_FLOAT_FORMULA(Hardswish), {}, {}});
AT_ELEMENT_OP(softshrink, {AT_FLOAT_FORMULA(Softshrink), {}, {}});
AT_ELEMENT_OP(hardshrink, {AT_FLOAT_FORMULA(Hardshrink), {}, {}});
AT_ELEMENT_OP(prelu, {AT_FLOAT_FORMULA(Prelu), {}, {}});
AT_ELEMENT_OP(threshold, {AT_FLOAT_FORMULA(Threshold), {}, {}});
AT_ELEMENT_OP(log_sigmoid, {AT_FORMULA(LogSigmoid), {}, {}});
AT_ELEMENT_OP(squared_difference, {AT_FLOAT_FORMULA(SquaredDifference), {}, {}});
AT_ELEMENT_OP(logit_cross_entropy, {AT_FORMULA(LogitCrossEntropy), {}, {}});

}  // namespace at::cpu::loops

#endif  // HWY_ONCE
