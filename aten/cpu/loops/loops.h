#pragma once

#include "aten/cpu/elementwise.h"

// The elementwise operators' loops. Argument order: output, then inputs. "params" are the scalars that the call's context
// points to, in the compute type (half and bfloat16: float; bool, uint8, int8, int16: int32). Each operator is a symbol of
// its own: a program holds only the loops it uses.

namespace at::cpu::loops {

// Arithmetic: all compute types; integers wrap.
extern const ElementOp add;         // a + b
extern const ElementOp add_scaled;  // a + b * p0
extern const ElementOp sub;         // a - b
extern const ElementOp mul;         // a * b
extern const ElementOp addcmul;     // a + p0 * b * c
// Floating and complex.
extern const ElementOp div;          // a / b
extern const ElementOp addcdiv;      // a + p0 * b / c
extern const ElementOp lerp;         // a + c * (b - a), exact at c = 0 and 1
extern const ElementOp lerp_scalar;  // the same with p0 for c
// Real: NaN in, NaN out; fmax and fmin prefer the number.
extern const ElementOp maximum;
extern const ElementOp minimum;
extern const ElementOp fmax;
extern const ElementOp fmin;
extern const ElementOp clamp;         // min(max(a, p0), p1)
extern const ElementOp clamp_min;     // max(a, p0)
extern const ElementOp clamp_max;     // min(a, p0)
extern const ElementOp clamp_tensor;  // min(max(a, b), c)

// Unary, all compute types where they make sense (conj: complex only; bitwise_not: integers only).
extern const ElementOp neg;
extern const ElementOp abs;   // real
extern const ElementOp sign;  // real; 0 for NaN
extern const ElementOp sgn;   // complex: z / |z|
extern const ElementOp ceil;
extern const ElementOp floor;
extern const ElementOp round;  // half to even
extern const ElementOp trunc;
extern const ElementOp frac;
extern const ElementOp reciprocal;
extern const ElementOp square;
extern const ElementOp cube;            // floating
extern const ElementOp inverse_square;  // floating
extern const ElementOp sqrt;
extern const ElementOp rsqrt;
extern const ElementOp bitwise_not;
extern const ElementOp conj;
extern const ElementOp copysign;        // |a| with b's sign
extern const ElementOp nan_to_num;      // p0 for NaN, p1 for +inf, p2 for -inf
extern const ElementOp round_decimals;  // p0 = 10^|decimals|, p1 != 0 for negative decimals

// Predicates: the output is bool.
extern const ElementOp eq;
extern const ElementOp ne;
extern const ElementOp lt;
extern const ElementOp le;
extern const ElementOp gt;
extern const ElementOp ge;
extern const ElementOp logical_and;
extern const ElementOp logical_or;
extern const ElementOp logical_xor;
extern const ElementOp logical_not;
// The same of bools (any byte but 0 is true) without the way through a compute type.
extern const ElementTable bool_and;
extern const ElementTable bool_or;
extern const ElementTable bool_xor;
extern const ElementTable bool_not;
extern const ElementOp isnan;
extern const ElementOp isinf;
extern const ElementOp isfinite;
extern const ElementOp isposinf;
extern const ElementOp isneginf;
extern const ElementOp signbit;

// Elementary functions, floating, most complex. Their errors, and those of all others: docs/accuracy.md.
extern const ElementOp exp;
extern const ElementOp exp2;
extern const ElementOp expm1;
extern const ElementOp log;
extern const ElementOp log2;
extern const ElementOp log10;
extern const ElementOp log1p;
extern const ElementOp sin;
extern const ElementOp cos;
extern const ElementOp tanh;
extern const ElementOp erf;
extern const ElementOp sigmoid;
extern const ElementOp tan;
extern const ElementOp asin;
extern const ElementOp acos;
extern const ElementOp atan;
extern const ElementOp sinh;
extern const ElementOp cosh;
extern const ElementOp asinh;
extern const ElementOp acosh;
extern const ElementOp atanh;
extern const ElementOp lgamma;
extern const ElementOp digamma;
extern const ElementOp real_angle;  // 0 or pi
extern const ElementOp erfc;
extern const ElementOp erfinv;
extern const ElementOp sinc;
extern const ElementOp logit;
extern const ElementOp logit_eps;  // logit of a clamped to [p0, 1 - p0]
extern const ElementOp atan2;
extern const ElementOp hypot;
extern const ElementOp fmod;          // sign of the dividend; floating
extern const ElementOp remainder;     // sign of the divisor; floating
extern const ElementOp floor_divide;  // floating
extern const ElementOp trunc_divide;  // floating
extern const ElementOp logaddexp;
extern const ElementOp logaddexp2;
extern const ElementOp xlogy;
extern const ElementOp pow;
extern const ElementOp nextafter;
extern const ElementOp heaviside;

}  // namespace at::cpu::loops

namespace at::cpu {

/// nextafter on the elements of bfloat16 and half themselves (operands of that dtype and compute type).
void nextafter_bfloat16(char* const* data, int64_t n, const void* context);
void nextafter_half(char* const* data, int64_t n, const void* context);

}  // namespace at::cpu
