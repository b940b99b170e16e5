#include "aten/cpu/loops/loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/loops/unary.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/loops/unary-inl.h"

#if HWY_ONCE

#include "aten/cpu/isa_table.h"
#include "aten/cpu/loops/complex.h"

namespace at::cpu::loops {

AT_ELEMENT_OP(neg, {AT_ISA_TABLE(F32V<op::Neg>::loop), AT_ISA_TABLE(F64V<op::Neg>::loop),
              AT_ISA_TABLE(I32<op::Neg>::loop), AT_ISA_TABLE(I64<op::Neg>::loop), AT_ISA_TABLE(Z64<op::Neg>::loop),
              AT_ISA_TABLE(Z128<op::Neg>::loop)});
AT_ELEMENT_OP(abs, with_float8(ElementOp{AT_ISA_TABLE(F32V<op::Abs>::loop), AT_ISA_TABLE(F64V<op::Abs>::loop),
              AT_ISA_TABLE(I32<op::Abs>::loop), AT_ISA_TABLE(I64<op::Abs>::loop), {}, {}}));
AT_ELEMENT_OP(sign, {AT_ISA_TABLE(F32V<op::Sign>::loop), AT_ISA_TABLE(F64V<op::Sign>::loop),
              AT_ISA_TABLE(I32<op::Sign>::loop), AT_ISA_TABLE(I64<op::Sign>::loop), {}, {}});
AT_ELEMENT_OP(sgn, {AT_ISA_TABLE(F32V<op::Sign>::loop), AT_ISA_TABLE(F64V<op::Sign>::loop),
              AT_ISA_TABLE(I32<op::Sign>::loop), AT_ISA_TABLE(I64<op::Sign>::loop), complex_table<op::Sgn, float>(),
              complex_table<op::Sgn, double>()});
AT_ELEMENT_OP(ceil, {AT_ISA_TABLE(F32V<op::Ceil>::loop), AT_ISA_TABLE(F64V<op::Ceil>::loop), {}, {}, {}, {}});
AT_ELEMENT_OP(floor, {AT_ISA_TABLE(F32V<op::Floor>::loop), AT_ISA_TABLE(F64V<op::Floor>::loop), {}, {}, {}, {}});
AT_ELEMENT_OP(round, {AT_ISA_TABLE(F32V<op::Round>::loop), AT_ISA_TABLE(F64V<op::Round>::loop), {}, {}, {}, {}});
AT_ELEMENT_OP(trunc, {AT_ISA_TABLE(F32V<op::Trunc>::loop), AT_ISA_TABLE(F64V<op::Trunc>::loop), {}, {}, {}, {}});
AT_ELEMENT_OP(frac, {AT_ISA_TABLE(F32V<op::Frac>::loop), AT_ISA_TABLE(F64V<op::Frac>::loop), {}, {}, {}, {}});
AT_ELEMENT_OP(reciprocal, {AT_ISA_TABLE(F32V<op::Reciprocal>::loop), AT_ISA_TABLE(F64V<op::Reciprocal>::loop), {}, {},
              AT_ISA_TABLE(Z64<op::Reciprocal>::loop), AT_ISA_TABLE(Z128<op::Reciprocal>::loop)});
AT_ELEMENT_OP(square, {AT_ISA_TABLE(F32V<op::Square>::loop), AT_ISA_TABLE(F64V<op::Square>::loop),
              AT_ISA_TABLE(I32<op::Square>::loop), AT_ISA_TABLE(I64<op::Square>::loop),
              AT_ISA_TABLE(Z64<op::Square>::loop), AT_ISA_TABLE(Z128<op::Square>::loop)});
AT_ELEMENT_OP(cube, {AT_ISA_TABLE(F32V<op::Cube>::loop), AT_ISA_TABLE(F64V<op::Cube>::loop), {}, {}, {}, {}});
AT_ELEMENT_OP(inverse_square, {AT_ISA_TABLE(F32V<op::InverseSquare>::loop), AT_ISA_TABLE(F64V<op::InverseSquare>::loop),
              {}, {}, {}, {}});
AT_ELEMENT_OP(sqrt, {AT_ISA_TABLE(F32V<op::Sqrt>::loop), AT_ISA_TABLE(F64V<op::Sqrt>::loop), {}, {},
              AT_ISA_TABLE(Z64<op::Sqrt>::loop), complex_table<op::Sqrt, double>()});
AT_ELEMENT_OP(rsqrt, {AT_ISA_TABLE(F32V<op::Rsqrt>::loop), AT_ISA_TABLE(F64V<op::Rsqrt>::loop), {}, {},
              complex_table<op::Rsqrt, float>(), complex_table<op::Rsqrt, double>()});
AT_ELEMENT_OP(bitwise_not, {{}, {}, AT_ISA_TABLE(I32<op::BitNot>::loop), AT_ISA_TABLE(I64<op::BitNot>::loop), {}, {}});
AT_ELEMENT_OP(conj, {{}, {}, {}, {}, AT_ISA_TABLE(Z64<op::Conj>::loop), AT_ISA_TABLE(Z128<op::Conj>::loop)});
AT_ELEMENT_OP(copysign, {AT_ISA_TABLE(F32V<op::Copysign>::loop), AT_ISA_TABLE(F64V<op::Copysign>::loop), {}, {}, {},
              {}});
AT_ELEMENT_OP(nan_to_num, {AT_ISA_TABLE(F32V<op::NanToNum>::loop), AT_ISA_TABLE(F64V<op::NanToNum>::loop), {}, {}, {},
              {}});
AT_ELEMENT_OP(round_decimals, {AT_ISA_TABLE(F32V<op::RoundDecimals>::loop), AT_ISA_TABLE(F64V<op::RoundDecimals>::loop),
              {}, {}, {}, {}});

}  // namespace at::cpu::loops

#endif  // HWY_ONCE
