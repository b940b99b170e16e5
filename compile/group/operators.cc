#include "compile/group/operators.h"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "aten/core/tensor.h"
#include "aten/cpu/pointwise.h"
#include "c10/core/type_promotion.h"
#include "c10/util/bfloat16.h"
#include "c10/util/half.h"
#include "compile/group/group_compiler.h"
#include "graph/passes/tensor_info.h"

namespace torch::compiler {
namespace {

using c10::IValue;
using c10::Scalar;
using c10::ScalarType;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;
using enum Primitive;

bool is_one(const Scalar& factor) {
  return factor.isBoolean() ? factor.toBool() : factor.equal(int64_t{1});
}

// A call that is being looked at. What fails leaves `failed`, and the rest does nothing that counts.
class Call {
 public:
  explicit Call(const Node& node) : node_(node) {}

  bool failed = false;
  Lowered out;
  ScalarType dtype = ScalarType::Undefined;  // of the result

  bool start() {
    if (node_.result_count() != 1 || node_.result()->info() == nullptr) return false;
    device_ = result().device;
    if (!takes(result()) || (!device_.is_cpu() && group_compiler(device_.type()) == nullptr)) return false;
    dtype = result().dtype;
    infos_.resize(node_.operands().size());
    for (size_t i = 0; i < infos_.size(); ++i) {
      if (!stands_for_number(node_.operand(i))) infos_[i] = tensor_info(node_.operand(i));
    }
    return true;
  }
  const TensorInfo& result() const { return *node_.result()->info(); }

  // --- arguments ---

  bool is_tensor(size_t i) const { return i < infos_.size() && infos_[i].has_value(); }
  bool is_none(size_t i) const { return node_.operand(i).is_constant() && node_.operand(i).constant().isNone(); }
  const TensorInfo& info(size_t i) {
    static const TensorInfo kNone;
    if (is_tensor(i) && takes(*infos_[i])) return *infos_[i];
    failed = true;
    return kNone;
  }
  const IValue& constant(size_t i) {
    static const IValue kNone;
    if (i < node_.operands().size() && node_.operand(i).is_constant()) return node_.operand(i).constant();
    failed = true;
    return kNone;
  }
  Scalar number(size_t i) {
    const IValue& v = constant(i);
    if (v.isScalar() && !v.isComplexDouble()) return v.toScalar();
    if (stands_for_number(node_.operand(i))) {
      const Scalar value = at::pointwise::load_element(v.toTensor().const_data_ptr(), v.toTensor().scalar_type());
      if (!value.isComplex()) return value;
    }
    failed = true;
    return Scalar();
  }
  /// The length of a list of numbers.
  std::optional<int64_t> length(size_t i) {
    if (node_.operand(i).is_list()) return static_cast<int64_t>(node_.operand(i).list().size());
    const IValue& v = constant(i);
    return v.isIntList() ? std::optional<int64_t>(static_cast<int64_t>(v.toListRef().size())) : std::nullopt;
  }
  std::string text(size_t i) {
    const IValue& v = constant(i);
    if (v.isString()) return v.toStringRef();
    failed = true;
    return "";
  }
  std::optional<double> real(size_t i) {
    const IValue& v = constant(i);
    if (v.isNone()) return std::nullopt;
    return number(i).toDouble();
  }
  bool floating() const { return isFloatingType(dtype); }
  /// Whether the tensor has one element; nothing where that depends on sizes that are not known yet.
  std::optional<bool> has_one_element(size_t i) {
    bool is_known = true;
    for (const graph::IntExpr& size : info(i).sizes) {
      if (size.is_constant() && size.value() != 1) return false;
      is_known = is_known && size.is_constant();
    }
    return is_known ? std::optional(true) : std::nullopt;
  }

  // The dtype that the operands together have.
  ScalarType promoted(std::initializer_list<size_t> arguments) {
    c10::TypePromotion p;
    for (const size_t i : arguments) {
      if (!is_tensor(i)) {
        p.add(number(i));
        continue;
      }
      const Operand& operand = node_.operand(i);
      const bool wrapped =
          operand.is_constant() && operand.constant().toTensor().unsafeGetTensorImpl()->is_wrapped_number();
      p.add_tensor(info(i).dtype, static_cast<int64_t>(info(i).sizes.size()), wrapped);
    }
    return p.result();
  }

  // --- operands ---

  Ref ref_of(size_t i) const { return {Ref::Kind::kInput, static_cast<uint32_t>(i)}; }
  Ref add(Operation op) {
    out.operations.push_back(std::move(op));
    return {Ref::Kind::kOperation, static_cast<uint32_t>(out.operations.size() - 1)};
  }
  Ref constant_of(const Scalar& value, ScalarType type) {
    out.constants.push_back({type, value});
    return {Ref::Kind::kConstant, static_cast<uint32_t>(out.constants.size() - 1)};
  }
  /// A tensor or a number, as elements of a register's type.
  Ref in(size_t i, ScalarType type) {
    if (!is_tensor(i)) return constant_of(number(i), type);
    return register_type(info(i).dtype) == type ? ref_of(i) : add({kConvert, type, type, {ref_of(i)}, {}});
  }
  /// A tensor, as elements of a dtype.
  Ref as(size_t i, ScalarType to) {
    return info(i).dtype == to ? ref_of(i) : add({kConvert, register_type(to), to, {ref_of(i)}, {}});
  }

  // --- results ---

  // Computed in the type of `of`, where the loop knows that.
  void emit(Primitive primitive, ScalarType of, ScalarType result, std::vector<Ref> operands,
            std::vector<Scalar> parameters = {}) {
    const at::cpu::ElementOp* const loop = info_of(primitive).loop;
    if (loop != nullptr && at::cpu::find_loop(*loop, of) == nullptr) failed = true;
    add({primitive, at::cpu::compute_type(of), result, std::move(operands), std::move(parameters)});
  }
  /// primitive(arguments), computed in the result's dtype.
  void map(Primitive primitive, std::initializer_list<size_t> arguments, std::vector<Scalar> parameters = {}) {
    std::vector<Ref> operands;
    for (const size_t i : arguments) operands.push_back(in(i, at::cpu::compute_type(dtype)));
    emit(primitive, dtype, dtype, std::move(operands), std::move(parameters));
  }
  /// The same of operators that are there for floating-point dtypes.
  void map_floating(Primitive primitive, std::initializer_list<size_t> arguments, std::vector<Scalar> parameters = {}) {
    if (!floating()) failed = true;
    map(primitive, arguments, std::move(parameters));
  }
  void copy() {
    static_cast<void>(info(0));
    const Ref from = ref_of(0);
    add({kConvert, register_type(dtype), dtype, {from}, {}});
  }

 private:
  bool takes(const TensorInfo& info) const {
    return info.device == device_ && info.layout == c10::kStrided && register_type(info.dtype) != ScalarType::Undefined;
  }
  bool stands_for_number(const Operand& operand) const {
    if (device_.is_cpu() || !operand.is_constant() || !operand.constant().isTensor()) return false;
    const at::Tensor t = operand.constant().toTensor();
    return t.defined() && t.is_cpu() && t.unsafeGetTensorImpl()->is_wrapped_number();
  }

  const Node& node_;
  c10::Device device_ = c10::Device(c10::DeviceType::CPU);
  std::vector<std::optional<TensorInfo>> infos_;
};

// --- families of operators ---

template <Primitive primitive>
void unary(Call& c) {
  c.map(primitive, {0});
}
template <Primitive primitive>
void binary(Call& c) {
  c.map(primitive, {0, 1});
}
template <Primitive primitive>
void floating_unary(Call& c) {
  c.map_floating(primitive, {0});
}
template <Primitive primitive>
void floating_binary(Call& c) {
  c.map_floating(primitive, {0, 1});
}
template <Primitive primitive>
void rounding(Call& c) {
  c.floating() ? c.map(primitive, {0}) : c.copy();
}
template <Primitive primitive>
void floating_predicate(Call& c) {
  const ScalarType of = c.info(0).dtype;
  if (!isFloatingType(of)) c.failed = true;
  c.emit(primitive, of, ScalarType::Bool, {c.ref_of(0)});
}

// a + alpha * b and a - alpha * b.
void scaled(Call& c, size_t a, size_t b, bool subtract) {
  const Scalar alpha = c.number(2);
  if (c.failed) return;
  if (is_one(alpha)) return c.map(subtract ? kSub : kAdd, {a, b});
  c.map(kAddScaled, {a, b}, {subtract ? -alpha : alpha});
}
void add(Call& c) {
  scaled(c, 0, 1, false);
}
void sub(Call& c) {
  scaled(c, 0, 1, true);
}
void rsub(Call& c) {
  scaled(c, 1, 0, true);
}

void div_mode(Call& c) {
  if (c.is_none(2)) return c.map(kDiv, {0, 1});
  const std::string mode = c.text(2);
  if (mode == "floor") return c.map_floating(kFloorDivide, {0, 1});
  // 16-bit quotients of two tensors are rounded before they are cut, those by one number are not.
  const std::optional<bool> by_one = c.is_tensor(1) ? c.has_one_element(1) : true;
  if (isReducedFloatingType(c.dtype) && by_one != true) {
    c.failed = c.failed || !by_one.has_value();
    c.map_floating(kDiv, {0, 1});
    const Ref quotient{Ref::Kind::kOperation, static_cast<uint32_t>(c.out.operations.size() - 1)};
    return c.emit(kTrunc, c.dtype, c.dtype, {quotient});
  }
  c.map_floating(kTruncDivide, {0, 1});
}

// A number as an element of the dtype that it is compared in.
std::optional<Scalar> as_element(const Scalar& number, ScalarType dtype) {
  const auto value = [&] { return static_cast<float>(number.toDouble()); };
  if (dtype == ScalarType::Half) return Scalar(static_cast<double>(static_cast<float>(c10::Half(value()))));
  if (dtype == ScalarType::BFloat16) return Scalar(static_cast<double>(static_cast<float>(c10::BFloat16(value()))));
  if (!isIntegralType(dtype, false)) return number;
  if (!number.isIntegral(true) || number.type() == ScalarType::UInt64) return std::nullopt;
  const int bits = 8 * static_cast<int>(c10::elementSize(dtype)) - (isSignedType(dtype) ? 1 : 0);
  const int64_t n = number.toLong(), most = std::numeric_limits<int64_t>::max() >> (63 - bits);
  return n <= most && n >= (isSignedType(dtype) ? -most - 1 : 0) ? std::optional<Scalar>(number) : std::nullopt;
}

template <Primitive primitive>
void comparison(Call& c) {
  const ScalarType of = c.promoted({0, 1});
  if (c.failed) return;
  const ScalarType type = at::cpu::compute_type(of);
  if (register_type(of) == ScalarType::Undefined) {
    c.failed = true;
    return;
  }
  if (c.is_tensor(1)) return c.emit(primitive, of, ScalarType::Bool, {c.in(0, type), c.in(1, type)});
  const std::optional<Scalar> number = as_element(c.number(1), of);
  if (!number.has_value()) {
    c.failed = true;
    return;
  }
  c.emit(primitive, of, ScalarType::Bool, {c.in(0, type), c.constant_of(*number, type)});
}
// On truth values where all are, else of what is not zero.
template <Primitive primitive>
void logic(Call& c) {
  const ScalarType of = c.promoted({0, 1});
  if (of != ScalarType::Bool) return comparison<primitive>(c);
  c.add({primitive, ScalarType::Bool, ScalarType::Bool, {c.as(0, of), c.as(1, of)}, {}});
}
void logical_not(Call& c) {
  const ScalarType of = c.info(0).dtype;
  if (of == ScalarType::Bool) {
    c.add({kLogicalNot, of, of, {c.ref_of(0)}, {}});
    return;
  }
  c.emit(kLogicalNot, of, ScalarType::Bool, {c.ref_of(0)});
}
void bitwise_not(Call& c) {
  c.dtype == ScalarType::Bool ? logical_not(c) : c.map(kBitNot, {0});
}
template <Primitive primitive, Primitive of_bools>
void bits(Call& c) {
  if (c.dtype == ScalarType::Bool) {
    const auto truth = [&](size_t i) {
      return c.is_tensor(i) ? c.as(i, ScalarType::Bool) : c.constant_of(c.number(i), ScalarType::Bool);
    };
    const Ref a = truth(0), b = truth(1);
    c.add({of_bools, ScalarType::Bool, ScalarType::Bool, {a, b}, {}});
    if (of_bools == primitive) c.failed = true;
    return;
  }
  c.map(primitive, {0, 1}, {static_cast<int64_t>(8 * c10::elementSize(c.dtype))});
}

void signbit(Call& c) {
  const ScalarType of = c.info(0).dtype;
  if (isIntegralType(of, true) && !isSignedType(of)) c.failed = true;
  if (of == ScalarType::Bool) return;
  c.emit(kSignBit, of, ScalarType::Bool, {c.ref_of(0)});
}

void pow_scalar(Call& c) {
  const Scalar e = c.number(1);
  if (c.failed || e.equal(int64_t{0})) {
    c.failed = true;
  } else if (e.equal(int64_t{1})) {
    c.copy();
  } else if (e.equal(int64_t{2})) {
    c.map(kSquare, {0});
  } else if (c.floating() && e.equal(int64_t{3})) {
    c.map(kCube, {0});
  } else if (c.floating() && e.equal(0.5)) {
    c.map(kSqrt, {0});
  } else if (c.floating() && e.equal(-0.5)) {
    c.map(kRsqrt, {0});
  } else if (c.floating() && e.equal(int64_t{-1})) {
    c.map(kReciprocal, {0});
  } else if (c.floating() && e.equal(int64_t{-2})) {
    c.map(kInverseSquare, {0});
  } else {
    c.map(kPow, {0, 1});
  }
}

void clamp(Call& c, std::optional<Scalar> low, std::optional<Scalar> high) {
  for (std::optional<Scalar>* bound : {&low, &high}) {
    if (!bound->has_value()) continue;
    if ((*bound)->isFloatingPoint() && std::isnan((*bound)->toDouble())) c.failed = true;
    if (isIntegralType(c.dtype, false) && !as_element(**bound, c.dtype).has_value()) c.failed = true;
  }
  if (c.failed || (!low.has_value() && !high.has_value())) {
    c.failed = true;
  } else if (low.has_value() && high.has_value()) {
    c.map(kClamp, {0}, {*low, *high});
  } else {
    c.map(low.has_value() ? kClampMin : kClampMax, {0}, {low.has_value() ? *low : *high});
  }
}
std::optional<Scalar> optional_number(Call& c, size_t i) {
  return c.is_none(i) ? std::nullopt : std::optional<Scalar>(c.number(i));
}
void clamp_tensor(Call& c) {
  if (c.is_none(1) && c.is_none(2)) {
    c.failed = true;
  } else if (c.is_none(2)) {
    c.map(kMaximum, {0, 1});
  } else if (c.is_none(1)) {
    c.map(kMinimum, {0, 2});
  } else {
    c.map(kClampTensor, {0, 1, 2});
  }
}

// Where the condition, operand `condition`, holds, `yes`, else `no`: elements of the result's dtype.
void where(Call& c, size_t condition, size_t yes, size_t no) {
  if (c.info(condition).dtype != ScalarType::Bool) c.failed = true;
  const auto element = [&](size_t i) {
    if (c.is_tensor(i)) return c.as(i, c.dtype);
    const std::optional<Scalar> number = as_element(c.number(i), c.dtype);
    if (!number.has_value()) c.failed = true;
    return c.constant_of(number.value_or(Scalar()), register_type(c.dtype));
  };
  const Ref a = element(yes), b = element(no);
  c.add({kWhere, register_type(c.dtype), c.dtype, {c.ref_of(condition), a, b}, {}});
}

void hardtanh(Call& c) {
  const Scalar low = c.number(1), high = c.number(2);
  if (!c.floating()) c.failed = true;
  if (!c.failed) c.map(kClamp, {0}, {low, high});
}
template <Primitive exact, Primitive of_tanh>
void gelu(Call& c, std::initializer_list<size_t> arguments, size_t approximate) {
  const std::string how = c.text(approximate);
  if (how != "none" && how != "tanh") c.failed = true;
  c.map_floating(how == "tanh" ? of_tanh : exact, arguments);
}
void elu(Call& c, double alpha, double scale, double input_scale) {
  c.map_floating(kElu, {0}, {Scalar(alpha * scale), Scalar(scale), Scalar(input_scale)});
}
void prelu(Call& c) {
  // Else the weight lies along dimension 1, which is not how it broadcasts.
  for (const graph::IntExpr& size : c.info(1).sizes) {
    if (!(size == graph::IntExpr(1))) c.failed = true;
  }
  c.map_floating(kPrelu, {0, 1});
}

void nan_to_num(Call& c) {
  if (!c.floating()) return c.copy();
  double most = std::numeric_limits<double>::max();
  if (c.dtype == ScalarType::Float) most = std::numeric_limits<float>::max();
  if (c.dtype == ScalarType::Half) most = 65504.0;
  if (c.dtype == ScalarType::BFloat16) most = 3.3895313892515355e38;
  const auto nan = c.real(1), high = c.real(2), low = c.real(3);
  c.map(kNanToNum, {0}, {Scalar(nan.value_or(0.0)), Scalar(high.value_or(most)), Scalar(low.value_or(-most))});
}
void round_decimals(Call& c) {
  const Scalar decimals = c.number(1);
  if (c.failed) return;
  const int64_t n = decimals.toLong();
  if (n == 0) return c.map_floating(kRound, {0});
  c.map_floating(kRoundDecimals, {0},
                 {Scalar(std::pow(10.0, std::fabs(static_cast<double>(n)))), Scalar(n < 0 ? 1.0 : 0.0)});
}
void logit(Call& c) {
  const std::optional<double> eps = c.real(1);
  eps.has_value() && *eps >= 0 ? c.map_floating(kLogitClamped, {0}, {Scalar(*eps)}) : c.map_floating(kLogit, {0});
}

// A conversion that makes a new tensor: of another dtype, or a copy by name.
void to_dtype(Call& c) {
  if (!c.is_tensor(0) || c.info(0).dtype == c.dtype) c.failed = true;
  c.copy();
}

// --- rows ---

// Along the last dimension; the operand in the result's dtype.
template <RowFunction function>
void softmax(Call& c) {
  const auto dims = static_cast<int64_t>(c.result().sizes.size());
  const Scalar dim = c.number(1);
  if (c.failed || dims == 0 || !c.floating()) {
    c.failed = true;
    return;
  }
  const int64_t d = dim.toLong();
  if (d != -1 && d != dims - 1) c.failed = true;
  c.out.row = RowOperation{function, c.as(0, c.dtype), c.dtype, 1, {}, {}, 0};
}
template <RowFunction function>
void softmax_of_half(Call& c) {
  const IValue& to_float = c.constant(2);
  if (!to_float.isBool() || to_float.toBool()) c.failed = true;
  softmax<function>(c);
}
void layer_norm(Call& c) {
  // The operator checks that its sizes are those of the input's last dimensions.
  const std::optional<int64_t> dims = c.length(1);
  if (c.failed || !dims.has_value() || !c.floating() || c.info(0).dtype != c.dtype) {
    c.failed = true;
    return;
  }
  RowOperation row{RowFunction::kLayerNorm, c.ref_of(0), c.dtype, *dims, {}, {}, c.number(4).toDouble()};
  for (const size_t i : {size_t{2}, size_t{3}}) {
    if (c.is_none(i)) continue;
    const ScalarType own = c.info(i).dtype;
    if (own != c.dtype && own != register_type(c.dtype)) c.failed = true;
    (i == 2 ? row.weight : row.bias) = c.ref_of(i);
  }
  c.out.row = std::move(row);
}

using Rule = void (*)(Call&);

// By the operator's name and overload.
const std::unordered_map<std::string_view, Rule>& rules() {
  static const auto* const all = new std::unordered_map<std::string_view, Rule>{
      {"add.Tensor", add},
      {"add.Scalar", add},
      {"sub.Tensor", sub},
      {"sub.Scalar", sub},
      {"subtract.Tensor", sub},
      {"subtract.Scalar", sub},
      {"rsub.Tensor", rsub},
      {"rsub.Scalar", rsub},
      {"mul.Tensor", binary<kMul>},
      {"mul.Scalar", binary<kMul>},
      {"multiply.Tensor", binary<kMul>},
      {"multiply.Scalar", binary<kMul>},
      {"div.Tensor", binary<kDiv>},
      {"div.Scalar", binary<kDiv>},
      {"div.Tensor_mode", div_mode},
      {"div.Scalar_mode", div_mode},
      {"divide.Tensor", binary<kDiv>},
      {"divide.Scalar", binary<kDiv>},
      {"true_divide.Tensor", binary<kDiv>},
      {"true_divide.Scalar", binary<kDiv>},
      {"floor_divide", floating_binary<kFloorDivide>},
      {"floor_divide.Scalar", floating_binary<kFloorDivide>},
      {"fmod.Tensor", floating_binary<kFmod>},
      {"fmod.Scalar", floating_binary<kFmod>},
      {"remainder.Tensor", floating_binary<kRemainder>},
      {"remainder.Scalar", floating_binary<kRemainder>},
      {"remainder.Scalar_Tensor", floating_binary<kRemainder>},
      {"maximum", binary<kMaximum>},
      {"minimum", binary<kMinimum>},
      {"fmax", binary<kFmax>},
      {"fmin", binary<kFmin>},
      {"pow.Tensor_Scalar", pow_scalar},
      {"pow.Tensor_Tensor", floating_binary<kPow>},
      {"pow.Scalar", floating_binary<kPow>},
      {"atan2", binary<kAtan2>},
      {"copysign.Tensor", binary<kCopysign>},
      {"copysign.Scalar", binary<kCopysign>},
      {"hypot", binary<kHypot>},
      {"logaddexp", binary<kLogAddExp>},
      {"logaddexp2", binary<kLogAddExp2>},
      {"xlogy.Tensor", binary<kXlogy>},
      {"xlogy.Scalar_Self", binary<kXlogy>},
      {"xlogy.Scalar_Other", binary<kXlogy>},
      {"heaviside", binary<kHeaviside>},
      {"gcd", bits<kGcd, kGcd>},
      {"lcm", bits<kLcm, kLcm>},
      {"bitwise_and.Tensor", bits<kBitwiseAnd, kLogicalAnd>},
      {"bitwise_and.Scalar", bits<kBitwiseAnd, kLogicalAnd>},
      {"bitwise_and.Scalar_Tensor", bits<kBitwiseAnd, kLogicalAnd>},
      {"bitwise_or.Tensor", bits<kBitwiseOr, kLogicalOr>},
      {"bitwise_or.Scalar", bits<kBitwiseOr, kLogicalOr>},
      {"bitwise_or.Scalar_Tensor", bits<kBitwiseOr, kLogicalOr>},
      {"bitwise_xor.Tensor", bits<kBitwiseXor, kLogicalXor>},
      {"bitwise_xor.Scalar", bits<kBitwiseXor, kLogicalXor>},
      {"bitwise_xor.Scalar_Tensor", bits<kBitwiseXor, kLogicalXor>},
      {"bitwise_left_shift.Tensor", bits<kShiftLeft, kShiftLeft>},
      {"bitwise_left_shift.Tensor_Scalar", bits<kShiftLeft, kShiftLeft>},
      {"bitwise_right_shift.Tensor", bits<kShiftRight, kShiftRight>},
      {"bitwise_right_shift.Tensor_Scalar", bits<kShiftRight, kShiftRight>},
      {"bitwise_not", bitwise_not},
      {"eq.Tensor", comparison<kEq>},
      {"eq.Scalar", comparison<kEq>},
      {"ne.Tensor", comparison<kNe>},
      {"ne.Scalar", comparison<kNe>},
      {"lt.Tensor", comparison<kLt>},
      {"lt.Scalar", comparison<kLt>},
      {"le.Tensor", comparison<kLe>},
      {"le.Scalar", comparison<kLe>},
      {"gt.Tensor", comparison<kGt>},
      {"gt.Scalar", comparison<kGt>},
      {"ge.Tensor", comparison<kGe>},
      {"ge.Scalar", comparison<kGe>},
      {"logical_and", logic<kLogicalAnd>},
      {"logical_or", logic<kLogicalOr>},
      {"logical_xor", logic<kLogicalXor>},
      {"logical_not", logical_not},
      {"isnan", floating_predicate<kIsNan>},
      {"isinf", floating_predicate<kIsInf>},
      {"isfinite", floating_predicate<kIsFinite>},
      {"isposinf", floating_predicate<kIsPosInf>},
      {"isneginf", floating_predicate<kIsNegInf>},
      {"signbit", signbit},

      {"neg", unary<kNeg>},
      {"negative", unary<kNeg>},
      {"abs", unary<kAbs>},
      {"absolute", unary<kAbs>},
      {"sign", unary<kSign>},
      {"sgn", unary<kSign>},
      {"ceil", rounding<kCeil>},
      {"floor", rounding<kFloor>},
      {"round", rounding<kRound>},
      {"round.decimals", round_decimals},
      {"trunc", rounding<kTrunc>},
      {"fix", rounding<kTrunc>},
      {"frac", floating_unary<kFrac>},
      {"reciprocal", unary<kReciprocal>},
      {"square", unary<kSquare>},
      {"sqrt", unary<kSqrt>},
      {"rsqrt", unary<kRsqrt>},
      {"exp", unary<kExp>},
      {"exp2", unary<kExp2>},
      {"expm1", unary<kExpm1>},
      {"log", unary<kLog>},
      {"log2", unary<kLog2>},
      {"log10", unary<kLog10>},
      {"log1p", unary<kLog1p>},
      {"sin", unary<kSin>},
      {"cos", unary<kCos>},
      {"tan", unary<kTan>},
      {"asin", unary<kAsin>},
      {"acos", unary<kAcos>},
      {"atan", unary<kAtan>},
      {"sinh", unary<kSinh>},
      {"cosh", unary<kCosh>},
      {"tanh", unary<kTanh>},
      {"asinh", unary<kAsinh>},
      {"acosh", unary<kAcosh>},
      {"atanh", unary<kAtanh>},
      {"erf", unary<kErf>},
      {"erfc", unary<kErfc>},
      {"erfinv", unary<kErfinv>},
      {"sinc", unary<kSinc>},
      {"lgamma", unary<kLgamma>},
      {"digamma", unary<kDigamma>},
      {"angle", unary<kRealAngle>},
      {"sigmoid", unary<kSigmoid>},
      {"logit", logit},
      {"nan_to_num", nan_to_num},
      {"rad2deg",
       [](Call& c) {
         c.emit(kMul, c.dtype, c.dtype,
                {c.in(0, at::cpu::compute_type(c.dtype)),
                 c.constant_of(57.29577951308232, at::cpu::compute_type(c.dtype))});
       }},
      {"deg2rad",
       [](Call& c) {
         c.emit(kMul, c.dtype, c.dtype,
                {c.in(0, at::cpu::compute_type(c.dtype)),
                 c.constant_of(0.017453292519943295, at::cpu::compute_type(c.dtype))});
       }},

      {"clamp", [](Call& c) { clamp(c, optional_number(c, 1), optional_number(c, 2)); }},
      {"clamp.Tensor", clamp_tensor},
      {"clamp_min", [](Call& c) { clamp(c, c.number(1), std::nullopt); }},
      {"clamp_min.Tensor", binary<kMaximum>},
      {"clamp_max", [](Call& c) { clamp(c, std::nullopt, c.number(1)); }},
      {"clamp_max.Tensor", binary<kMinimum>},
      {"where.self", [](Call& c) { where(c, 0, 1, 2); }},
      {"where.ScalarSelf", [](Call& c) { where(c, 0, 1, 2); }},
      {"where.ScalarOther", [](Call& c) { where(c, 0, 1, 2); }},
      {"masked_fill.Scalar", [](Call& c) { where(c, 1, 2, 0); }},
      {"addcmul",
       [](Call& c) {
         c.map(kAddcmul, {0, 1, 2}, {c.number(3)});
       }},
      {"addcdiv",
       [](Call& c) {
         c.map_floating(kAddcdiv, {0, 1, 2}, {c.number(3)});
       }},
      {"lerp.Scalar",
       [](Call& c) {
         c.map_floating(kLerpScalar, {0, 1}, {c.number(2)});
       }},
      {"lerp.Tensor",
       [](Call& c) {
         c.map_floating(kLerp, {0, 1, 2});
       }},

      {"relu", [](Call& c) { c.map(kClampMin, {0}, {Scalar(0)}); }},
      {"relu6",
       [](Call& c) {
         c.map(kClamp, {0}, {Scalar(0), Scalar(6)});
       }},
      {"hardtanh", hardtanh},
      {"leaky_relu", [](Call& c) { c.map_floating(kLeakyRelu, {0}, {c.number(1)}); }},
      {"prelu", prelu},
      {"threshold",
       [](Call& c) {
         c.map_floating(kThreshold, {0}, {c.number(1), c.number(2)});
       }},
      {"threshold_backward",
       [](Call& c) {
         c.map_floating(kThresholdBackward, {0, 1}, {c.number(2)});
       }},
      {"gelu", [](Call& c) { gelu<kGelu, kGeluTanh>(c, {0}, 1); }},
      {"gelu_backward",
       [](Call& c) {
         gelu<kGeluBackward, kGeluTanhBackward>(c, {0, 1}, 2);
       }},
      {"silu", floating_unary<kSilu>},
      {"silu_backward", floating_binary<kSiluBackward>},
      {"mish", floating_unary<kMish>},
      {"hardsigmoid", floating_unary<kHardsigmoid>},
      {"hardswish", floating_unary<kHardswish>},
      {"log_sigmoid", floating_unary<kLogSigmoid>},
      {"softplus",
       [](Call& c) {
         c.map_floating(kSoftplus, {0}, {c.number(1), c.number(2)});
       }},
      {"elu", [](Call& c) { elu(c, c.number(1).toDouble(), c.number(2).toDouble(), c.number(3).toDouble()); }},
      {"selu", [](Call& c) { elu(c, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1); }},
      {"celu",
       [](Call& c) {
         const double alpha = c.number(1).toDouble();
         elu(c, alpha, 1, 1.0 / alpha);
       }},
      {"hardshrink", [](Call& c) { c.map_floating(kHardshrink, {0}, {c.number(1)}); }},
      {"softshrink", [](Call& c) { c.map_floating(kSoftshrink, {0}, {c.number(1)}); }},
      {"sigmoid_backward", floating_binary<kSigmoidBackward>},
      {"tanh_backward", floating_binary<kTanhBackward>},

      {"clone", [](Call& c) { c.copy(); }},
      {"_to_copy", [](Call& c) { c.copy(); }},
      {"to.dtype", to_dtype},
      {"to.dtype_layout", to_dtype},

      {"softmax.int", softmax<RowFunction::kSoftmax>},
      {"_softmax", softmax_of_half<RowFunction::kSoftmax>},
      {"log_softmax.int", softmax<RowFunction::kLogSoftmax>},
      {"_log_softmax", softmax_of_half<RowFunction::kLogSoftmax>},
      {"layer_norm", layer_norm},
  };
  return *all;
}

}  // namespace

std::optional<TensorInfo> tensor_info(const Operand& operand) {
  if (operand.is_value() && operand.value()->info() != nullptr) return *operand.value()->info();
  if (!operand.is_constant() || !operand.constant().isTensor()) return std::nullopt;
  const at::Tensor t = operand.constant().toTensor();
  if (!t.defined()) return std::nullopt;
  return graph::info_of(t);
}

std::optional<Lowered> lower(const Node& node) {
  if (node.kind() != Node::Kind::kCall || node.callable().handle() == nullptr) return std::nullopt;
  const c10::FunctionSchema& schema = node.callable().schema();
  std::string name(schema.name());
  if (name.compare(0, 6, "aten::") != 0) return std::nullopt;
  name.erase(0, 6);
  if (!schema.overload_name().empty()) name.append(".").append(schema.overload_name());
  const auto rule = rules().find(name);
  if (rule == rules().end()) return std::nullopt;
  Call call(node);
  if (!call.start()) return std::nullopt;
  rule->second(call);
  const c10::Device device = call.result().device;
  if (call.failed || (!device.is_cpu() && !group_compiler(device.type())->takes(call.out))) return std::nullopt;
  return std::move(call.out);
}

}  // namespace torch::compiler
