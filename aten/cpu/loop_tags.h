#pragma once

// One empty type an elementwise operator: the key by which each target's code defines it (VecFn<op::Add>,
// ScalarFn<op::Add>). What they compute is said where the operators are declared, in loops.h.

namespace at::cpu::op {

struct Add {};
struct AddScaled {};
struct Sub {};
struct Mul {};
struct Div {};
struct Maximum {};
struct Minimum {};
struct Fmax {};
struct Fmin {};
struct Eq {};
struct Ne {};
struct Lt {};
struct Le {};
struct Gt {};
struct Ge {};
struct LogicalAnd {};
struct LogicalOr {};
struct LogicalXor {};
struct LogicalNot {};
struct IsNan {};
struct IsInf {};
struct IsFinite {};
struct IsPosInf {};
struct IsNegInf {};
struct SignBit {};
struct Neg {};
struct Abs {};
struct Sign {};
struct Sgn {};
struct Ceil {};
struct Floor {};
struct Round {};
struct Trunc {};
struct Frac {};
struct Reciprocal {};
struct Square {};
struct Cube {};
struct InverseSquare {};
struct Sqrt {};
struct Rsqrt {};
struct BitNot {};
struct Conj {};
struct Clamp {};
struct ClampMin {};
struct ClampMax {};
struct ClampTensor {};
struct Addcmul {};
struct Addcdiv {};
struct Lerp {};
struct LerpScalar {};
struct Copysign {};
struct Xlogy {};
struct Pow {};
struct NanToNum {};
struct RoundDecimals {};

struct Exp {};
struct Exp2 {};
struct Expm1 {};
struct Log {};
struct Log2 {};
struct Log10 {};
struct Log1p {};
struct Sin {};
struct Cos {};
struct Tan {};
struct Asin {};
struct Acos {};
struct Atan {};
struct Sinh {};
struct Cosh {};
struct Tanh {};
struct Asinh {};
struct Acosh {};
struct Atanh {};
struct Sigmoid {};
struct Erf {};
struct Sinc {};
struct LogSigmoid {};
struct Gelu {};
struct GeluTanh {};
struct Silu {};
struct Mish {};
struct Softplus {};
struct Elu {};
struct LeakyRelu {};
struct Hardsigmoid {};
struct Hardswish {};
struct Softshrink {};
struct Hardshrink {};
struct Threshold {};
struct Prelu {};

struct SigmoidBackward {};
struct TanhBackward {};
struct GeluBackward {};
struct GeluTanhBackward {};
struct SiluBackward {};
struct ThresholdBackward {};

}  // namespace at::cpu::op
