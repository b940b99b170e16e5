#include "aten/cpu/loops/loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/loops/arithmetic.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/loops/arithmetic-inl.h"

#if HWY_ONCE

#include "aten/cpu/isa_table.h"

namespace at::cpu::loops {

#define AT_NUMBERS(tag)                                                                                               \
  {AT_ISA_TABLE(F32V<op::tag>::loop), AT_ISA_TABLE(F64V<op::tag>::loop), AT_ISA_TABLE(I32<op::tag>::loop),            \
   AT_ISA_TABLE(I64<op::tag>::loop),  AT_ISA_TABLE(Z64<op::tag>::loop),  AT_ISA_TABLE(Z128<op::tag>::loop)}
#define AT_REALS(tag)                                                                                          \
  {AT_ISA_TABLE(F32V<op::tag>::loop), AT_ISA_TABLE(F64V<op::tag>::loop), AT_ISA_TABLE(I32<op::tag>::loop), \
   AT_ISA_TABLE(I64<op::tag>::loop),  {}, {}}

// Unsigned integers have the loop of int64 where its bits are theirs, and one of their own where order counts.
AT_ELEMENT_OP(add, AT_NUMBERS(Add));
AT_ELEMENT_OP(add_scaled, AT_NUMBERS(AddScaled));
AT_ELEMENT_OP(sub, AT_NUMBERS(Sub));
AT_ELEMENT_OP(mul, with_unsigned(ElementOp AT_NUMBERS(Mul), AT_ISA_TABLE(I64<op::Mul>::loop), /*float8=*/true));
AT_ELEMENT_OP(addcmul, AT_NUMBERS(Addcmul));
AT_ELEMENT_OP(div, {AT_ISA_TABLE(F32V<op::Div>::loop), AT_ISA_TABLE(F64V<op::Div>::loop), {}, {},
              AT_ISA_TABLE(Z64<op::Div>::loop), AT_ISA_TABLE(Z128<op::Div>::loop)});
AT_ELEMENT_OP(addcdiv, {AT_ISA_TABLE(F32V<op::Addcdiv>::loop), AT_ISA_TABLE(F64V<op::Addcdiv>::loop), {}, {},
              AT_ISA_TABLE(Z64<op::Addcdiv>::loop), AT_ISA_TABLE(Z128<op::Addcdiv>::loop)});
AT_ELEMENT_OP(lerp, {AT_ISA_TABLE(F32V<op::Lerp>::loop), AT_ISA_TABLE(F64V<op::Lerp>::loop), {}, {},
              AT_ISA_TABLE(Z64<op::Lerp>::loop), AT_ISA_TABLE(Z128<op::Lerp>::loop)});
AT_ELEMENT_OP(lerp_scalar, {AT_ISA_TABLE(F32V<op::LerpScalar>::loop), AT_ISA_TABLE(F64V<op::LerpScalar>::loop), {}, {},
              AT_ISA_TABLE(Z64<op::LerpScalar>::loop), AT_ISA_TABLE(Z128<op::LerpScalar>::loop)});
AT_ELEMENT_OP(maximum, with_unsigned(ElementOp AT_REALS(Maximum), AT_BASELINE_TABLE(U64<op::Maximum>::loop)));
AT_ELEMENT_OP(minimum, with_unsigned(ElementOp AT_REALS(Minimum), AT_BASELINE_TABLE(U64<op::Minimum>::loop)));
AT_ELEMENT_OP(fmax, with_unsigned(ElementOp{AT_ISA_TABLE(F32V<op::Fmax>::loop), AT_ISA_TABLE(F64V<op::Fmax>::loop),
              AT_ISA_TABLE(I32<op::Maximum>::loop), AT_ISA_TABLE(I64<op::Maximum>::loop), {}, {}},
              AT_BASELINE_TABLE(U64<op::Maximum>::loop)));
AT_ELEMENT_OP(fmin, with_unsigned(ElementOp{AT_ISA_TABLE(F32V<op::Fmin>::loop), AT_ISA_TABLE(F64V<op::Fmin>::loop),
              AT_ISA_TABLE(I32<op::Minimum>::loop), AT_ISA_TABLE(I64<op::Minimum>::loop), {}, {}},
              AT_BASELINE_TABLE(U64<op::Minimum>::loop)));
AT_ELEMENT_OP(clamp, with_unsigned(ElementOp AT_REALS(Clamp), AT_BASELINE_TABLE(U64<op::Clamp>::loop)));
AT_ELEMENT_OP(clamp_min, with_unsigned(ElementOp AT_REALS(ClampMin), AT_BASELINE_TABLE(U64<op::ClampMin>::loop)));
AT_ELEMENT_OP(clamp_max, with_unsigned(ElementOp AT_REALS(ClampMax), AT_BASELINE_TABLE(U64<op::ClampMax>::loop)));
AT_ELEMENT_OP(clamp_tensor, with_unsigned(ElementOp AT_REALS(ClampTensor),
              AT_BASELINE_TABLE(U64<op::ClampTensor>::loop)));

}  // namespace at::cpu::loops

#endif  // HWY_ONCE
