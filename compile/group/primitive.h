// The functions of elements that fused groups are made of. Each is an operator of aten/cpu/loops, where loops.h,
// activation.h and integer.h say what it computes; a group is right where it gives what those loops give.
#pragma once

#include <cstdint>

#include "aten/cpu/elementwise.h"

namespace torch::compiler {

/// How the operator is written down, by its tag at::cpu::op::Tag.
enum class Form : uint8_t {
  kVector,     ///< VecFn<Tag> on vectors of float and double; ScalarFn<Tag> on integers, where it has those
  kFormula,    ///< Fn<Tag> on a number type, one of float vectors among them
  kPredicate,  ///< ScalarFn<Tag>, whose result is a bool
  kLoop,       ///< no tag: as a loop only
};

// X(Tag, name in at::cpu::loops, operands, parameters, form)
#define KD_PRIMITIVES(X)                                   \
  X(Add, add, 2, 0, kVector)                               \
  X(AddScaled, add_scaled, 2, 1, kVector)                  \
  X(Sub, sub, 2, 0, kVector)                               \
  X(Mul, mul, 2, 0, kVector)                               \
  X(Div, div, 2, 0, kVector)                               \
  X(Maximum, maximum, 2, 0, kVector)                       \
  X(Minimum, minimum, 2, 0, kVector)                       \
  X(Fmax, fmax, 2, 0, kVector)                             \
  X(Fmin, fmin, 2, 0, kVector)                             \
  X(Clamp, clamp, 1, 2, kVector)                           \
  X(ClampMin, clamp_min, 1, 1, kVector)                    \
  X(ClampMax, clamp_max, 1, 1, kVector)                    \
  X(ClampTensor, clamp_tensor, 3, 0, kVector)              \
  X(Addcmul, addcmul, 3, 1, kVector)                       \
  X(Addcdiv, addcdiv, 3, 1, kVector)                       \
  X(Lerp, lerp, 3, 0, kVector)                             \
  X(LerpScalar, lerp_scalar, 2, 1, kVector)                \
  X(Neg, neg, 1, 0, kVector)                               \
  X(Abs, abs, 1, 0, kVector)                               \
  X(Sign, sign, 1, 0, kVector)                             \
  X(Ceil, ceil, 1, 0, kVector)                             \
  X(Floor, floor, 1, 0, kVector)                           \
  X(Round, round, 1, 0, kVector)                           \
  X(Trunc, trunc, 1, 0, kVector)                           \
  X(Frac, frac, 1, 0, kVector)                             \
  X(Reciprocal, reciprocal, 1, 0, kVector)                 \
  X(Square, square, 1, 0, kVector)                         \
  X(Cube, cube, 1, 0, kVector)                             \
  X(InverseSquare, inverse_square, 1, 0, kVector)          \
  X(Sqrt, sqrt, 1, 0, kVector)                             \
  X(Rsqrt, rsqrt, 1, 0, kVector)                           \
  X(Copysign, copysign, 2, 0, kVector)                     \
  X(NanToNum, nan_to_num, 1, 3, kVector)                   \
  X(RoundDecimals, round_decimals, 1, 2, kVector)          \
  X(BitNot, bitwise_not, 1, 0, kVector)                    \
  X(Eq, eq, 2, 0, kPredicate)                              \
  X(Ne, ne, 2, 0, kPredicate)                              \
  X(Lt, lt, 2, 0, kPredicate)                              \
  X(Le, le, 2, 0, kPredicate)                              \
  X(Gt, gt, 2, 0, kPredicate)                              \
  X(Ge, ge, 2, 0, kPredicate)                              \
  X(LogicalAnd, logical_and, 2, 0, kPredicate)             \
  X(LogicalOr, logical_or, 2, 0, kPredicate)               \
  X(LogicalXor, logical_xor, 2, 0, kPredicate)             \
  X(LogicalNot, logical_not, 1, 0, kPredicate)             \
  X(IsNan, isnan, 1, 0, kPredicate)                        \
  X(IsInf, isinf, 1, 0, kPredicate)                        \
  X(IsFinite, isfinite, 1, 0, kPredicate)                  \
  X(IsPosInf, isposinf, 1, 0, kPredicate)                  \
  X(IsNegInf, isneginf, 1, 0, kPredicate)                  \
  X(SignBit, signbit, 1, 0, kPredicate)                    \
  X(Exp, exp, 1, 0, kFormula)                              \
  X(Exp2, exp2, 1, 0, kFormula)                            \
  X(Expm1, expm1, 1, 0, kFormula)                          \
  X(Log, log, 1, 0, kFormula)                              \
  X(Log2, log2, 1, 0, kFormula)                            \
  X(Log10, log10, 1, 0, kFormula)                          \
  X(Log1p, log1p, 1, 0, kFormula)                          \
  X(Sin, sin, 1, 0, kFormula)                              \
  X(Cos, cos, 1, 0, kFormula)                              \
  X(Tanh, tanh, 1, 0, kFormula)                            \
  X(Sigmoid, sigmoid, 1, 0, kFormula)                      \
  X(Erf, erf, 1, 0, kFormula)                              \
  X(Asin, asin, 1, 0, kFormula)                            \
  X(Acos, acos, 1, 0, kFormula)                            \
  X(Atan, atan, 1, 0, kFormula)                            \
  X(Atan2, atan2, 2, 0, kFormula)                          \
  X(Erfinv, erfinv, 1, 0, kFormula)                        \
  X(Xlogy, xlogy, 2, 0, kFormula)                          \
  X(LogAddExp, logaddexp, 2, 0, kFormula)                  \
  X(LogAddExp2, logaddexp2, 2, 0, kFormula)                \
  X(Logit, logit, 1, 0, kFormula)                          \
  X(LogitClamped, logit_eps, 1, 1, kFormula)               \
  X(Gelu, gelu, 1, 0, kFormula)                            \
  X(GeluTanh, gelu_tanh, 1, 0, kFormula)                   \
  X(Silu, silu, 1, 0, kFormula)                            \
  X(Mish, mish, 1, 0, kFormula)                            \
  X(Softplus, softplus, 1, 2, kFormula)                    \
  X(Elu, elu, 1, 3, kFormula)                              \
  X(LeakyRelu, leaky_relu, 1, 1, kFormula)                 \
  X(Hardsigmoid, hardsigmoid, 1, 0, kFormula)              \
  X(Hardswish, hardswish, 1, 0, kFormula)                  \
  X(Softshrink, softshrink, 1, 1, kFormula)                \
  X(Hardshrink, hardshrink, 1, 1, kFormula)                \
  X(Prelu, prelu, 2, 0, kFormula)                          \
  X(Threshold, threshold, 1, 2, kFormula)                  \
  X(LogSigmoid, log_sigmoid, 1, 0, kFormula)               \
  X(SigmoidBackward, sigmoid_backward, 2, 0, kFormula)     \
  X(TanhBackward, tanh_backward, 2, 0, kFormula)           \
  X(GeluBackward, gelu_backward, 2, 0, kFormula)           \
  X(GeluTanhBackward, gelu_tanh_backward, 2, 0, kFormula)  \
  X(SiluBackward, silu_backward, 2, 0, kFormula)           \
  X(ThresholdBackward, threshold_backward, 2, 1, kFormula) \
  X(Tan, tan, 1, 0, kLoop)                                 \
  X(Sinh, sinh, 1, 0, kLoop)                               \
  X(Cosh, cosh, 1, 0, kLoop)                               \
  X(Asinh, asinh, 1, 0, kLoop)                             \
  X(Acosh, acosh, 1, 0, kLoop)                             \
  X(Atanh, atanh, 1, 0, kLoop)                             \
  X(Erfc, erfc, 1, 0, kLoop)                               \
  X(Sinc, sinc, 1, 0, kLoop)                               \
  X(Lgamma, lgamma, 1, 0, kLoop)                           \
  X(Digamma, digamma, 1, 0, kLoop)                         \
  X(RealAngle, real_angle, 1, 0, kLoop)                    \
  X(Hypot, hypot, 2, 0, kLoop)                             \
  X(Fmod, fmod, 2, 0, kLoop)                               \
  X(Remainder, remainder, 2, 0, kLoop)                     \
  X(FloorDivide, floor_divide, 2, 0, kLoop)                \
  X(TruncDivide, trunc_divide, 2, 0, kLoop)                \
  X(Pow, pow, 2, 0, kLoop)                                 \
  X(Heaviside, heaviside, 2, 0, kLoop)                     \
  X(BitwiseAnd, bitwise_and, 2, 1, kLoop)                  \
  X(BitwiseOr, bitwise_or, 2, 1, kLoop)                    \
  X(BitwiseXor, bitwise_xor, 2, 1, kLoop)                  \
  X(ShiftLeft, shift_left, 2, 1, kLoop)                    \
  X(ShiftRight, shift_right, 2, 1, kLoop)                  \
  X(Gcd, gcd, 2, 1, kLoop)                                 \
  X(Lcm, lcm, 2, 1, kLoop)

enum class Primitive : uint8_t {
#define KD_PRIMITIVE(Tag, loop, operands, parameters, form) k##Tag,
  KD_PRIMITIVES(KD_PRIMITIVE)
#undef KD_PRIMITIVE
      kConvert,  ///< the operand as at::cpu::convert (aten/cpu/cast.h) has it in another type
  kWhere,        ///< operands: condition (Bool), a, b: a where the condition holds, else b
};

struct PrimitiveInfo {
  const char* name;                ///< that of the loop; "convert", "where"
  const at::cpu::ElementOp* loop;  ///< null for kConvert and kWhere
  uint8_t operands;
  uint8_t parameters;  ///< of the type that it computes in; that of bits (kBitwiseAnd to kLcm) is the dtype's width, an
                       ///< int32
  Form form;
};
const PrimitiveInfo& info_of(Primitive primitive);

/// Whether the one parameter is the width of the dtype.
constexpr bool takes_width(Primitive primitive) {
  return primitive >= Primitive::kBitwiseAnd && primitive <= Primitive::kLcm;
}

}  // namespace torch::compiler
