#include "graph/passes/constant_folding.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "c10/value/object.h"
#include "graph/ir/text.h"
#include "graph/passes/effects.h"
#include "graph/passes/shape_propagation.h"

namespace torch::graph {
namespace {

using c10::IValue;
using c10::Stack;
using Kind = Node::Kind;

bool is_number(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::BoolType:
      return true;
    default:
      return false;
  }
}

bool requires_grad(const IValue& v) {
  if (v.isTensor()) return v.toTensor().requires_grad();
  if (!v.isList()) return false;
  const auto parts = v.toListRef();
  return std::any_of(parts.begin(), parts.end(), [](const IValue& part) { return requires_grad(part); });
}

int64_t bytes_of(const IValue& v) {
  if (v.isTensor()) {
    const at::Tensor t = v.toTensor();
    int64_t bytes = 0;
    return __builtin_mul_overflow(t.numel(), static_cast<int64_t>(t.itemsize()), &bytes) ? INT64_MAX : bytes;
  }
  int64_t sum = 0;
  if (v.isList()) {
    for (const IValue& part : v.toListRef()) {
      if (__builtin_add_overflow(sum, bytes_of(part), &sum)) return INT64_MAX;
    }
  }
  return sum;
}

class Folding {
 public:
  Folding(const Graph& graph, const ConstantFoldingOptions& options) : aliases_(graph), left_(options.max_bytes) {
    walk(graph.block());
  }

  PassResult apply() {
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      for (size_t i = 0; i < (*node)->result_count(); ++i) {
        Value* const result = (*node)->result(i);
        if (!result->uses().empty()) result->replace_all_uses_with(Operand(folded_.at(result)));
      }
      (*node)->erase();
    }
    result_.changes = static_cast<int64_t>(nodes_.size());
    return std::move(result_);
  }

 private:
  void walk(const Block& block) {
    for (Node* node : block) {
      if (node->kind() == Kind::kScope) continue;
      for (size_t b = 0; b < node->block_count(); ++b) walk(node->block(b));
      try {
        fold(node);
      } catch (const std::exception& error) {
        const auto* own = dynamic_cast<const c10::Error*>(&error);
        result_.notes.push_back(print_node(*node) + ": " + (own != nullptr ? own->msg() : error.what()));
      }
    }
  }

  std::optional<IValue> constant(const Operand& operand, const c10::TypePtr& wanted) const {
    if (operand.is_constant()) return operand.constant();
    if (operand.is_expr())
      return operand.expr().is_constant() ? std::optional<IValue>(operand.expr().value()) : std::nullopt;
    if (operand.is_value()) {
      const auto found = folded_.find(operand.value());
      return found == folded_.end() ? std::nullopt : std::optional<IValue>(found->second);
    }
    c10::TypePtr element = c10::AnyType::get();
    if (wanted != nullptr) {
      const auto optional = wanted->cast<c10::OptionalType>();
      const auto list = (optional == nullptr ? wanted : optional->getElementType())->cast<c10::ListType>();
      if (list != nullptr) element = list->getElementType();
    }
    const c10::impl::GenericList list(element);
    for (const Operand& part : operand.list()) {
      const std::optional<IValue> v = constant(part, element);
      if (!v.has_value()) return std::nullopt;
      list.push_back(*v);
    }
    return IValue(list);
  }
  std::optional<Stack> constants(const Node& node) const {
    Stack all;
    for (size_t i = 0; i < node.operands().size(); ++i) {
      c10::TypePtr wanted;
      if (node.kind() == Kind::kCall && i < node.callable().schema().arguments().size()) {
        wanted = node.callable().schema().arguments()[i].type();
      }
      std::optional<IValue> v = constant(node.operand(i), wanted);
      if (!v.has_value() || requires_grad(*v)) return std::nullopt;
      all.push_back(std::move(*v));
    }
    return all;
  }

  bool may_fold(const Node& node) const {
    if (node.result_count() == 0 || has_effects(node) || !written_operands(node).empty()) return false;
    for (size_t i = 0; i < node.result_count(); ++i) {
      const int set = aliases_.of(node.result(i));
      if (set != AliasSets::kNone && (aliases_.is_written(set) || aliases_.escapes(set))) return false;
    }
    for (const Operand& operand : node.operands()) {
      for (const int set : aliases_.of(operand)) {
        if (aliases_.is_written(set)) return false;
      }
    }
    return true;
  }

  void fold(Node* node) {
    if (node->kind() != Kind::kCall && node->kind() != Kind::kTuple && node->kind() != Kind::kUnpack) return;
    if (!may_fold(*node)) return;
    std::optional<Stack> stack = constants(*node);
    if (!stack.has_value()) return;
    if (node->kind() == Kind::kCall) {
      if (!call(*node, *stack)) return;
    } else if (node->kind() == Kind::kTuple) {
      const auto tuple = node->result()->type()->cast<c10::TupleType>();
      if (tuple == nullptr || tuple->is_named()) return;
      stack = Stack{IValue(c10::ivalue::Tuple::create(std::move(*stack)))};
    } else {
      const IValue whole = stack->at(0);
      if (!whole.isTuple() && !whole.isList()) return;
      const auto parts = whole.isTuple() ? whole.toTupleRef().elementsArrayRef() : whole.toListRef();
      stack = Stack(parts.begin(), parts.end());
    }
    if (stack->size() != node->result_count()) return;
    for (size_t i = 0; i < stack->size(); ++i) folded_.insert_or_assign(node->result(i), (*stack)[i]);
    nodes_.push_back(node);
  }

  // Replaces the arguments by the results; false where the call is left alone.
  bool call(const Node& node, Stack& stack) {
    const c10::FunctionSchema& schema = node.callable().schema();
    const std::string_view name = schema.name();
    if (name.substr(0, 11) == "aten::empty" || name.substr(0, 15) == "aten::new_empty") return false;
    if (opens_files(name)) return false;
    const bool numbers = std::all_of(schema.returns().begin(), schema.returns().end(),
                                     [](const c10::Argument& r) { return is_number(r.type()); });
    if (!numbers) {
      if (node.callable().handle() == nullptr) return false;
      const std::optional<Stack> sizes = call_on_meta(node.callable(), stack);
      if (!sizes.has_value()) return false;
      int64_t bytes = 0;
      for (const IValue& v : *sizes) {
        if (__builtin_add_overflow(bytes, bytes_of(v), &bytes)) bytes = INT64_MAX;
      }
      if (bytes > left_) {
        result_.notes.push_back(print_node(node) + ": its results have " + std::to_string(bytes) +
                                " bytes, of which only " + std::to_string(left_) + " are left");
        return false;
      }
      left_ -= bytes;
    }
    const c10::NoGradGuard no_grad;
    node.callable().call(stack);
    return true;
  }

  AliasSets aliases_;
  std::map<const Value*, IValue> folded_;
  std::vector<Node*> nodes_;
  int64_t left_;
  PassResult result_;
};

}  // namespace

PassResult fold_constants(Graph& graph, const ConstantFoldingOptions& options) {
  return Folding(graph, options).apply();
}

}  // namespace torch::graph
