// Element by element.
#include <cmath>

#include "aten/core/tensor.h"
#include "export/onnx/exporter.h"

namespace torch::onnx {
namespace {

using c10::ScalarType;

bool is_float(ScalarType dtype) {
  return c10::isFloatingType(dtype);
}

// Operators of one argument under the name in the table.
void unary(const Call& c) {
  c.give(c.op(c.target, {c.in(0, c.result_dtype())}));
}
void same_for_integers(const Call& c) {
  c.give(is_float(c.dtype(0)) ? c.op(c.target, {c.in(0)}) : c.op("Identity", {c.in(0)}));
}
void tested(const Call& c) {
  if (is_float(c.dtype(0))) return c.give(c.op(c.target, {c.in(0)}));
  const Name x = c.in(0);
  c.give(c.op("Not", {c.op("Equal", {x, x})}));
}
void round(const Call& c) {
  supported(c.size() == 1 || c.i(1) == 0, "it rounds to a place");
  same_for_integers(c);
}
void trunc(const Call& c) {
  if (!is_float(c.dtype(0))) return c.give(c.op("Identity", {c.in(0)}));
  const Name x = c.in(0);
  c.give(c.op("Mul", {c.op("Floor", {c.op("Abs", {x})}), c.op("Sign", {x})}));
}
void logarithm(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  const double base = std::string_view(c.target) == "2" ? 2 : 10;
  c.give(c.op("Div", {c.op("Log", {c.in(0, dtype)}), c.number(std::log(base), dtype)}));
}
void log1p(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  c.give(c.op("Log", {c.op("Add", {c.in(0, dtype), c.number(1, dtype)})}));
}
void expm1(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  c.give(c.op("Sub", {c.op("Exp", {c.in(0, dtype)}), c.number(1, dtype)}));
}
void exp2(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  c.give(c.op("Pow", {c.number(2, dtype), c.in(0, dtype)}));
}
void erfc(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  c.give(c.op("Sub", {c.number(1, dtype), c.op("Erf", {c.in(0, dtype)})}));
}
void rsqrt(const Call& c) {
  c.give(c.op("Reciprocal", {c.op("Sqrt", {c.in(0, c.result_dtype())})}));
}
void square(const Call& c) {
  const Name x = c.in(0, c.result_dtype());
  c.give(c.op("Mul", {x, x}));
}
void bitwise_not(const Call& c) {
  c.give(c.op(c.dtype(0) == ScalarType::Bool ? "Not" : "BitwiseNot", {c.in(0)}));
}
void logical_not(const Call& c) {
  c.give(c.op("Not", {c.in(0, ScalarType::Bool)}));
}

// Of two arguments, in the result's dtype.
void binary(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  const bool truth = dtype == ScalarType::Bool;
  const std::string_view name = c.target;
  if (!truth) return c.give(c.op(c.target, {c.in(0, dtype), c.in(1, dtype)}));
  const char* logic = name == "Mul" || name == "Min" ? "And" : name == "Max" || name == "Add" ? "Or" : nullptr;
  supported(logic != nullptr, "it is of truth values");
  c.give(c.op(logic, {c.in(0, dtype), c.in(1, dtype)}));
}
// self + alpha*other, and the like.
Name scaled(const Call& c, size_t i, size_t alpha, ScalarType dtype) {
  const Name x = c.in(i, dtype);
  if (c.size() <= alpha) return x;
  const c10::IValue& factor = c.known(alpha);
  const bool one = factor.isInt() ? factor.toInt() == 1 : factor.isDouble() && factor.toDouble() == 1;
  return one ? x : c.op("Mul", {x, c.x.scalar(factor, dtype)});
}
void add(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  if (dtype == ScalarType::Bool) return binary(c);
  c.give(c.op(c.target, {c.in(0, dtype), scaled(c, 1, 2, dtype)}));
}
void rsub(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  c.give(c.op("Sub", {c.in(1, dtype), scaled(c, 0, 2, dtype)}));
}
Name truncated(const Call& c, const Name& q) {
  return c.op("Mul", {c.op("Floor", {c.op("Abs", {q})}), c.op("Sign", {q})});
}
Name floor_divided(const Call& c, const Name& x, const Name& y, ScalarType dtype) {
  if (is_float(dtype)) return c.op("Floor", {c.op("Div", {x, y})});
  // What is left has the divisor's sign, so that the rest divides.
  return c.op("Div", {c.op("Sub", {x, c.op("Mod", {x, y})}), y});
}
void div_mode(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  const Name x = c.in(0, dtype), y = c.in(1, dtype);
  const std::string mode = c.is_none(2) ? "" : c.known(2).toStringRef();
  if (mode == "floor") return c.give(floor_divided(c, x, y, dtype));
  const Name q = c.op("Div", {x, y});
  c.give(mode == "trunc" && is_float(dtype) ? truncated(c, q) : q);
}
void floor_divide(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  c.give(floor_divided(c, c.in(0, dtype), c.in(1, dtype), dtype));
}
void remainder(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  const Name x = c.in(0, dtype), y = c.in(1, dtype);
  if (!is_float(dtype)) return c.give(c.op("Mod", {x, y}));
  c.give(c.op("Sub", {x, c.op("Mul", {c.op("Floor", {c.op("Div", {x, y})}), y})}));
}
void fmod(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  c.give(c.op("Mod", {c.in(0, dtype), c.in(1, dtype)}, {{"fmod", int64_t{1}}}));
}
void atan2(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  const Name y = c.in(0, dtype), x = c.in(1, dtype), zero = c.number(0, dtype);
  const Name angle = c.op("Atan", {c.op("Div", {y, x})});
  const Name half = c.op("Where", {c.op("Less", {y, zero}), c.op("Sub", {angle, c.number(M_PI, dtype)}),
                                   c.op("Add", {angle, c.number(M_PI, dtype)})});
  const Name turned = c.op("Where", {c.op("Less", {x, zero}), half, angle});
  // 0/0 is 0.
  const Name nothing = c.op("And", {c.op("Equal", {x, zero}), c.op("Equal", {y, zero})});
  c.give(c.op("Where", {nothing, zero, turned}));
}
void compare(const Call& c) {
  const ScalarType dtype = c.promoted(0, 1);
  const std::string_view name = c.target;
  const bool truths = dtype == ScalarType::Bool && name != "Equal" && name != "NotEqual";
  const ScalarType wide = truths ? ScalarType::Int : dtype;
  const Name x = c.in(0, wide), y = c.in(1, wide);
  c.give(name == "NotEqual" ? c.op("Not", {c.op("Equal", {x, y})}) : c.op(c.target, {x, y}));
}
void logic(const Call& c) {
  c.give(c.op(c.target, {c.in(0, ScalarType::Bool), c.in(1, ScalarType::Bool)}));
}
void bitwise(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  const std::string name = dtype == ScalarType::Bool ? c.target : "Bitwise" + std::string(c.target);
  c.give(c.op(name.c_str(), {c.in(0, dtype), c.in(1, dtype)}));
}
void where(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  c.give(c.op("Where", {c.in(0, ScalarType::Bool), c.in(1, dtype), c.in(2, dtype)}));
}
void masked_fill(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  c.give(c.op("Where", {c.in(1, ScalarType::Bool), c.in(2, dtype), c.in(0, dtype)}));
}
void clamp(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  // Bounds of other sizes are tensors.
  Name x = c.in(0, dtype);
  if (!c.is_none(1)) x = c.op("Max", {x, c.in(1, dtype)});
  if (c.size() > 2 && !c.is_none(2)) x = c.op("Min", {x, c.in(2, dtype)});
  c.give(x);
}
void clamp_max(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  c.give(c.op("Min", {c.in(0, dtype), c.in(1, dtype)}));
}
void clip(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  c.give(
      c.op("Clip", {c.in(0, dtype), c.is_none(1) ? Name() : c.in(1, dtype), c.is_none(2) ? Name() : c.in(2, dtype)}));
}
void relu6(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  c.give(c.op("Clip", {c.in(0, dtype), c.number(0, dtype), c.number(6, dtype)}));
}

// --- activations ---

void gelu(const Call& c) {
  c.give(c.op("Gelu", {c.in(0)}, {{"approximate", c.known(1).toStringRef()}}));
}
void silu(const Call& c) {
  const Name x = c.in(0);
  c.give(c.op("Mul", {x, c.op("Sigmoid", {x})}));
}
void hardsigmoid(const Call& c) {
  c.give(c.op("HardSigmoid", {c.in(0)}, {{"alpha", 1.0 / 6}, {"beta", 0.5}}));
}
void elu(const Call& c) {
  supported(c.f(2) == 1 && c.f(3) == 1, "it has a scale");
  c.give(c.op("Elu", {c.in(0)}, {{"alpha", c.f(1)}}));
}
void with_alpha(const Call& c) {
  c.give(c.op(c.target, {c.in(0)}, {{"alpha", c.f(1)}}));
}
void softplus(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  const Name x = c.in(0), scaled = c.op("Mul", {x, c.number(c.f(1), dtype)});
  const Name curve = c.op("Div", {c.op("Softplus", {scaled}), c.number(c.f(1), dtype)});
  c.give(c.op("Where", {c.op("Greater", {scaled, c.number(c.f(2), dtype)}), x, curve}));
}
void softmax(const Call& c) {
  const int64_t dims = c.dims(0);
  const ScalarType dtype = c.result_dtype();
  const Name x = c.in(0, dtype);
  if (dims == 0) return c.give(c.op(c.target, {c.op("Unsqueeze", {x, c.x.ints({0})})}, {{"axis", int64_t{0}}}));
  c.give(c.op(c.target, {x}, {{"axis", c.dim(1, dims)}}));
}
void identity(const Call& c) {
  c.give(c.op("Identity", {c.in(0)}));
}
void cast(const Call& c) {
  c.give(c.in(0, c.result_dtype()));
}
void dropout(const Call& c) {
  supported(!c.b(2) || c.f(1) == 0, "it draws random numbers");
  identity(c);
}

// Checks are not part of a model.
void nothing(const Call& c) {
  for (size_t k = 0; k < c.node.result_count(); ++k) c.give("", k);
}
void log_sigmoid(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  // -softplus(-x)
  const Name minus = c.op("Neg", {c.in(0)});
  const Name curve = c.op("Where", {c.op("Greater", {minus, c.number(20, dtype)}), minus, c.op("Softplus", {minus})});
  c.give(c.op("Neg", {curve}));
}

constexpr Form kForms[] = {
    {"aten::_assert_tensor_metadata", nothing},
    {"aten::_assert_scalar", nothing},
    {"aten::_assert_async.msg", nothing},
    {"aten::log_sigmoid", log_sigmoid},
    {"aten::__and__.Tensor", bitwise, "And"},
    {"aten::__and__.Scalar", bitwise, "And"},
    {"aten::__or__.Tensor", bitwise, "Or"},
    {"aten::__or__.Scalar", bitwise, "Or"},
    {"aten::__xor__.Tensor", bitwise, "Xor"},
    {"aten::__xor__.Scalar", bitwise, "Xor"},
    {"aten::abs", unary, "Abs"},
    {"aten::exp", unary, "Exp"},
    {"aten::erf", unary, "Erf"},
    {"aten::sign", unary, "Sign"},
    {"aten::sgn", unary, "Sign"},
    {"aten::sin", unary, "Sin"},
    {"aten::cos", unary, "Cos"},
    {"aten::tan", unary, "Tan"},
    {"aten::tanh", unary, "Tanh"},
    {"aten::sigmoid", unary, "Sigmoid"},
    {"aten::relu", unary, "Relu"},
    {"aten::neg", unary, "Neg"},
    {"aten::sqrt", unary, "Sqrt"},
    {"aten::reciprocal", unary, "Reciprocal"},
    {"aten::log", unary, "Log"},
    {"aten::asin", unary, "Asin"},
    {"aten::acos", unary, "Acos"},
    {"aten::atan", unary, "Atan"},
    {"aten::sinh", unary, "Sinh"},
    {"aten::cosh", unary, "Cosh"},
    {"aten::asinh", unary, "Asinh"},
    {"aten::acosh", unary, "Acosh"},
    {"aten::atanh", unary, "Atanh"},
    {"aten::mish", unary, "Mish"},
    {"aten::selu", unary, "Selu"},
    {"aten::hardswish", unary, "HardSwish"},
    {"aten::floor", same_for_integers, "Floor"},
    {"aten::ceil", same_for_integers, "Ceil"},
    {"aten::round", round, "Round"},
    {"aten::isnan", tested, "IsNaN"},
    {"aten::isinf", tested, "IsInf"},
    {"aten::trunc", trunc},
    {"aten::log2", logarithm, "2"},
    {"aten::log10", logarithm, "10"},
    {"aten::log1p", log1p},
    {"aten::expm1", expm1},
    {"aten::exp2", exp2},
    {"aten::erfc", erfc},
    {"aten::rsqrt", rsqrt},
    {"aten::square", square},
    {"aten::bitwise_not", bitwise_not},
    {"aten::logical_not", logical_not},
    {"aten::add.Tensor", add, "Add"},
    {"aten::add.Scalar", add, "Add"},
    {"aten::sub.Tensor", add, "Sub"},
    {"aten::sub.Scalar", add, "Sub"},
    {"aten::rsub.Tensor", rsub},
    {"aten::rsub.Scalar", rsub},
    {"aten::mul.Tensor", binary, "Mul"},
    {"aten::mul.Scalar", binary, "Mul"},
    {"aten::div.Tensor", binary, "Div"},
    {"aten::div.Scalar", binary, "Div"},
    {"aten::div.Tensor_mode", div_mode},
    {"aten::div.Scalar_mode", div_mode},
    {"aten::floor_divide", floor_divide},
    {"aten::floor_divide.Scalar", floor_divide},
    {"aten::remainder.Tensor", remainder},
    {"aten::remainder.Scalar", remainder},
    {"aten::fmod.Tensor", fmod},
    {"aten::fmod.Scalar", fmod},
    {"aten::pow.Tensor_Tensor", binary, "Pow"},
    {"aten::pow.Tensor_Scalar", binary, "Pow"},
    {"aten::pow.Scalar", binary, "Pow"},
    {"aten::maximum", binary, "Max"},
    {"aten::minimum", binary, "Min"},
    {"aten::atan2", atan2},
    {"aten::eq.Tensor", compare, "Equal"},
    {"aten::eq.Scalar", compare, "Equal"},
    {"aten::ne.Tensor", compare, "NotEqual"},
    {"aten::ne.Scalar", compare, "NotEqual"},
    {"aten::lt.Tensor", compare, "Less"},
    {"aten::lt.Scalar", compare, "Less"},
    {"aten::le.Tensor", compare, "LessOrEqual"},
    {"aten::le.Scalar", compare, "LessOrEqual"},
    {"aten::gt.Tensor", compare, "Greater"},
    {"aten::gt.Scalar", compare, "Greater"},
    {"aten::ge.Tensor", compare, "GreaterOrEqual"},
    {"aten::ge.Scalar", compare, "GreaterOrEqual"},
    {"aten::logical_and", logic, "And"},
    {"aten::logical_or", logic, "Or"},
    {"aten::logical_xor", logic, "Xor"},
    {"aten::bitwise_and.Tensor", bitwise, "And"},
    {"aten::bitwise_and.Scalar", bitwise, "And"},
    {"aten::bitwise_or.Tensor", bitwise, "Or"},
    {"aten::bitwise_or.Scalar", bitwise, "Or"},
    {"aten::bitwise_xor.Tensor", bitwise, "Xor"},
    {"aten::bitwise_xor.Scalar", bitwise, "Xor"},
    {"aten::where.self", where},
    {"aten::masked_fill.Scalar", masked_fill},
    {"aten::masked_fill.Tensor", masked_fill},
    {"aten::clamp", clip},
    {"aten::hardtanh", clip},
    {"aten::relu6", relu6},
    {"aten::clamp.Tensor", clamp},
    {"aten::clamp_min", clamp},
    {"aten::clamp_min.Tensor", clamp},
    {"aten::clamp_max", clamp_max},
    {"aten::clamp_max.Tensor", clamp_max},
    {"aten::gelu", gelu},
    {"aten::silu", silu},
    {"aten::hardsigmoid", hardsigmoid},
    {"aten::elu", elu},
    {"aten::leaky_relu", with_alpha, "LeakyRelu"},
    {"aten::celu", with_alpha, "Celu"},
    {"aten::softplus", softplus},
    {"aten::softmax.int", softmax, "Softmax"},
    {"aten::_softmax", softmax, "Softmax"},
    {"aten::log_softmax.int", softmax, "LogSoftmax"},
    {"aten::_log_softmax", softmax, "LogSoftmax"},
    {"aten::clone", identity},
    {"aten::contiguous", identity},
    {"aten::detach", identity},
    {"aten::alias", identity},
    {"aten::lift_fresh_copy", identity},
    {"aten::dropout", dropout},
    {"aten::feature_dropout", dropout},
    {"aten::to.dtype", cast},
    {"aten::to.dtype_layout", cast},
    {"aten::to.device", cast},
    {"aten::to.other", cast},
    {"aten::_to_copy", cast},
    {"aten::type_as", cast},
};

}  // namespace

c10::ArrayRef<Form> math_forms() {
  return kForms;
}

}  // namespace torch::onnx
