// Expressions that are no calls.
#include <algorithm>

#include "c10/value/class_type.h"
#include "c10/value/dict.h"
#include "jit/compiler/annotations.h"
#include "jit/compiler/constants.h"
#include "jit/compiler/function_compiler.h"

namespace torch::jit::detail {
namespace {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;
using graph::Node;
using graph::Operand;

TypePtr without_optional(const TypePtr& type) {
  return type->kind() == TypeKind::OptionalType ? type->expectRef<c10::OptionalType>().getElementType() : type;
}
// The part of `wanted` that is of this kind, if there is one.
TypePtr wanted_of(const TypePtr& wanted, TypeKind kind) {
  if (wanted == nullptr || without_optional(wanted)->kind() != kind) return nullptr;
  return without_optional(wanted);
}
bool is_none(const Expr& node) {
  const auto* constant = node.as<ConstantExpr>();
  return constant != nullptr && constant->value == ConstantExpr::Value::kNone;
}
// `type` without what `removed` takes in; null where nothing is left.
TypePtr without(const TypePtr& type, const TypePtr& removed) {
  if (type->isSubtypeOf(removed)) return nullptr;
  if (type->kind() == TypeKind::OptionalType) {
    if (removed->kind() == TypeKind::NoneType) return without_optional(type);
    return without_optional(type)->isSubtypeOf(removed) ? TypePtr(c10::NoneType::get()) : type;
  }
  if (type->kind() != TypeKind::UnionType) return type;
  std::vector<TypePtr> left;
  for (const TypePtr& member : type->containedTypes()) {
    if (!member->isSubtypeOf(removed)) left.push_back(member);
  }
  return left.size() == 1 ? left[0] : TypePtr(c10::UnionType::create(left));
}

}  // namespace

Typed FunctionCompiler::expression(const Expr& node, const TypePtr& wanted) {
  switch (node.kind) {
    case Expr::Kind::kName:
      return name(*node.as<NameExpr>());
    case Expr::Kind::kInt:
      return constant(node.as<IntExpr>()->value, c10::IntType::get(), node.range);
    case Expr::Kind::kFloat:
      return constant(node.as<FloatExpr>()->value, c10::FloatType::get(), node.range);
    case Expr::Kind::kImaginary:
      return constant(c10::complex<double>(0, node.as<ImaginaryExpr>()->value), c10::ComplexType::get(), node.range);
    case Expr::Kind::kString:
      return constant(node.as<StringExpr>()->value, c10::StringType::get(), node.range);
    case Expr::Kind::kConstant: {
      const ConstantExpr::Value value = node.as<ConstantExpr>()->value;
      if (value == ConstantExpr::Value::kNone) return none(node.range);
      if (value == ConstantExpr::Value::kEllipsis)
        throw ErrorReport(node.range, "'...' stands for dimensions of a tensor only");
      return constant(value == ConstantExpr::Value::kTrue, c10::BoolType::get(), node.range);
    }
    case Expr::Kind::kList:
      return list(*node.as<ListExpr>(), wanted);
    case Expr::Kind::kTuple:
      return tuple(*node.as<TupleExpr>(), wanted);
    case Expr::Kind::kDict:
      return dict(*node.as<DictExpr>(), wanted);
    case Expr::Kind::kAttribute:
      return attribute(*node.as<AttributeExpr>());
    case Expr::Kind::kCall:
      return call(*node.as<CallExpr>(), wanted);
    case Expr::Kind::kSubscript:
      return subscript(*node.as<SubscriptExpr>(), wanted);
    case Expr::Kind::kUnary:
      return unary(*node.as<UnaryExpr>());
    case Expr::Kind::kBinary:
      return binary(*node.as<BinaryExpr>());
    case Expr::Kind::kChain:
      return chain(*node.as<ChainExpr>());
    case Expr::Kind::kConditional:
      return conditional(*node.as<ConditionalExpr>(), wanted);
    case Expr::Kind::kComprehension:
      return comprehension(*node.as<ComprehensionExpr>(), wanted);
    case Expr::Kind::kSlice:
      throw ErrorReport(node.range, "a slice stands where a value is wanted");
    case Expr::Kind::kStarred:
      throw ErrorReport(node.range, "starred expressions stand among the arguments of calls only");
  }
  return none(node.range);
}

Typed FunctionCompiler::name(const NameExpr& node) {
  const Variable* variable = variables_.find(node.name);
  if (variable == nullptr) {
    if (node.name == "inf" || node.name == "nan" || node.name == "infj" || node.name == "nanj") {
      const double value = node.name[0] == 'i' ? __builtin_huge_val() : __builtin_nan("");
      if (node.name.back() == 'j') return constant(c10::complex<double>(0, value), c10::ComplexType::get(), node.range);
      return constant(value, c10::FloatType::get(), node.range);
    }
    throw ErrorReport(node.range, "undefined value ", node.name);
  }
  if (!variable->undefined.empty()) {
    throw ErrorReport(c10::str("\n", variable->undefined, ":\n", variable->where.str(), "and was used here:\n",
                               node.range.str(), "\n"),
                      node.range);
  }
  return {variable->value, variable->type, node.range};
}

Typed FunctionCompiler::list(const ListExpr& node, const TypePtr& wanted) {
  const TypePtr wanted_list = wanted_of(wanted, TypeKind::ListType);
  TypePtr element = wanted_list == nullptr ? nullptr : wanted_list->containedType(0);
  std::vector<Operand> items;
  TypePtr found;
  for (const ExprPtr& item : node.items) {
    const Typed value = expression(*item, element);
    items.push_back(value.value);
    if (element != nullptr && value.type->isSubtypeOf(element) && (found == nullptr || found == element)) {
      found = element;
      continue;
    }
    const TypePtr both = found == nullptr ? value.type : unify_types(found, value.type);
    if (both == nullptr) {
      throw ErrorReport(item->range, "the elements of a list have one type: found ", found->annotation_str(), " and ",
                        value.type->annotation_str(), " (lists of Union are not supported)");
    }
    found = both;
  }
  if (found != nullptr && (element == nullptr || !found->isSubtypeOf(element))) element = found;
  if (element == nullptr) element = c10::TensorType::get();
  return make(Node::Kind::kList, std::move(items), c10::ListType::create(element), node.range);
}

Typed FunctionCompiler::dict(const DictExpr& node, const TypePtr& wanted) {
  const TypePtr wanted_dict = wanted_of(wanted, TypeKind::DictType);
  TypePtr types[2];
  std::vector<Operand> items;
  for (size_t i = 0; i < node.keys.size(); ++i) {
    for (const size_t k : {0, 1}) {
      const Expr& part = k == 0 ? *node.keys[i] : *node.values[i];
      const Typed value = expression(part, wanted_dict == nullptr ? nullptr : wanted_dict->containedType(k));
      items.push_back(value.value);
      const TypePtr both = types[k] == nullptr ? value.type : unify_types(types[k], value.type);
      if (both == nullptr) {
        throw ErrorReport(part.range, "Dict ", k == 0 ? "keys" : "values", " must have one type: found ",
                          types[k]->annotation_str(), " and ", value.type->annotation_str());
      }
      types[k] = both;
    }
  }
  for (const size_t k : {0, 1}) {
    const TypePtr hint = wanted_dict == nullptr ? nullptr : wanted_dict->containedType(k);
    if (types[k] == nullptr)
      types[k] = hint != nullptr ? hint : k == 0 ? TypePtr(c10::StringType::get()) : TypePtr(c10::TensorType::get());
    if (hint != nullptr && types[k]->isSubtypeOf(hint)) types[k] = hint;
  }
  return make(Node::Kind::kDict, std::move(items), dict_type(types[0], types[1], node.range), node.range);
}

Typed FunctionCompiler::tuple(const TupleExpr& node, const TypePtr& wanted) {
  const TypePtr wanted_tuple = wanted_of(wanted, TypeKind::TupleType);
  std::vector<Operand> items;
  std::vector<TypePtr> types;
  for (size_t i = 0; i < node.items.size(); ++i) {
    const bool hinted = wanted_tuple != nullptr && i < wanted_tuple->containedTypeSize();
    const Typed value = expression(*node.items[i], hinted ? wanted_tuple->containedType(i) : nullptr);
    items.push_back(value.value);
    types.push_back(value.type);
  }
  return make(Node::Kind::kTuple, std::move(items), c10::TupleType::create(std::move(types)), node.range);
}

Typed FunctionCompiler::attribute(const AttributeExpr& node) {
  const std::string path = dotted_path(node);
  const std::string root = path.substr(0, path.find('.'));
  if (!path.empty() && variables_.find(root) == nullptr) {
    if (root == "torch") {
      std::optional<std::pair<IValue, TypePtr>> value = torch_constant(path.substr(6));
      if (!value.has_value()) throw ErrorReport(node.range, "object has no attribute ", node.name);
      return constant(value->first, value->second, node.range);
    }
    if (const IValue* value = scope_.constant(path)) {
      constants_[path] = *value;
      return constant(*value, value->type(), node.range);
    }
    if (const TypePtr type = scope_.type(path.substr(0, path.rfind('.')))) {
      if (const auto members = type->cast<c10::EnumType>()) {
        for (const auto& [name, value] : members->enumNamesValues()) {
          if (name == node.name)
            return constant(c10::make_intrusive<c10::ivalue::EnumHolder>(members, name, value), type, node.range);
        }
      }
      throw ErrorReport(node.range, type->annotation_str(), " has no attribute '", node.name, "'");
    }
  }
  return attribute_of(expression(*node.object), node.name, node.range);
}

Typed FunctionCompiler::attribute_of(const Typed& object, const std::string& name, const SourceRange& range) {
  const TypePtr& type = object.type;
  const auto no_attribute = [&] {
    return ErrorReport(range, "'", type->annotation_str(), "' object has no attribute or method '", name, "'.");
  };
  if (const auto* tuple = type->castRaw<c10::TupleType>()) {
    const auto field = std::find(tuple->names().begin(), tuple->names().end(), name);
    if (field == tuple->names().end()) throw no_attribute();
    return parts(object, tuple->elements().size())[static_cast<size_t>(field - tuple->names().begin())];
  }
  const auto get = [&](const TypePtr& result) {
    std::unique_ptr<Node> node = graph_->make(Node::Kind::kGetAttr, {object.value});
    node->set_name(name);
    return this->result(std::move(node), result, range);
  };
  if (const auto* class_type = type->castRaw<c10::ClassType>()) {
    if (const auto property = class_type->getProperty(name))
      return invoke(*property->getter, {object.value}, property->getter->getSchema().returns().at(0).type(), range);
    if (const TypePtr found = class_type->findAttribute(name)) return get(found);
    if (const std::optional<IValue> value = class_type->findConstant(name))
      return constant(*value, value->type(), range);
    throw no_attribute();
  }
  if (const auto* members = type->castRaw<c10::EnumType>()) {
    if (name == "name") return operator_call("prim::EnumName", {object}, range);
    if (name == "value") {
      Typed value = operator_call("prim::EnumValue", {object}, range);
      value.type = members->getValueType();
      value.value.value()->set_type(value.type);
      return value;
    }
  }
  const std::string op = attribute_operator(type->kind(), name);
  if (op.empty()) throw no_attribute();
  return operator_call(op, {object}, range);
}

// One of a list's or a dictionary's modules, whose number or name is known when this runs: all have the interface.
Typed FunctionCompiler::module_part(const Typed& modules, const SubscriptExpr& node, const TypePtr& interface) {
  const Typed index = expression(*node.index);
  const bool by_name = index.type->kind() == TypeKind::StringType;
  std::vector<Operand> items;
  for (const c10::ClassAttribute& one : modules.type->castRaw<c10::ClassType>()->getAttributes()) {
    const auto* type = one.getType()->castRaw<c10::ClassType>();
    if (type == nullptr || !type->is_module()) continue;
    if (!one.getType()->isSubtypeOf(interface)) {
      throw ErrorReport(node.range, "module '", one.getName(), "' of type '", type->annotation_str(), "' is no '",
                        interface->annotation_str(), "'");
    }
    if (by_name) items.push_back(constant(one.getName(), c10::StringType::get(), node.range).value);
    items.push_back(attribute_of(modules, one.getName(), node.range).value);
  }
  const Typed all =
      by_name ? make(Node::Kind::kDict, std::move(items), c10::DictType::create(index.type, interface), node.range)
              : make(Node::Kind::kList, std::move(items), c10::ListType::create(interface), node.range);
  return operator_call("aten::__getitem__", {all, index}, node.range);
}

Typed FunctionCompiler::subscript(const SubscriptExpr& node, const TypePtr& wanted) {
  const Typed value = expression(*node.value);
  const TypePtr& type = value.type;
  if (const auto* modules = type->castRaw<c10::ClassType>();
      modules != nullptr && modules->is_module() && wanted != nullptr && wanted->kind() == TypeKind::InterfaceType)
    return module_part(value, node, wanted);
  if (type->kind() == TypeKind::TensorType)
    return operator_call("aten::__getitem__", {value, tensor_index(*node.index)}, node.range);
  if (type->kind() == TypeKind::TupleType) return tuple_part(value, node);
  const bool sequence = type->kind() == TypeKind::ListType || type->kind() == TypeKind::StringType;
  if (const auto* slice = node.index->as<SliceExpr>(); slice != nullptr && sequence) {
    const auto bound = [&](const ExprPtr& part, bool step) {
      if (part != nullptr) return expression(*part);
      return step ? constant(1, c10::IntType::get(), node.range) : none(node.range);
    };
    const Typed start = bound(slice->start, false), stop = bound(slice->stop, false), step = bound(slice->step, true);
    return operator_call("aten::slice", {value, start, stop, step}, node.range);
  }
  if (!sequence && type->kind() != TypeKind::DictType)
    throw ErrorReport(node.range, "'", type->annotation_str(), "' object is not subscriptable");
  return operator_call("aten::__getitem__", {value, expression(*node.index)}, node.range);
}

Typed FunctionCompiler::tuple_part(const Typed& tuple, const SubscriptExpr& node) {
  const size_t size = tuple.type->containedTypeSize();
  const auto count = static_cast<int64_t>(size);
  const auto literal = [&](const Expr& part) -> int64_t {
    const auto* minus = part.as<UnaryExpr>();
    const auto* number = minus != nullptr && minus->op == "-" ? minus->operand->as<IntExpr>() : part.as<IntExpr>();
    if (number == nullptr) {
      throw ErrorReport(node.range, "Cannot index into a ", tuple.type->annotation_str(),
                        " with a non-integer literal because we cannot resolve the output type");
    }
    const int64_t at = minus != nullptr ? -number->value : number->value;
    return at < 0 ? at + count : at;
  };
  if (const auto* slice = node.index->as<SliceExpr>()) {
    if (slice->step != nullptr) throw ErrorReport(node.range, "slices of tuples with a step are not supported");
    const int64_t start = slice->start == nullptr ? 0 : std::clamp<int64_t>(literal(*slice->start), 0, count);
    const int64_t stop = slice->stop == nullptr ? count : std::clamp<int64_t>(literal(*slice->stop), start, count);
    const std::vector<Typed> all = parts(tuple, size);
    std::vector<Operand> items;
    std::vector<TypePtr> types;
    for (int64_t i = start; i < stop; ++i) {
      items.push_back(all[static_cast<size_t>(i)].value);
      types.push_back(all[static_cast<size_t>(i)].type);
    }
    return make(Node::Kind::kTuple, std::move(items), c10::TupleType::create(std::move(types)), node.range);
  }
  const int64_t at = literal(*node.index);
  if (at < 0 || at >= count) throw ErrorReport(node.range, "tuple index out of range: a tuple of ", count);
  return parts(tuple, size)[static_cast<size_t>(at)];
}

// What stands in brackets behind a tensor, as aten::__getitem__.Tensor takes it: a tuple of integers, booleans, tensors
// and None, of "..." and of tuples (start, stop, step).
Typed FunctionCompiler::tensor_index(const Expr& index) {
  std::vector<Operand> items;
  std::vector<TypePtr> types;
  const auto add = [&](const Typed& item) {
    items.push_back(item.value);
    types.push_back(item.type);
  };
  const auto part = [&](const Expr& one) {
    if (const auto* slice = one.as<SliceExpr>()) {
      std::vector<Operand> bounds;
      const TypePtr wanted = c10::OptionalType::create(c10::IntType::get());
      for (const ExprPtr* expr : {&slice->start, &slice->stop, &slice->step}) {
        const Typed bound = *expr == nullptr ? none(one.range) : expression(**expr);
        ArgumentSource source;
        source.type = wanted;
        if (!find_conversion(bound.type, wanted, std::nullopt, Leniency::kNumbersFromTensors, &source))
          throw ErrorReport(bound.range, "the bounds of a slice are integers, got ", bound.type->annotation_str());
        bounds.push_back(converted(bound, source).value);
      }
      return add(
          make(Node::Kind::kTuple, std::move(bounds), c10::TupleType::create({wanted, wanted, wanted}), one.range));
    }
    if (const auto* dots = one.as<ConstantExpr>(); dots != nullptr && dots->value == ConstantExpr::Value::kEllipsis)
      return add(constant("...", c10::StringType::get(), one.range));
    if (one.as<TupleExpr>() != nullptr) throw ErrorReport(one.range, "a tuple among indices is not supported");
    const Typed value = expression(one);
    switch (value.type->kind()) {
      case TypeKind::ListType:
        return add(operator_call("aten::tensor", {value}, one.range));
      case TypeKind::IntType:
      case TypeKind::BoolType:
      case TypeKind::TensorType:
      case TypeKind::NoneType:
        return add(value);
      default:
        throw ErrorReport(one.range, "Unsupported operation: indexing tensor with unsupported index type '",
                          value.type->annotation_str(), "'. Only ints, slices, lists and tensors are supported");
    }
  };
  if (const auto* several = index.as<TupleExpr>()) {
    for (const ExprPtr& one : several->items) part(*one);
  } else {
    part(index);
  }
  return make(Node::Kind::kTuple, std::move(items), c10::TupleType::create(std::move(types)), index.range);
}

Typed FunctionCompiler::truth(const Typed& value) {
  switch (value.type->kind()) {
    case TypeKind::BoolType:
      return value;
    case TypeKind::TensorType:
    case TypeKind::IntType:
    case TypeKind::FloatType:
    case TypeKind::ComplexType:
    case TypeKind::NumberType:
      return operator_call("aten::Bool", {value}, value.range);
    default:
      throw ErrorReport(value.range, "Could not cast value of type ", value.type->annotation_str(), " to bool");
  }
}

Typed FunctionCompiler::unary(const UnaryExpr& node) {
  if (node.op == "not") return condition(node).value;
  const Typed value = expression(*node.operand);
  if (node.op == "+") return value;
  if (node.op == "-" && value.is_constant()) {
    const IValue& number = value.value.constant();
    if (value.type->kind() == TypeKind::IntType)
      return constant(static_cast<int64_t>(-static_cast<uint64_t>(number.toInt())), value.type, node.range);
    if (value.type->kind() == TypeKind::FloatType) return constant(-number.toDouble(), value.type, node.range);
  }
  return operator_call(node.op == "-" ? "aten::neg" : "aten::bitwise_not", {value}, node.range);
}

Typed FunctionCompiler::arithmetic(const std::string& op, const Typed& left, const Typed& right,
                                   const SourceRange& range) {
  const bool tensors = left.type->kind() == TypeKind::TensorType || right.type->kind() == TypeKind::TensorType;
  const bool number_first = tensors && left.type->kind() != TypeKind::TensorType;
  if (number_first && op == "-") return operator_call("aten::rsub", {right, left}, range);
  if (number_first && op == "/")
    return operator_call("aten::mul", {operator_call("aten::reciprocal", {right}, range), left}, range);
  // The same with its sides exchanged.
  static const std::pair<const char*, const char*> kMirrored[] = {{"+", "+"}, {"*", "*"}, {"==", "=="}, {"!=", "!="},
                                                                  {"<", ">"}, {">", "<"}, {"<=", ">="}, {">=", "<="},
                                                                  {"&", "&"}, {"|", "|"}, {"^", "^"}};
  if (number_first && left.type->kind() != TypeKind::NoneType) {
    for (const auto& [from, to] : kMirrored) {
      if (op == from) return operator_call(operator_of_symbol(to, tensors), {right, left}, range);
    }
  }
  return operator_call(operator_of_symbol(op, tensors), {left, right}, range);
}

Typed FunctionCompiler::binary(const BinaryExpr& node) {
  if (node.op == "and" || node.op == "or" || node.op == "is" || node.op == "is not") return condition(node).value;
  const Typed left = expression(*node.left), right = expression(*node.right);
  if (node.op == "in" || node.op == "not in") {
    const Typed found = operator_call("aten::__contains__", {right, left}, node.range);
    return node.op == "in" ? found : operator_call("aten::__not__", {found}, node.range);
  }
  return arithmetic(node.op, left, right, node.range);
}

// a < b < c: each pair, what is in the middle computed once, and only as far as the pairs before it hold.
Typed FunctionCompiler::chain(const ChainExpr& node) {
  for (const std::string& op : node.ops) {
    if (op == "is" || op == "is not" || op == "in" || op == "not in")
      throw ErrorReport(node.range, "'", op, "' in a chain of comparisons is not supported");
  }
  const std::function<Typed(size_t, const Typed&)> from = [&](size_t i, const Typed& left) {
    const Typed right = expression(*node.operands[i + 1]);
    const Typed holds = truth(arithmetic(node.ops[i], left, right, node.range));
    if (i + 1 == node.ops.size()) return holds;
    return either(
        holds, [&] { return from(i + 1, right); }, [&] { return constant(false, c10::BoolType::get(), node.range); },
        [](const TypePtr& a, const TypePtr&) { return a; }, node.range);
  };
  return from(0, expression(*node.operands[0]));
}

Typed FunctionCompiler::either(const Typed& condition, const std::function<Typed()>& value,
                               const std::function<Typed()>& other,
                               const std::function<TypePtr(const TypePtr&, const TypePtr&)>& type,
                               const SourceRange& range) {
  Node* node = append(graph_->make(Node::Kind::kIf, {condition.value}), range);
  const auto branch = [&](const std::function<Typed()>& f) {
    graph::Block& into = node->add_block();
    const Typed result = inside(into, f);
    into.set_outputs({result.value});
    return result.type;
  };
  const TypePtr first = branch(value), second = branch(other), both = type(first, second);
  return {node->add_result(both), both, range};
}

Typed FunctionCompiler::conditional(const ConditionalExpr& node, const TypePtr& wanted) {
  const Condition test = condition(*node.condition);
  const auto branch = [&](const Expr& value, const Refinements& known) {
    const Environment before = variables_;
    variables_.refine(known);
    const Typed result = expression(value, wanted);
    variables_ = before;
    return result;
  };
  if (test.known.has_value())
    return branch(*test.known ? *node.value : *node.other, *test.known ? test.if_true : test.if_false);
  return either(
      test.value, [&] { return branch(*node.value, test.if_true); }, [&] { return branch(*node.other, test.if_false); },
      [&](const TypePtr& a, const TypePtr& b) {
        TypePtr type = unify_types(a, b);
        if (type == nullptr) {
          throw ErrorReport(node.range, "if-expression's true branch has type ", a->annotation_str(),
                            " but false branch has type ", b->annotation_str());
        }
        return type;
      },
      node.range);
}

Typed FunctionCompiler::comprehension(const ComprehensionExpr& node, const TypePtr& wanted) {
  const bool is_dict = node.key != nullptr;
  const TypePtr wanted_list = wanted_of(wanted, TypeKind::ListType);
  Typed all = make(is_dict ? Node::Kind::kDict : Node::Kind::kList, {}, c10::AnyType::get(), node.range);
  // Its variables are its own.
  const Environment before = variables_;
  std::vector<std::string> own;
  collect(*node.target, own);
  const auto element = [&] {
    const Typed value = expression(*node.value, wanted_list == nullptr ? nullptr : wanted_list->containedType(0));
    if (is_dict) {
      const Typed key = expression(*node.key);
      all.type = dict_type(key.type, value.type, node.range);
      operator_call("aten::_set_item", {all, key, value}, node.range);
    } else {
      const bool as_wanted = wanted_list != nullptr && value.type->isSubtypeOf(wanted_list->containedType(0));
      all.type = as_wanted ? wanted_list : TypePtr(c10::ListType::create(value.type));
      operator_call("aten::append", {all, value}, node.range);
    }
  };
  const auto body = [&]() -> Flow {
    if (node.condition == nullptr) return element(), Flow();
    const Condition filter = condition(*node.condition);
    Node* test = append(graph_->make(Node::Kind::kIf, {filter.value.value}), node.range);
    graph::Block& taken = test->add_block();
    test->add_block();
    variables_.refine(filter.if_true);
    inside(taken, element);
    return {};
  };
  loop_over(*node.target, *node.iterable, {}, false, body, node.range, own);
  variables_ = before;
  all.value.value()->set_type(all.type);
  return all;
}

Typed FunctionCompiler::iterable(const Typed& value) {
  const SourceRange& range = value.range;
  switch (value.type->kind()) {
    case TypeKind::ListType:
      return value;
    case TypeKind::TensorType:
      return operator_call("aten::unbind", {value}, range);
    case TypeKind::DictType:
      return operator_call("aten::keys", {value}, range);
    case TypeKind::StringType:
      return operator_call("aten::list", {value}, range);
    case TypeKind::TupleType: {
      TypePtr element;
      for (const TypePtr& type : value.type->containedTypes()) {
        element = element == nullptr ? type : unify_types(element, type);
        if (element == nullptr) throw ErrorReport(range, "a loop over a tuple of several types is not supported");
      }
      ArgumentSource source;
      source.type = c10::ListType::create(element == nullptr ? c10::TensorType::get() : element);
      source.conversion = Conversion::kTupleToList;
      return converted(value, source);
    }
    default:
      throw ErrorReport(range, "'", value.type->annotation_str(), "' object is not iterable");
  }
}

// --- conditions ---

Condition FunctionCompiler::condition(const Expr& node) {
  Condition result;
  if (const auto* negation = node.as<UnaryExpr>(); negation != nullptr && negation->op == "not") {
    Condition inner = condition(*negation->operand);
    result.value = operator_call("aten::__not__", {inner.value}, node.range);
    result.if_true = std::move(inner.if_false);
    result.if_false = std::move(inner.if_true);
    if (inner.known.has_value()) result.known = !*inner.known;
    return result;
  }
  if (const auto* test = node.as<CallExpr>()) {
    const auto* function = test->function->as<NameExpr>();
    if (function != nullptr && function->name == "isinstance" && variables_.find("isinstance") == nullptr)
      return test_of_type(*test);
  }
  const auto* pair = node.as<BinaryExpr>();
  if (pair != nullptr && (pair->op == "is" || pair->op == "is not")) {
    if (auto test = test_of_none(*pair)) return std::move(*test);
    const Typed left = expression(*pair->left), right = expression(*pair->right);
    result.value = operator_call(pair->op == "is" ? "aten::__is__" : "aten::__isnot__", {left, right}, node.range);
    return result;
  }
  if (pair == nullptr || (pair->op != "and" && pair->op != "or")) {
    result.value = truth(expression(node));
    return result;
  }
  const bool is_and = pair->op == "and";
  Condition left = condition(*pair->left);
  if (left.known.has_value() && *left.known != is_and) return left;  // the right side is never looked at
  Condition right;
  const auto second = [&] {
    const Environment before = variables_;
    variables_.refine(is_and ? left.if_true : left.if_false);
    right = condition(*pair->right);
    variables_ = before;
    return right.value;
  };
  const auto decided = [&] { return constant(!is_and, c10::BoolType::get(), node.range); };
  const auto boolean = [](const TypePtr& a, const TypePtr&) { return a; };
  result.value = is_and ? either(left.value, second, decided, boolean, node.range)
                        : either(left.value, decided, second, boolean, node.range);
  Refinements& both = is_and ? result.if_true : result.if_false;
  both = is_and ? left.if_true : left.if_false;
  const Refinements& more = is_and ? right.if_true : right.if_false;
  both.insert(both.end(), more.begin(), more.end());
  if (left.known.has_value()) result.known = right.known;
  if (right.known.has_value() && *right.known != is_and) result.known = right.known;
  return result;
}

std::optional<Condition> FunctionCompiler::test_of_none(const BinaryExpr& node) {
  const bool left_is_none = is_none(*node.left);
  if (left_is_none == is_none(*node.right)) return std::nullopt;
  const Expr& tested = left_is_none ? *node.right : *node.left;
  const Typed value = expression(tested);
  const TypePtr& type = value.type;
  const TypePtr nothing = c10::NoneType::get();
  Condition result;
  if (type->kind() == TypeKind::NoneType || !nothing->isSubtypeOf(type))
    result.known = (type->kind() == TypeKind::NoneType) == (node.op == "is");
  if (const auto* name = tested.as<NameExpr>(); name != nullptr && !result.known.has_value()) {
    Refinements& when_none = node.op == "is" ? result.if_true : result.if_false;
    Refinements& otherwise = node.op == "is" ? result.if_false : result.if_true;
    when_none.emplace_back(name->name, nothing);
    if (TypePtr rest = without(type, nothing)) otherwise.emplace_back(name->name, rest);
  }
  result.value =
      operator_call(node.op == "is" ? "aten::__is__" : "aten::__isnot__", {value, none(node.range)}, node.range);
  return result;
}

Condition FunctionCompiler::test_of_type(const CallExpr& node) {
  if (node.arguments.size() != 2 || !node.keywords.empty())
    throw ErrorReport(node.range, "isinstance takes a value and a type");
  const Typed value = expression(*node.arguments[0]);
  std::vector<TypePtr> types;
  if (const auto* several = node.arguments[1]->as<TupleExpr>()) {
    for (const ExprPtr& one : several->items) types.push_back(type_of_annotation(*one, scope_));
  } else {
    types.push_back(type_of_annotation(*node.arguments[1], scope_));
  }
  if (types.empty()) throw ErrorReport(node.range, "isinstance takes a value and a type");
  const TypePtr& type = value.type;
  const TypePtr tested = types.size() == 1 ? types[0] : TypePtr(c10::UnionType::create(types));
  Condition result;
  const bool mixed = type->kind() == TypeKind::OptionalType || type->kind() == TypeKind::UnionType ||
                     type->kind() == TypeKind::AnyType || type->kind() == TypeKind::NumberType;
  if (type->isSubtypeOf(tested)) {
    result.known = true;
  } else if (!mixed) {
    result.known = false;
  } else if (const auto* name = node.arguments[0]->as<NameExpr>()) {
    result.if_true.emplace_back(name->name, tested);
    if (TypePtr rest = without(type, tested)) result.if_false.emplace_back(name->name, rest);
  }
  std::unique_ptr<Node> test = graph_->make(Node::Kind::kIsInstance, {value.value});
  test->set_tested_type(tested);
  result.value = this->result(std::move(test), c10::BoolType::get(), node.range);
  return result;
}

}  // namespace torch::jit::detail
