#include "graph/passes/numbers.h"

#include <optional>
#include <string_view>
#include <utility>

#include "aten/core/tensor.h"
#include "graph/passes/tensor_info.h"

namespace torch::graph {
namespace {

using c10::IValue;

std::optional<IntExpr> number(const Operand& operand) {
  if (operand.is_expr()) return operand.expr();
  if (operand.is_constant() && operand.constant().isInt()) return IntExpr(operand.constant().toInt());
  if (operand.is_value() && operand.value()->expr() != nullptr) return *operand.value()->expr();
  return std::nullopt;
}

std::optional<TensorInfo> info(const Operand& operand) {
  if (operand.is_value() && operand.value()->info() != nullptr) return *operand.value()->info();
  if (operand.is_constant() && operand.constant().isTensor() && operand.constant().toTensor().defined()) {
    return info_of(operand.constant().toTensor());
  }
  return std::nullopt;
}

// The element of a list that a number picks, counted from the end where it is negative.
std::optional<IntExpr> picked(const std::vector<IntExpr>& list, const Operand& place) {
  const std::optional<IntExpr> i = number(place);
  if (!i.has_value() || !i->is_constant()) return std::nullopt;
  const int64_t n = static_cast<int64_t>(list.size()), at = i->value() < 0 ? i->value() + n : i->value();
  if (at < 0 || at >= n) return std::nullopt;
  return list[static_cast<size_t>(at)];
}

// What a call computes of sizes; nothing for others.
std::optional<IntExpr> computed(const Node& node) {
  const auto calls = [&](std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (node.calls(name)) return true;
    }
    return false;
  };
  if (node.operands().empty()) return std::nullopt;
  if (calls({"aten::sym_size.int", "aten::size.int", "aten::sym_stride.int", "aten::stride.int", "aten::sym_numel",
             "aten::numel", "aten::sym_storage_offset"})) {
    const std::optional<TensorInfo> of = info(node.operand(0));
    if (!of.has_value()) return std::nullopt;
    if (calls({"aten::sym_size.int", "aten::size.int"})) return picked(of->sizes, node.operand(1));
    if (calls({"aten::sym_stride.int", "aten::stride.int"})) return picked(of->strides, node.operand(1));
    if (calls({"aten::sym_storage_offset"})) return of->storage_offset;
    IntExpr n = 1;
    for (const IntExpr& size : of->sizes) n = n * size;
    return n;
  }
  const std::optional<IntExpr> a = number(node.operand(0));
  if (!a.has_value()) return std::nullopt;
  if (calls({"_operator::neg", "aten::neg.int"})) return IntExpr(0) - *a;
  if (calls({"_operator::pos", "torch::sym_int"})) return a;
  if (node.operands().size() != 2) return std::nullopt;
  const std::optional<IntExpr> b = number(node.operand(1));
  if (!b.has_value()) return std::nullopt;
  if (calls({"_operator::add", "aten::add.int"})) return *a + *b;
  if (calls({"_operator::sub", "aten::sub.int"})) return *a - *b;
  if (calls({"_operator::mul", "aten::mul.int"})) return *a * *b;
  if (calls({"torch::sym_max"})) return max(*a, *b);
  if (calls({"torch::sym_min"})) return min(*a, *b);
  const bool divides = !(b->is_constant() && b->value() == 0);
  if (divides && calls({"_operator::floordiv", "aten::floordiv.int"})) return floordiv(*a, *b);
  if (divides && calls({"_operator::mod", "aten::remainder.int"})) return mod(*a, *b);
  return std::nullopt;
}

// The answer of a comparison where the ranges of both sides give it.
std::optional<bool> answered(const Node& node, const std::map<std::string, IntRange>& symbols) {
  if (node.operands().size() != 2) return std::nullopt;
  const std::optional<IntExpr> a = number(node.operand(0)), b = number(node.operand(1));
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  const IntRange d = (*a - *b).range(symbols);
  const auto either = [](bool yes, bool no) {
    return yes ? std::optional<bool>(true) : no ? std::optional<bool>(false) : std::nullopt;
  };
  if (node.calls("_operator::lt")) return either(d.max < 0, d.min >= 0);
  if (node.calls("_operator::le")) return either(d.max <= 0, d.min > 0);
  if (node.calls("_operator::gt")) return either(d.min > 0, d.max <= 0);
  if (node.calls("_operator::ge")) return either(d.min >= 0, d.max < 0);
  const bool same = d.min == 0 && d.max == 0, different = d.min > 0 || d.max < 0;
  if (node.calls("_operator::eq")) return either(same, different);
  if (node.calls("_operator::ne")) return either(different, same);
  return std::nullopt;
}

bool is_true(const Operand& operand) {
  return operand.is_constant() && operand.constant().isBool() && operand.constant().toBool();
}

void walk(const Block& block, PassResult& result) {
  const std::map<std::string, IntRange>& symbols = block.graph().symbols();
  for (Node* node : block) {
    for (size_t i = 0; i < node->block_count(); ++i) walk(node->block(i), result);
    if (node->kind() != Node::Kind::kCall) continue;
    if (node->calls("aten::_assert_scalar") && is_true(node->operand(0))) {
      node->erase();
      ++result.changes;
      continue;
    }
    if (node->result_count() != 1 || node->result()->uses().empty()) continue;
    if (const std::optional<IntExpr> value = computed(*node); value.has_value()) {
      node->result()->set_expr(*value);
      node->result()->replace_all_uses_with(value->is_constant() ? Operand(IValue(value->value())) : Operand(*value));
      ++result.changes;
    } else if (const std::optional<bool> answer = answered(*node, symbols); answer.has_value()) {
      node->result()->replace_all_uses_with(Operand(IValue(*answer)));
      ++result.changes;
    }
  }
}

}  // namespace

PassResult resolve_numbers(Graph& graph) {
  PassResult result;
  walk(graph.block(), result);
  return result;
}

}  // namespace torch::graph
