#include "export/pt2/graph_writer.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "c10/util/exception.h"
#include "export/pt2/enums.h"
#include "export/pt2/expr.h"
#include "export/pt2/lowering.h"

namespace torch::pt2 {
namespace {

using c10::IValue;
using c10::TypeKind;
using graph::IntExpr;
using graph::IntRange;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;
using graph::Value;

using Ranges = std::map<std::string, IntRange>;
using Hints = std::map<std::string, int64_t>;

constexpr size_t kLongestText = 1000;  // of a number

json hint_of(const IntExpr& e, const Hints& hints) {
  std::set<std::string> names;
  e.collect_symbols(names);
  for (const std::string& name : names) {
    if (hints.count(name) == 0) return nullptr;
  }
  try {
    return {{"as_int", e.evaluate(hints)}};
  } catch (const c10::ValueError&) {
    return nullptr;
  }
}
json size_json(const IntExpr& e, const Ranges& ranges, const Hints& hints, const OpaqueSizes& opaque) {
  if (e.is_constant()) return {{"as_int", e.value()}};
  const std::string text = sympy_of(e, ranges, opaque);
  std::string error;
  const std::optional<IntExpr> back = parse_sympy(text, &error);
  std::set<std::string> names;
  e.collect_symbols(names);
  const bool plain = std::none_of(names.begin(), names.end(), [&](const auto& name) { return opaque.count(name) > 0; });
  TORCH_CHECK_VALUE(plain ? back == e : error.empty(), "a .pt2 file has no form for the number ",
                    e.str().substr(0, 200), error.empty() ? "" : ": ", error);
  return {{"as_expr", {{"expr_str", text}, {"hint", hint_of(e, hints)}}}};
}

std::string float_text(double v) {
  return "Float('" + json(v).dump() + "', precision=53)";
}

}  // namespace

json json_of(c10::Device device) {
  return {{"type", c10::DeviceTypeName(device.type(), /*lower_case=*/true)},
          {"index", device.has_index() ? json(device.index()) : json(nullptr)}};
}
json json_of(const TensorInfo& info, const Ranges& ranges, const Hints& hints, const OpaqueSizes& opaque) {
  TORCH_CHECK_VALUE(info.sizes.size() <= kMostDimensions && info.strides.size() <= kMostDimensions,
                    "a tensor of more than ", kMostDimensions, " dimensions cannot be written");
  const auto all = [&](const std::vector<IntExpr>& numbers) {
    json list = json::array();
    for (const IntExpr& e : numbers) list.push_back(size_json(e, ranges, hints, opaque));
    return list;
  };
  return {{"dtype", number_or_refuse(info.dtype, "dtype")},
          {"sizes", all(info.sizes)},
          {"requires_grad", info.requires_grad},
          {"device", json_of(info.device)},
          {"strides", all(info.strides)},
          {"storage_offset", size_json(info.storage_offset, ranges, hints, opaque)},
          {"layout", number_or_refuse(info.layout, "layout")}};
}

// --- what is known of values ---

const TensorInfo* GraphWriter::info_of(const Value* value) const {
  if (value->info() != nullptr) return value->info();
  const auto known = infos_.find(value);
  if (known != infos_.end()) return known->second;
  const TensorInfo* info = info_of_written(value);
  infos_.emplace(value, info);
  return info;
}
// Of what an operator has written to and returns.
const TensorInfo* GraphWriter::info_of_written(const Value* value) const {
  const Node* node = value->node();
  if (node == nullptr || node->kind() != Node::Kind::kCall) return nullptr;
  const c10::FunctionSchema& schema = node->callable().schema();
  if (value->index() >= schema.returns().size() || !schema.returns()[value->index()].is_write()) return nullptr;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (argument.is_write() && argument.alias() == schema.returns()[value->index()].alias()) {
      const Operand written = meaning(node->operand(i));
      return written.is_value() ? info_of(written.value()) : nullptr;
    }
  }
  return nullptr;
}

// 't'ensor, 'i'nt, 'b'ool, 'f'loat, or '?'.
char GraphWriter::kind_of(const Value* value) const {
  const auto known = kinds_.find(value);
  if (known != kinds_.end()) return known->second;
  const char kind = computed_kind(value);
  kinds_.emplace(value, kind);
  return kind;
}
char GraphWriter::computed_kind(const Value* value) const {
  switch (value->type()->kind()) {
    case TypeKind::TensorType:
      return 't';
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return 'i';
    case TypeKind::BoolType:
    case TypeKind::SymBoolType:
      return 'b';
    case TypeKind::FloatType:
    case TypeKind::SymFloatType:
      return 'f';
    default:
      break;
  }
  if (const auto* optional = value->type()->castRaw<c10::OptionalType>()) {
    if (optional->getElementType()->kind() == TypeKind::TensorType) return 't';
  }
  const Node* node = value->node();
  if (node == nullptr || node->kind() != Node::Kind::kCall) return '?';
  if (node->calls("aten::item") || node->calls("aten::_local_scalar_dense")) {
    const Operand from = meaning(node->operand(0));
    const TensorInfo* info = from.is_value() ? info_of(from.value()) : nullptr;
    if (info == nullptr) return '?';
    return info->dtype == c10::ScalarType::Bool ? 'b' : c10::isIntegralType(info->dtype, false) ? 'i' : 'f';
  }
  const std::string target = scalar_target(*node);
  if (target.empty()) return '?';
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), target) != names.end();
  };
  if (is({"_operator.eq", "_operator.ne", "_operator.lt", "_operator.le", "_operator.gt", "_operator.ge",
          "torch.sym_not"})) {
    return 'b';
  }
  if (is({"_operator.truediv", "torch.sym_float", "torch.sym_sqrt", "torch._sym_sqrt"})) return 'f';
  if (is({"math.trunc", "torch.sym_int"})) return 'i';
  bool truths = true;
  for (size_t i = target == "torch.sym_ite" ? 1 : 0; i < node->operands().size(); ++i) {
    const Operand o = meaning(node->operand(i));
    const char kind = o.is_value()              ? kind_of(o.value())
                      : !o.is_constant()        ? '?'
                      : o.constant().isDouble() ? 'f'
                      : o.constant().isBool()   ? 'b'
                                                : 'i';
    if (kind == 'f' || kind == '?' || kind == 't') return kind == 't' ? '?' : kind;
    truths = truths && kind == 'b';
  }
  return truths && is({"_operator.and_", "_operator.or_", "torch.sym_ite"}) ? 'b' : 'i';
}

IntExpr GraphWriter::fresh_symbol(const char* prefix) {
  std::string name;
  int64_t& number = symbol_numbers_[prefix];
  do {
    name = prefix + std::to_string(number++);
  } while (!symbols_.insert(name).second);
  return IntExpr::symbol(name);
}

// Of an int. Where nothing is known it is a symbol of its own.
IntExpr GraphWriter::expr_of(const Value* value) {
  if (value->expr() != nullptr) return *value->expr();
  const auto found = exprs_.find(value);
  if (found != exprs_.end()) return found->second;
  const auto part = [&](const Node* node, size_t i) -> std::optional<IntExpr> {
    const Operand o = meaning(node->operand(i));
    if (o.is_constant()) return o.constant().isInt() ? std::optional<IntExpr>(o.constant().toInt()) : std::nullopt;
    return o.is_value() && kind_of(o.value()) == 'i' ? std::optional<IntExpr>(expr_of(o.value())) : std::nullopt;
  };
  const auto computed = [&]() -> std::optional<IntExpr> {
    const Node* node = value->node();
    if (node == nullptr || node->kind() != Node::Kind::kCall) return std::nullopt;
    if (node->calls("aten::sym_size.int") || node->calls("aten::sym_stride.int") || node->calls("aten::sym_numel")) {
      const Operand from = meaning(node->operand(0));
      const TensorInfo* info = from.is_value() ? info_of(from.value()) : nullptr;
      if (info == nullptr) return std::nullopt;
      if (node->calls("aten::sym_numel")) {
        IntExpr all = 1;
        for (const IntExpr& e : info->sizes) all = all * e;
        return all;
      }
      const std::vector<IntExpr>& numbers = node->calls("aten::sym_size") ? info->sizes : info->strides;
      if (!node->operand(1).is_constant() || !node->operand(1).constant().isInt()) return std::nullopt;
      const int64_t d = node->operand(1).constant().toInt(), dims = static_cast<int64_t>(numbers.size());
      if (d < -dims || d >= dims) return std::nullopt;
      return numbers[static_cast<size_t>(d < 0 ? d + dims : d)];
    }
    const std::string target = scalar_target(*node);
    if (target.empty() || node->operands().empty()) return std::nullopt;
    if (target == "math.trunc" || target == "torch.sym_int") {
      const Operand from = meaning(node->operand(0));
      const Node* divides = from.is_value() ? from.value()->node() : nullptr;
      if (divides != nullptr && scalar_target(*divides) == "_operator.truediv") {
        const std::optional<IntExpr> top = part(divides, 0), bottom = part(divides, 1);
        if (top.has_value() && bottom.has_value()) return floordiv(*top, *bottom);
      }
    }
    const std::optional<IntExpr> a = part(node, 0), b = node->operands().size() == 2 ? part(node, 1) : std::nullopt;
    if (!a.has_value()) return std::nullopt;
    if (target == "_operator.neg") return 0 - *a;
    if (target == "_operator.pos" || target == "torch.sym_int") return a;
    if (!b.has_value()) return std::nullopt;
    if (target == "_operator.add") return *a + *b;
    if (target == "_operator.sub") return *a - *b;
    if (target == "_operator.mul") return *a * *b;
    if (target == "_operator.floordiv") return floordiv(*a, *b);
    if (target == "_operator.mod") return mod(*a, *b);
    if (target == "torch.sym_min") return min(*a, *b);
    if (target == "torch.sym_max") return max(*a, *b);
    return std::nullopt;
  };
  std::optional<IntExpr> e;
  try {
    e = computed();
  } catch (const c10::ValueError&) {  // a division by zero, or beyond int64
  }
  if (!e.has_value() || e->str().size() > kLongestText) e = fresh_symbol("u");
  e->collect_symbols(symbols_);
  exprs_.emplace(value, *e);
  return *e;
}

GraphWriter::Number GraphWriter::number_of(const Operand& given) {
  const Operand o = meaning(given);
  if (o.is_constant()) {
    const IValue& v = o.constant();
    if (v.isBool()) return {'b', v.toBool() ? "true" : "false", std::nullopt};
    if (v.isInt()) return {'i', "Integer(" + std::to_string(v.toInt()) + ")", static_cast<double>(v.toInt())};
    if (v.isDouble() && std::isfinite(v.toDouble())) return {'f', float_text(v.toDouble()), v.toDouble()};
    return {};
  }
  if (!o.is_value()) return {};
  const auto known = numbers_.find(o.value());
  if (known != numbers_.end()) return known->second;
  Number n = computed_number(o.value());
  // Texts of texts grow without bound.
  if (n.text.empty() || n.text.size() > kLongestText) {
    // A symbol of its own: a float, or whether a whole number is 1.
    const std::string symbol = sympy_symbol(fresh_symbol(n.kind == 'f' ? "zuf" : "u").name());
    n = {n.kind, n.kind == 'b' ? "Equality(" + symbol + ", Integer(1))" : symbol, std::nullopt};
  }
  numbers_.emplace(o.value(), n);
  return n;
}

// Without a text where there is none.
GraphWriter::Number GraphWriter::computed_number(const Value* value) {
  const char kind = kind_of(value);
  if (kind == 'i') {
    const IntExpr e = expr_of(value);
    const json hint = hint_of(e, hints_);
    return {'i', sympy_of(e, ranges_, opaque_),
            hint.is_null() ? std::nullopt : std::optional<double>(static_cast<double>(hint["as_int"].get<int64_t>()))};
  }
  const Number unknown{kind, "", std::nullopt};
  const Node* node = value->node();
  const std::string target = node == nullptr ? "" : scalar_target(*node);
  if (target.empty()) return unknown;
  std::vector<Number> parts;
  bool floats = false;
  for (const Operand& part : node->operands()) {
    parts.push_back(number_of(part));
    if (parts.back().text.empty()) return unknown;
    floats = floats || parts.back().kind == 'f';
  }
  const auto both = [&](double (*f)(double, double)) -> std::optional<double> {
    if (!parts[0].value.has_value() || !parts[1].value.has_value()) return std::nullopt;
    const double v = f(*parts[0].value, *parts[1].value);
    return std::isfinite(v) ? std::optional<double>(v) : std::nullopt;
  };
  const auto applied = [&](const char* function, std::optional<double> result = std::nullopt) -> Number {
    std::string text = function;
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool widen = floats && parts[i].kind == 'i';
      text += (i == 0 ? "(" : ", ") + (widen ? "ToFloat(" + parts[i].text + ")" : parts[i].text);
    }
    return {kind, text + ")", result};
  };
  if (target == "_operator.truediv") {
    return applied(floats ? "FloatTrueDiv" : "IntTrueDiv", both([](double a, double b) { return a / b; }));
  }
  if (target == "torch.sym_float") return floats ? parts[0] : applied("ToFloat", parts[0].value);
  if (target == "torch.sym_sqrt" || target == "torch._sym_sqrt") {
    if (!floats) parts[0].text = "ToFloat(" + parts[0].text + ")";
    parts.push_back({'f', float_text(0.5), 0.5});
    return applied("FloatPow", both([](double a, double b) { return std::pow(a, b); }));
  }
  if (floats && target == "_operator.add") return applied("Add", both([](double a, double b) { return a + b; }));
  if (floats && target == "_operator.mul") return applied("Mul", both([](double a, double b) { return a * b; }));
  if (floats && target == "_operator.pow") {
    return applied("FloatPow", both([](double a, double b) { return std::pow(a, b); }));
  }
  constexpr std::pair<std::string_view, const char*> kTruths[] = {
      {"_operator.eq", "Equality"}, {"_operator.ne", "Unequality"},        {"_operator.lt", "StrictLessThan"},
      {"_operator.le", "LessThan"}, {"_operator.gt", "StrictGreaterThan"}, {"_operator.ge", "GreaterThan"}};
  for (const auto& [name, function] : kTruths) {
    if (target == name) return applied(function);
  }
  const bool truths = std::all_of(parts.begin(), parts.end(), [](const Number& n) { return n.kind == 'b'; });
  if (truths && target == "_operator.and_") return applied("And");
  if (truths && target == "_operator.or_") return applied("Or");
  if (truths && target == "torch.sym_not") return applied("Not");
  return unknown;
}

json GraphWriter::number_json(const Value* value) {
  if (kind_of(value) == 'i') {
    const IntExpr e = expr_of(value);
    e.collect_symbols(symbols_);
    return size_json(e, ranges_, hints_, opaque_);
  }
  const Number n = number_of(Operand(const_cast<Value*>(value)));
  const bool known = n.kind == 'f' && n.value.has_value();
  return {{"as_expr", {{"expr_str", n.text}, {"hint", known ? json({{"as_float", *n.value}}) : json(nullptr)}}}};
}

}  // namespace torch::pt2
