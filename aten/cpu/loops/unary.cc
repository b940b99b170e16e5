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

constinit const ElementOp neg = {AT_ISA_TABLE(F32V<op::Neg>::loop), AT_ISA_TABLE(F64V<op::Neg>::loop),
                                 AT_ISA_TABLE(I32<op::Neg>::loop), AT_ISA_TABLE(I64<op::Neg>::loop),
                                 AT_ISA_TABLE(Z64<op::Neg>::loop), AT_ISA_TABLE(Z128<op::Neg>::loop)};
constinit const ElementOp abs = with_float8(ElementOp{AT_ISA_TABLE(F32V<op::Abs>::loop), AT_ISA_TABLE(F64V<op::Abs>::loop),
                                 AT_ISA_TABLE(I32<op::Abs>::loop), AT_ISA_TABLE(I64<op::Abs>::loop),
                                 {}, {}});
constinit const ElementOp sign = {AT_ISA_TABLE(F32V<op::Sign>::loop), AT_ISA_TABLE(F64V<op::Sign>::loop),
                                 AT_ISA_TABLE(I32<op::Sign>::loop), AT_ISA_TABLE(I64<op::Sign>::loop),
                                 {}, {}};
constinit const ElementOp sgn = {AT_ISA_TABLE(F32V<op::Sign>::loop), AT_ISA_TABLE(F64V<op::Sign>::loop),
                                 AT_ISA_TABLE(I32<op::Sign>::loop), AT_ISA_TABLE(I64<op::Sign>::loop),
                                 complex_table<op::Sgn, float>(), complex_table<op::Sgn, double>()};
constinit const ElementOp ceil = {AT_ISA_TABLE(F32V<op::Ceil>::loop), AT_ISA_TABLE(F64V<op::Ceil>::loop),
                                 {}, {},
                                 {}, {}};
constinit const ElementOp floor = {AT_ISA_TABLE(F32V<op::Floor>::loop), AT_ISA_TABLE(F64V<op::Floor>::loop),
                                 {}, {},
                                 {}, {}};
constinit const ElementOp round = {AT_ISA_TABLE(F32V<op::Round>::loop), AT_ISA_TABLE(F64V<op::Round>::loop),
                                 {}, {},
                                 {}, {}};
constinit const ElementOp trunc = {AT_ISA_TABLE(F32V<op::Trunc>::loop), AT_ISA_TABLE(F64V<op::Trunc>::loop),
                                 {}, {},
                                 {}, {}};
constinit const ElementOp frac = {AT_ISA_TABLE(F32V<op::Frac>::loop), AT_ISA_TABLE(F64V<op::Frac>::loop),
                                 {}, {},
                                 {}, {}};
constinit const ElementOp reciprocal = {AT_ISA_TABLE(F32V<op::Reciprocal>::loop), AT_ISA_TABLE(F64V<op::Reciprocal>::loop),
                                 {}, {},
                                 AT_ISA_TABLE(Z64<op::Reciprocal>::loop), AT_ISA_TABLE(Z128<op::Reciprocal>::loop)};
constinit const ElementOp square = {AT_ISA_TABLE(F32V<op::Square>::loop), AT_ISA_TABLE(F64V<op::Square>::loop),
                                 AT_ISA_TABLE(I32<op::Square>::loop), AT_ISA_TABLE(I64<op::Square>::loop),
                                 AT_ISA_TABLE(Z64<op::Square>::loop), AT_ISA_TABLE(Z128<op::Square>::loop)};
constinit const ElementOp cube = {AT_ISA_TABLE(F32V<op::Cube>::loop), AT_ISA_TABLE(F64V<op::Cube>::loop), {}, {}, {}, {}};
constinit const ElementOp inverse_square = {AT_ISA_TABLE(F32V<op::InverseSquare>::loop), AT_ISA_TABLE(F64V<op::InverseSquare>::loop), {}, {}, {}, {}};
constinit const ElementOp sqrt = {AT_ISA_TABLE(F32V<op::Sqrt>::loop), AT_ISA_TABLE(F64V<op::Sqrt>::loop),
                                 {}, {},
                                 AT_ISA_TABLE(Z64<op::Sqrt>::loop), complex_table<op::Sqrt, double>()};
constinit const ElementOp rsqrt = {AT_ISA_TABLE(F32V<op::Rsqrt>::loop), AT_ISA_TABLE(F64V<op::Rsqrt>::loop),
                                 {}, {},
                                 complex_table<op::Rsqrt, float>(), complex_table<op::Rsqrt, double>()};
constinit const ElementOp bitwise_not = {{}, {},
                                 AT_ISA_TABLE(I32<op::BitNot>::loop), AT_ISA_TABLE(I64<op::BitNot>::loop),
                                 {}, {}};
constinit const ElementOp conj = {{}, {},
                                 {}, {},
                                 AT_ISA_TABLE(Z64<op::Conj>::loop), AT_ISA_TABLE(Z128<op::Conj>::loop)};
constinit const ElementOp copysign = {AT_ISA_TABLE(F32V<op::Copysign>::loop), AT_ISA_TABLE(F64V<op::Copysign>::loop),
                                 {}, {},
                                 {}, {}};
constinit const ElementOp nan_to_num = {AT_ISA_TABLE(F32V<op::NanToNum>::loop), AT_ISA_TABLE(F64V<op::NanToNum>::loop),
                                 {}, {},
                                 {}, {}};
constinit const ElementOp round_decimals = {AT_ISA_TABLE(F32V<op::RoundDecimals>::loop), AT_ISA_TABLE(F64V<op::RoundDecimals>::loop),
                                 {}, {},
                                 {}, {}};

}  // namespace at::cpu::loops

#endif  // HWY_ONCE
