// Element by element, reductions, matrix products, sorting.
#include "export/onnx/emitter.h"

#include "export/onnx/tensors.h"

namespace torch::onnx {
namespace {

using c10::ScalarType;

bool is_float(ScalarType type) {
  return c10::isFloatingType(type);
}
bool is_wide_unsigned(ScalarType type) {
  return type == ScalarType::UInt16 || type == ScalarType::UInt32 || type == ScalarType::UInt64;
}
// Unsigned numbers of more than a byte are computed as int64: the last bits are the same.
Item widened(Emitter& e, const Item& x) {
  return is_wide_unsigned(x.dtype) ? e.cast(x, ScalarType::Long) : x;
}
// A result of what was widened.
Item narrowed(Emitter& e, const Item& x, ScalarType dtype) {
  return is_wide_unsigned(dtype) ? e.cast(x, dtype) : x;
}
Item compute(Emitter& e, const char* name, const Item& x, const std::vector<Arg>& more = {}) {
  std::vector<Arg> args{x};
  args.insert(args.end(), more.begin(), more.end());
  return e.call(name, args, x.dtype);
}
Item binary(Emitter& e, const char* name, const Item& a, const Item& b) {
  return e.call(name, {a, b}, a.dtype);
}
Item compared(Emitter& e, const char* name, const Item& a, const Arg& b) {
  return e.call(name, {a, b}, ScalarType::Bool);
}
// --- element by element ---

void unary(Emitter& e) {
  e.ignore({"consumed_inputs"});
  e.out(narrowed(e, compute(e, e.target(), widened(e, e.in(0))), e.dtype()));
}
void unary_to_bool(Emitter& e) {
  e.out(e.call(e.target(), {e.in(0)}, ScalarType::Bool));
}
void identity(Emitter& e) {
  e.out(e.in(0));
}
void is_inf(Emitter& e) {
  const bool negative = e.i("detect_negative", 1) != 0, positive = e.i("detect_positive", 1) != 0;
  const Item x = e.in(0);
  if (negative && positive) return e.out(e.call("aten::isinf", {x}, ScalarType::Bool));
  if (negative) return e.out(e.call("aten::isneginf", {x}, ScalarType::Bool));
  if (positive) return e.out(e.call("aten::isposinf", {x}, ScalarType::Bool));
  e.out(e.call("aten::zeros_like", {x, ScalarType::Bool}, ScalarType::Bool));
}
void softsign(Emitter& e) {
  const Item x = e.in(0);
  e.out(binary(e, "aten::div.Tensor", x, compute(e, "aten::add.Scalar", compute(e, "aten::abs", x), {1})));
}
void softplus(Emitter& e) {
  e.out(compute(e, "aten::softplus", e.in(0), {1, 20}));
}
void swish(Emitter& e) {
  const Item x = e.in(0);
  const double alpha = e.f("alpha", 1);
  const Item scaled = alpha == 1 ? x : compute(e, "aten::mul.Scalar", x, {alpha});
  e.out(binary(e, "aten::mul.Tensor", x, compute(e, "aten::sigmoid", scaled)));
}
void swiglu(Emitter& e) {
  const Item a = e.in(0);
  const Item gate = compute(e, "aten::sigmoid", compute(e, "aten::mul.Scalar", a, {e.f("alpha", 1)}));
  e.out(binary(e, "aten::mul.Tensor", binary(e, "aten::mul.Tensor", a, gate), e.in(1)));
}
void elu(Emitter& e) {
  e.out(compute(e, "aten::elu", e.in(0), {e.f("alpha", 1)}));
}
void selu(Emitter& e) {
  e.out(compute(e, "aten::elu", e.in(0),
                {e.f("alpha", 1.67326319217681884765625), e.f("gamma", 1.05070102214813232421875)}));
}
void celu(Emitter& e) {
  e.out(compute(e, "aten::celu", e.in(0), {e.f("alpha", 1)}));
}
void leaky_relu(Emitter& e) {
  e.out(compute(e, "aten::leaky_relu", e.in(0), {e.f("alpha", 0.01)}));
}
void thresholded_relu(Emitter& e) {
  e.out(compute(e, "aten::threshold", e.in(0), {e.f("alpha", 1), 0}));
}
void hard_sigmoid(Emitter& e) {
  const Item line =
      compute(e, "aten::add.Scalar", compute(e, "aten::mul.Scalar", e.in(0), {e.f("alpha", 0.2)}), {e.f("beta", 0.5)});
  e.out(compute(e, "aten::clamp", line, {0, 1}));
}
void prelu(Emitter& e) {
  const Item x = e.in(0);
  const Item below = compared(e, "aten::lt.Scalar", x, 0);
  e.out(e.call("aten::where.self", {below, binary(e, "aten::mul.Tensor", e.in(1), x), x}, x.dtype));
}
void gelu(Emitter& e) {
  e.out(compute(e, "aten::gelu", e.in(0), {Arg(e.choice("approximate", "none", {"none", "tanh"}))}));
}
void shrink(Emitter& e) {
  const Item x = e.in(0);
  const double lambd = e.f("lambd", 0.5), bias = e.f("bias", 0);
  const Item zero = e.call("aten::zeros_like", {x}, x.dtype);
  const auto moved = [&](double by) {
    return e.cast(compute(e, "aten::add.Scalar", x, {is_float(x.dtype) ? Arg(by) : Arg(static_cast<int64_t>(by))}),
                  x.dtype);
  };
  const Item high = e.call("aten::where.self", {compared(e, "aten::gt.Scalar", x, lambd), moved(-bias), zero}, x.dtype);
  e.out(e.call("aten::where.self", {compared(e, "aten::lt.Scalar", x, -lambd), moved(bias), high}, x.dtype));
}
void clip(Emitter& e) {
  const Item x = e.in(0);
  if (e.opset() < 11) {
    const bool low = e.has_attribute("min"), high = e.has_attribute("max");
    if (!low && !high) return e.out(x);
    return e.out(compute(e, "aten::clamp", x,
                         {low ? Arg(e.f("min")) : Arg(std::nullopt), high ? Arg(e.f("max")) : Arg(std::nullopt)}));
  }
  if (!e.has(1) && !e.has(2)) return e.out(x);
  const Item wide = widened(e, x);
  const auto bound = [&](size_t i) { return e.has(i) ? Arg(widened(e, e.in(i))) : Arg(std::nullopt); };
  const bool numbers = (!e.has(1) || e.known(1).defined()) && (!e.has(2) || e.known(2).defined());
  if (numbers && !is_wide_unsigned(x.dtype)) {
    const auto limit = [&](size_t i) { return e.has(i) ? e.scalar(i) : Arg(std::nullopt); };
    return e.out(compute(e, "aten::clamp", x, {limit(1), limit(2)}));
  }
  e.out(narrowed(e, compute(e, "aten::clamp.Tensor", wide, {bound(1), bound(2)}), x.dtype));
}

void arithmetic(Emitter& e) {
  e.out(narrowed(e, binary(e, e.target(), widened(e, e.in(0)), widened(e, e.in(1))), e.dtype()));
}
void div(Emitter& e) {
  const Item a = widened(e, e.in(0)), b = widened(e, e.in(1));
  if (is_float(a.dtype)) return e.out(binary(e, "aten::div.Tensor", a, b));
  e.out(narrowed(e, e.call("aten::div.Tensor_mode", {a, b, "trunc"}, a.dtype), e.dtype()));
}
void mod(Emitter& e) {
  const bool c_like = e.i("fmod", 0) != 0;
  const Item a = widened(e, e.in(0)), b = widened(e, e.in(1));
  e.check(c_like || !is_float(a.dtype) || e.opset() >= 28, "fmod = 0 is for whole numbers");
  e.out(narrowed(e, binary(e, c_like ? "aten::fmod.Tensor" : "aten::remainder.Tensor", a, b), e.dtype()));
}
void pow(Emitter& e) {
  const Item a = widened(e, e.in(0)), b = widened(e, e.in(1));
  if (const at::Tensor exponent = e.known(1); exponent.defined() && exponent.dim() == 0 && is_float(a.dtype)) {
    return e.out(e.call("aten::pow.Tensor_Scalar", {a, e.scalar(1)}, a.dtype));
  }
  // The result is of the base's dtype, whatever the exponent's.
  const bool same = a.dtype == b.dtype;
  const Item power = e.call("aten::pow.Tensor_Tensor", {a, b}, same ? a.dtype : ScalarType::Undefined);
  e.out(same ? narrowed(e, power, e.dtype()) : e.cast(power, e.dtype()));
}
void bit_shift(Emitter& e) {
  const bool left = e.choice("direction", "", {"LEFT", "RIGHT"}) == "LEFT";
  const Item a = e.in(0), b = e.in(1);
  if (a.dtype == ScalarType::UInt64 && !left) return e.out(e.call("onnx::shift_right", {a, b}));
  const char* name = left ? "aten::bitwise_left_shift.Tensor" : "aten::bitwise_right_shift.Tensor";
  e.out(narrowed(e, binary(e, name, widened(e, a), widened(e, b)), a.dtype));
}
void compare(Emitter& e) {
  e.out(compared(e, e.target(), widened(e, e.in(0)), widened(e, e.in(1))));
}
void logical(Emitter& e) {
  e.out(compared(e, e.target(), e.in(0), e.in(1)));
}
Item chained(Emitter& e, const char* name) {
  Item all = widened(e, e.in(0));
  for (size_t k = 1; k < e.input_count(); ++k) all = binary(e, name, all, widened(e, e.in(k)));
  return all;
}
void variadic(Emitter& e) {
  e.out(narrowed(e, chained(e, e.target()), e.dtype()));
}
void mean_of_inputs(Emitter& e) {
  e.out(compute(e, "aten::div.Scalar", chained(e, "aten::add.Tensor"), {static_cast<int64_t>(e.input_count())}));
}
void where(Emitter& e) {
  e.out(e.call("aten::where.self", {e.in(0), e.in(1), e.in(2)}, e.dtype(1)));
}

// --- dtypes ---

Item converted(Emitter& e, ScalarType to) {
  const Item x = e.in_of_any_width(0);
  e.check(!x.absent(), "input 0 is missing");
  const bool saturate = e.i("saturate", 1) != 0;
  e.supported(to != ScalarType::Float8_e8m0fnu || !is_float(x.dtype), "numbers of ", x.dtype, " as ", to);
  e.ignore({"round_mode"});
  if (c10::isFloat8Type(to) && is_float(x.dtype)) return e.call("onnx::to_float8", {x, to, saturate}, to);
  Item y = e.cast(x, to);
  y.narrow = false;
  return y;
}
void cast(Emitter& e) {
  e.out(converted(e, e.dtype_named("to")));
}
void cast_like(Emitter& e) {
  const Item like = e.in(1);
  e.out(converted(e, like.dtype));
}
void bit_cast(Emitter& e) {
  const ScalarType to = e.dtype_named("to");
  e.out(e.call("aten::view.dtype", {e.in(0), to}, to));
}

// --- reductions ---

struct Axes {
  Arg arg{std::nullopt};    // None: all
  bool none_given = false;  // that is known
  bool computed = false;
};
// From the attribute or the input, by opset.
Axes axes_of(Emitter& e, int64_t input_since) {
  Axes axes;
  std::optional<std::vector<int64_t>> known;
  if (e.opset() < input_since) {
    known = e.is_if_any("axes");
  } else if (e.has(1)) {
    known = e.known_ints(1);
    axes.computed = !known.has_value();
    if (axes.computed) axes.arg = e.ints(1);
  }
  axes.none_given = !axes.computed && (!known.has_value() || known->empty());
  if (!axes.computed && !axes.none_given) axes.arg = *known;
  return axes;
}
Item sum(Emitter& e, const Item& x, const Axes& axes, bool keep) {
  return e.call("aten::sum.dim_IntList", {x, axes.arg, keep, x.dtype}, x.dtype);
}
Item reduced(Emitter& e, const std::string& kind, const Item& x, const Axes& axes, bool keep) {
  if (kind == "sum") return sum(e, x, axes, keep);
  if (kind == "l1") return sum(e, compute(e, "aten::abs", x), axes, keep);
  if (kind == "sum_square") return sum(e, binary(e, "aten::mul.Tensor", x, x), axes, keep);
  if (kind == "l2") {
    const Item squares = sum(e, binary(e, "aten::mul.Tensor", x, x), axes, keep);
    return e.cast(e.call("aten::sqrt", {squares}, is_float(x.dtype) ? x.dtype : ScalarType::Undefined), x.dtype);
  }
  if (kind == "log_sum") {
    return e.cast(e.call("aten::log", {sum(e, x, axes, keep)}, is_float(x.dtype) ? x.dtype : ScalarType::Undefined),
                  x.dtype);
  }
  if (kind == "mean") {
    if (is_float(x.dtype)) return e.call("aten::mean.dim", {x, axes.arg, keep}, x.dtype);
    return e.cast(e.call("aten::mean.dim", {x, axes.arg, keep, ScalarType::Double}, ScalarType::Double), x.dtype);
  }
  const Arg listed = axes.none_given ? Arg(e.call("onnx::all_axes", {x})) : axes.arg;
  if (kind == "log_sum_exp") {
    const Item wide = is_float(x.dtype) ? x : e.cast(x, ScalarType::Double);
    return e.cast(e.call("aten::logsumexp", {wide, listed, keep}, wide.dtype), x.dtype);
  }
  if (kind == "prod") return e.call("onnx::prod", {x, listed, keep}, x.dtype);
  if (x.dtype == ScalarType::Bool) {
    return e.cast(reduced(e, kind, e.cast(x, ScalarType::Byte), axes, keep), ScalarType::Bool);
  }
  return e.call(kind == "max" ? "aten::amax" : "aten::amin", {x, listed, keep}, x.dtype);
}
void reduce(Emitter& e) {
  const std::string kind = e.target();
  const Item x = e.in(0);
  const bool keep = e.i("keepdims", 1) != 0;
  const int64_t input_since = kind == "sum" ? 13 : 18;
  const bool noop = e.opset() >= input_since && e.i("noop_with_empty_axes", 0) != 0;
  const Axes axes = axes_of(e, input_since);
  if (noop && axes.none_given) return e.out(x);
  const Item wide = widened(e, x);
  Item result = narrowed(e, reduced(e, kind, wide, axes, keep), x.dtype);
  if (noop && axes.computed) result = e.call("onnx::unless_empty", {e.in(1), result, x}, x.dtype);
  e.out(result);
}
void arg_extreme(Emitter& e) {
  const bool largest = std::string(e.target()) == "aten::argmax";
  const int64_t axis = e.i("axis", 0);
  const bool keep = e.i("keepdims", 1) != 0, last = e.opset() >= 12 && e.i("select_last_index", 0) != 0;
  const Item x = widened(e, e.in(0));
  if (last) return e.out(e.call("onnx::last_extreme", {x, axis, keep, largest}, ScalarType::Long));
  e.out(e.call(e.target(), {x, axis, keep}, ScalarType::Long));
}
void cumulative(Emitter& e) {
  const bool product = std::string(e.target()) == "aten::cumprod";
  const bool exclusive = e.i("exclusive", 0) != 0, reverse = e.i("reverse", 0) != 0;
  Item x = widened(e, e.in(0));
  const Arg axis = e.integer(1);
  const Arg axes = graph::Operand(std::vector<graph::Operand>{axis.operand()});
  if (reverse) x = compute(e, "aten::flip", x, {axes});
  if (exclusive) x = compute(e, "onnx::moved_on", x, {axis, product ? 1 : 0});
  x = compute(e, e.target(), x, {axis, x.dtype});
  if (reverse) x = compute(e, "aten::flip", x, {axes});
  e.out(narrowed(e, x, e.dtype()));
}
void top_k(Emitter& e) {
  const int64_t axis = e.i("axis", -1);
  const bool largest = e.opset() < 11 || e.i("largest", 1) != 0;
  if (e.opset() >= 11) e.ignore({"sorted"});
  const Item x = widened(e, e.in(0));
  const Arg k = e.opset() < 10 ? Arg(e.i("k")) : e.integer(1);
  const std::vector<Item> found = e.call_for("onnx::top_k", {x, k, axis, largest}, {x.dtype, ScalarType::Long});
  e.out(narrowed(e, found[0], e.dtype()));
  e.out(found[1]);
}
void unique(Emitter& e) {
  const bool sorted = e.i("sorted", 1) != 0;
  const Arg axis = e.has_attribute("axis") ? Arg(e.i("axis")) : Arg(std::nullopt);
  const ScalarType index = ScalarType::Long;
  e.outputs = e.call_for("onnx::unique", {e.in(0), axis, sorted}, {e.dtype(), index, index, index});
}
void non_zero(Emitter& e) {
  const Item found = e.call("aten::nonzero", {e.in(0)}, ScalarType::Long);
  e.out(compute(e, "aten::transpose.int", found, {0, 1}));
}

// --- matrix products ---

void matmul(Emitter& e) {
  e.out(narrowed(e, binary(e, "aten::matmul", widened(e, e.in(0)), widened(e, e.in(1))), e.dtype()));
}
void gemm(Emitter& e) {
  const double alpha = e.f("alpha", 1), beta = e.f("beta", 1);
  const bool trans_a = e.i("transA", 0) != 0, trans_b = e.i("transB", 0) != 0;
  e.check(e.has(2) || e.opset() >= 11, "input 2 is missing");
  Item a = e.in(0), b = e.in(1);
  const Item c = e.in_or_absent(2);
  const at::Tensor bias = e.known(2), weight = e.known(1);
  const bool is_bias = c.absent() || (bias.defined() && bias.dim() == 1 && weight.defined() && weight.dim() == 2 &&
                                      bias.size(0) == weight.size(0));
  if (trans_b && !trans_a && alpha == 1 && beta == 1 && is_bias) return e.out(e.call("aten::linear", {a, b, c}));
  if (trans_a) a = compute(e, "aten::t", a);
  if (trans_b) b = compute(e, "aten::t", b);
  // Factors of whole numbers are whole.
  const auto factor = [&](double f) { return is_float(a.dtype) ? Arg(f) : Arg(static_cast<int64_t>(f)); };
  if (!c.absent()) return e.out(e.call("aten::addmm", {c, a, b, factor(beta), factor(alpha)}, a.dtype));
  const Item product = binary(e, "aten::mm", a, b);
  e.out(alpha == 1 ? product : compute(e, "aten::mul.Scalar", product, {factor(alpha)}));
}
void einsum(Emitter& e) {
  const std::string equation = e.s("equation", "");
  e.check(!equation.empty(), "lacks the attribute 'equation'");
  e.out(e.call("aten::einsum", {equation, e.all_inputs()}));
}

// --- random numbers ---

void random_like(Emitter& e) {
  const Item x = e.in(0);
  const ScalarType dtype = e.has_attribute("dtype") ? e.dtype_named("dtype") : x.dtype;
  e.ignore({"seed"});
  const bool normal = std::string(e.target()) == "normal";
  const double add = normal ? e.f("mean", 0) : e.f("low", 0);
  const double factor = normal ? e.f("scale", 1) : e.f("high", 1) - add;
  const Item numbers = e.call(normal ? "aten::randn_like" : "aten::rand_like", {x, dtype}, dtype);
  e.out(compute(e, "aten::add.Scalar", compute(e, "aten::mul.Scalar", numbers, {factor}), {add}));
}
void random(Emitter& e) {
  const ScalarType dtype = e.has_attribute("dtype") ? e.dtype_named("dtype") : ScalarType::Float;
  e.ignore({"seed"});
  const bool normal = std::string(e.target()) == "normal";
  const double add = normal ? e.f("mean", 0) : e.f("low", 0);
  const double factor = normal ? e.f("scale", 1) : e.f("high", 1) - add;
  const Item numbers = e.call(normal ? "aten::randn" : "aten::rand", {e.is("shape"), dtype}, dtype);
  e.out(compute(e, "aten::add.Scalar", compute(e, "aten::mul.Scalar", numbers, {factor}), {add}));
}
void bernoulli(Emitter& e) {
  const Item x = e.in(0);
  e.ignore({"seed"});
  const ScalarType dtype = e.has_attribute("dtype") ? e.dtype_named("dtype") : x.dtype;
  e.out(e.cast(compute(e, "aten::bernoulli", x), dtype));
}

constexpr Operator kOperators[] = {
    {"Abs", 1, unary, "aten::abs"},
    {"Acos", 7, unary, "aten::acos"},
    {"Acosh", 9, unary, "aten::acosh"},
    {"Add", 1, arithmetic, "aten::add.Tensor"},
    {"And", 1, logical, "aten::logical_and"},
    {"ArgMax", 1, arg_extreme, "aten::argmax"},
    {"ArgMin", 1, arg_extreme, "aten::argmin"},
    {"Asin", 7, unary, "aten::asin"},
    {"Asinh", 9, unary, "aten::asinh"},
    {"Atan", 7, unary, "aten::atan"},
    {"Atanh", 9, unary, "aten::atanh"},
    {"Bernoulli", 15, bernoulli},
    {"BitCast", 26, bit_cast},
    {"BitShift", 11, bit_shift},
    {"BitwiseAnd", 18, arithmetic, "aten::bitwise_and.Tensor"},
    {"BitwiseNot", 18, unary, "aten::bitwise_not"},
    {"BitwiseOr", 18, arithmetic, "aten::bitwise_or.Tensor"},
    {"BitwiseXor", 18, arithmetic, "aten::bitwise_xor.Tensor"},
    {"Cast", 1, cast},
    {"CastLike", 15, cast_like},
    {"Ceil", 1, unary, "aten::ceil"},
    {"Celu", 12, celu},
    {"Clip", 1, clip},
    {"Cos", 7, unary, "aten::cos"},
    {"Cosh", 9, unary, "aten::cosh"},
    {"CumProd", 26, cumulative, "aten::cumprod"},
    {"CumSum", 11, cumulative, "aten::cumsum"},
    {"Det", 11, unary, "aten::det"},
    {"Div", 1, div},
    {"Einsum", 12, einsum},
    {"Elu", 1, elu},
    {"Equal", 1, compare, "aten::eq.Tensor"},
    {"Erf", 9, unary, "aten::erf"},
    {"Exp", 1, unary, "aten::exp"},
    {"Floor", 1, unary, "aten::floor"},
    {"Gelu", 20, gelu},
    {"Gemm", 1, gemm},
    {"Greater", 1, compare, "aten::gt.Tensor"},
    {"GreaterOrEqual", 12, compare, "aten::ge.Tensor"},
    {"HardSigmoid", 1, hard_sigmoid},
    {"HardSwish", 14, unary, "aten::hardswish"},
    {"Identity", 1, identity},
    {"IsInf", 10, is_inf},
    {"IsNaN", 9, unary_to_bool, "aten::isnan"},
    {"LeakyRelu", 1, leaky_relu},
    {"Less", 1, compare, "aten::lt.Tensor"},
    {"LessOrEqual", 12, compare, "aten::le.Tensor"},
    {"Log", 1, unary, "aten::log"},
    {"MatMul", 1, matmul},
    {"Max", 1, variadic, "aten::maximum"},
    {"Mean", 1, mean_of_inputs},
    {"Min", 1, variadic, "aten::minimum"},
    {"Mish", 18, unary, "aten::mish"},
    {"Mod", 10, mod},
    {"Mul", 1, arithmetic, "aten::mul.Tensor"},
    {"Neg", 1, unary, "aten::neg"},
    {"NonZero", 9, non_zero},
    {"Not", 1, unary_to_bool, "aten::logical_not"},
    {"Or", 1, logical, "aten::logical_or"},
    {"PRelu", 1, prelu},
    {"Pow", 1, pow},
    {"RandomNormal", 1, random, "normal"},
    {"RandomNormalLike", 1, random_like, "normal"},
    {"RandomUniform", 1, random, "uniform"},
    {"RandomUniformLike", 1, random_like, "uniform"},
    {"Reciprocal", 1, unary, "aten::reciprocal"},
    {"ReduceL1", 1, reduce, "l1"},
    {"ReduceL2", 1, reduce, "l2"},
    {"ReduceLogSum", 1, reduce, "log_sum"},
    {"ReduceLogSumExp", 1, reduce, "log_sum_exp"},
    {"ReduceMax", 1, reduce, "max"},
    {"ReduceMean", 1, reduce, "mean"},
    {"ReduceMin", 1, reduce, "min"},
    {"ReduceProd", 1, reduce, "prod"},
    {"ReduceSum", 1, reduce, "sum"},
    {"ReduceSumSquare", 1, reduce, "sum_square"},
    {"Relu", 1, unary, "aten::relu"},
    {"Round", 11, unary, "aten::round"},
    {"Selu", 1, selu},
    {"Shrink", 9, shrink},
    {"Sigmoid", 1, unary, "aten::sigmoid"},
    {"Sign", 9, unary, "aten::sign"},
    {"Sin", 7, unary, "aten::sin"},
    {"Sinh", 9, unary, "aten::sinh"},
    {"Softplus", 1, softplus},
    {"Softsign", 1, softsign},
    {"Sqrt", 1, unary, "aten::sqrt"},
    {"Sub", 1, arithmetic, "aten::sub.Tensor"},
    {"Sum", 1, variadic, "aten::add.Tensor"},
    {"SwiGLU", 28, swiglu},
    {"Swish", 24, swish},
    {"Tan", 7, unary, "aten::tan"},
    {"Tanh", 1, unary, "aten::tanh"},
    {"ThresholdedRelu", 10, thresholded_relu},
    {"TopK", 1, top_k},
    {"Unique", 11, unique},
    {"Where", 9, where},
    {"Xor", 1, logical, "aten::logical_xor"},
};

}  // namespace

c10::ArrayRef<Operator> math_operators() {
  return kOperators;
}

}  // namespace torch::onnx
