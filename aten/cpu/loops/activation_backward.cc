#include "aten/cpu/loops/activation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/loops/activation_backward.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/loops/activation_backward-inl.h"

#if HWY_ONCE

#include "aten/cpu/isa_table.h"
#include "aten/cpu/loops/complex.h"

namespace at::cpu::loops {

AT_ELEMENT_OP(sigmoid_backward, {AT_FORMULA(SigmoidBackward), complex_table<op::SigmoidBackward, float>(),
              complex_table<op::SigmoidBackward, double>()});
AT_ELEMENT_OP(tanh_backward, {AT_FORMULA(TanhBackward), complex_table<op::TanhBackward, float>(),
              complex_table<op::TanhBackward, double>()});
AT_ELEMENT_OP(gelu_backward, {AT_FORMULA(GeluBackward), {}, {}});
AT_ELEMENT_OP(gelu_tanh_backward, {AT_FORMULA(GeluTanhBackward), {}, {}});
AT_ELEMENT_OP(silu_backward, {AT_FORMULA(SiluBackward), {}, {}});
AT_ELEMENT_OP(threshold_backward, {AT_FORMULA(ThresholdBackward), {}, {}});

}  // namespace at::cpu::loops

#endif  // HWY_ONCE
