#include "aten/cpu/loops/loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/loops/math.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/loops/math-inl.h"

#if HWY_ONCE

#include "aten/cpu/isa_table.h"
#include "aten/cpu/loops/complex.h"

namespace at::cpu::loops {

#define AT_COMPLEX_MATH(tag) complex_table<op::tag, float>(), complex_table<op::tag, double>()

constinit const ElementOp exp = {AT_FORMULA(Exp), AT_COMPLEX_MATH(Exp)};
constinit const ElementOp expm1 = {AT_FORMULA(Expm1), AT_COMPLEX_MATH(Expm1)};
constinit const ElementOp log = {AT_FORMULA(Log), AT_COMPLEX_MATH(Log)};
constinit const ElementOp log1p = {AT_FORMULA(Log1p), AT_COMPLEX_MATH(Log1p)};
constinit const ElementOp sin = {AT_FORMULA(Sin), AT_COMPLEX_MATH(Sin)};
constinit const ElementOp cos = {AT_FORMULA(Cos), AT_COMPLEX_MATH(Cos)};
constinit const ElementOp tanh = {AT_FORMULA(Tanh), AT_COMPLEX_MATH(Tanh)};
constinit const ElementOp sigmoid = {AT_FORMULA(Sigmoid), AT_COMPLEX_MATH(Sigmoid)};
constinit const ElementOp log2 = {AT_FORMULA(Log2), AT_COMPLEX_MATH(Log2)};
constinit const ElementOp log10 = {AT_FORMULA(Log10), AT_COMPLEX_MATH(Log10)};
constinit const ElementOp exp2 = {AT_FORMULA(Exp2), AT_COMPLEX_MATH(Exp2)};
constinit const ElementOp erf = {AT_FLOAT_FORMULA(Erf), {}, {}};

}  // namespace at::cpu::loops

#endif  // HWY_ONCE
