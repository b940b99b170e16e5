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

AT_ELEMENT_OP(exp, {AT_FORMULA(Exp), AT_COMPLEX_MATH(Exp)});
AT_ELEMENT_OP(expm1, {AT_FORMULA(Expm1), AT_COMPLEX_MATH(Expm1)});
AT_ELEMENT_OP(log, {AT_FORMULA(Log), AT_COMPLEX_MATH(Log)});
AT_ELEMENT_OP(log1p, {AT_FORMULA(Log1p), AT_COMPLEX_MATH(Log1p)});
AT_ELEMENT_OP(sin, {AT_FORMULA(Sin), AT_COMPLEX_MATH(Sin)});
AT_ELEMENT_OP(cos, {AT_FORMULA(Cos), AT_COMPLEX_MATH(Cos)});
AT_ELEMENT_OP(tanh, {AT_FORMULA(Tanh), AT_COMPLEX_MATH(Tanh)});
AT_ELEMENT_OP(sigmoid, {AT_FORMULA(Sigmoid), AT_COMPLEX_MATH(Sigmoid)});
AT_ELEMENT_OP(log2, {AT_FORMULA(Log2), AT_COMPLEX_MATH(Log2)});
AT_ELEMENT_OP(log10, {AT_FORMULA(Log10), AT_COMPLEX_MATH(Log10)});
AT_ELEMENT_OP(exp2, {AT_FORMULA(Exp2), AT_COMPLEX_MATH(Exp2)});
AT_ELEMENT_OP(erf, {AT_FLOAT_FORMULA(Erf), {}, {}});

}  // namespace at::cpu::loops

#endif  // HWY_ONCE
