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
using Kind = Operation::Kind;

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

OperationPtr FunctionCompiler::expression(const Expr& node, const TypePtr& wanted) {
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
      return subscript(*node.as<SubscriptExpr>());
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
  return nullptr;
}

OperationPtr FunctionCompiler::name(const NameExpr& node) {
  const Variable* variable = std::as_const(variables_).find(node.name);
  if (variable == nullptr) {
    if (node.name == "inf" || node.name == "nan") {
      const double value = node.name == "inf" ? __builtin_huge_val() : __builtin_nan("");
      return constant(value, c10::FloatType::get(), node.range);
    }
    throw ErrorReport(node.range, "undefined value ", node.name);
  }
  if (!variable->undefined.empty()) {
    throw ErrorReport(c10::str("\n", variable->undefined, ":\n", variable->where.str(), "and was used here:\n",
                               node.range.str(), "\n"),
                      node.range);
  }
  return load(*variable, node.range);
}

OperationPtr FunctionCompiler::list(const ListExpr& node, const TypePtr& wanted) {
  const TypePtr wanted_list = wanted_of(wanted, TypeKind::ListType);
  TypePtr element = wanted_list == nullptr ? nullptr : wanted_list->containedType(0);
  std::vector<OperationPtr> items;
  TypePtr found;
  for (const ExprPtr& item : node.items) {
    items.push_back(expression(*item, element));
    const TypePtr& type = items.back()->type;
    const TypePtr both = found == nullptr ? type : unify_types(found, type);
    if (both == nullptr) {
      throw ErrorReport(item->range, "the elements of a list have one type: found ", found->annotation_str(), " and ",
                        type->annotation_str(), " (lists of Union are not supported)");
    }
    found = both;
  }
  if (found != nullptr && (element == nullptr || !found->isSubtypeOf(element))) element = found;
  if (element == nullptr) element = c10::TensorType::get();
  OperationPtr op = make(Kind::kList, node.range, c10::ListType::create(element));
  op->inputs = std::move(items);
  return op;
}

OperationPtr FunctionCompiler::dict(const DictExpr& node, const TypePtr& wanted) {
  const TypePtr wanted_dict = wanted_of(wanted, TypeKind::DictType);
  TypePtr types[2];
  OperationPtr op = make(Kind::kDict, node.range, nullptr);
  for (size_t i = 0; i < node.keys.size(); ++i) {
    for (const size_t k : {0, 1}) {
      const Expr& part = k == 0 ? *node.keys[i] : *node.values[i];
      op->inputs.push_back(expression(part, wanted_dict == nullptr ? nullptr : wanted_dict->containedType(k)));
      const TypePtr& type = op->inputs.back()->type;
      const TypePtr both = types[k] == nullptr ? type : unify_types(types[k], type);
      if (both == nullptr) {
        throw ErrorReport(part.range, "Dict ", k == 0 ? "keys" : "values", " must have one type: found ",
                          types[k]->annotation_str(), " and ", type->annotation_str());
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
  try {
    op->type = c10::DictType::create(types[0], types[1]);
  } catch (const c10::Error& error) {
    throw ErrorReport(node.range, error.what_without_backtrace());
  }
  return op;
}

OperationPtr FunctionCompiler::tuple(const TupleExpr& node, const TypePtr& wanted) {
  const TypePtr wanted_tuple = wanted_of(wanted, TypeKind::TupleType);
  OperationPtr op = make(Kind::kTuple, node.range, nullptr);
  std::vector<TypePtr> types;
  for (size_t i = 0; i < node.items.size(); ++i) {
    const bool hinted = wanted_tuple != nullptr && i < wanted_tuple->containedTypeSize();
    op->inputs.push_back(expression(*node.items[i], hinted ? wanted_tuple->containedType(i) : nullptr));
    types.push_back(op->inputs.back()->type);
  }
  op->type = c10::TupleType::create(std::move(types));
  return op;
}

OperationPtr FunctionCompiler::attribute(const AttributeExpr& node) {
  const std::string path = dotted_path(node);
  const bool of_torch = path.rfind("torch.", 0) == 0 && std::as_const(variables_).find("torch") == nullptr;
  if (of_torch) {
    std::optional<std::pair<IValue, TypePtr>> value = torch_constant(path.substr(6));
    if (!value.has_value()) throw ErrorReport(node.range, "object has no attribute ", node.name);
    return constant(value->first, value->second, node.range);
  }
  OperationPtr object = expression(*node.object);
  const TypePtr type = object->type;
  const auto no_attribute = [&] {
    return ErrorReport(node.range, "'", type->annotation_str(), "' object has no attribute or method '", node.name,
                       "'.");
  };
  if (const auto* tuple = type->castRaw<c10::TupleType>()) {
    const auto field = std::find(tuple->names().begin(), tuple->names().end(), node.name);
    if (field == tuple->names().end()) throw no_attribute();
    const auto index = static_cast<size_t>(field - tuple->names().begin());
    OperationPtr op = make(Kind::kTupleGet, node.range, tuple->elements()[index]);
    op->slot = index;
    op->inputs.push_back(std::move(object));
    return op;
  }
  if (const auto* class_type = type->castRaw<c10::ClassType>()) {
    if (const auto property = class_type->getProperty(node.name)) {
      OperationPtr op = make(Kind::kCallFunction, node.range, property->getter->getSchema().returns().at(0).type());
      op->function = property->getter;
      op->inputs.push_back(std::move(object));
      return op;
    }
    const auto slot = class_type->findAttributeSlot(node.name);
    if (!slot.has_value()) throw no_attribute();
    OperationPtr op = make(Kind::kAttribute, node.range, class_type->getAttribute(*slot).getType());
    op->slot = *slot;
    op->inputs.push_back(std::move(object));
    return op;
  }
  if (type->kind() == TypeKind::EnumType && (node.name == "name" || node.name == "value")) {
    const TypePtr result =
        node.name == "name" ? TypePtr(c10::StringType::get()) : type->expectRef<c10::EnumType>().getValueType();
    OperationPtr op = make(Kind::kMember, node.range, result);
    op->constant = node.name;
    op->inputs.push_back(std::move(object));
    return op;
  }
  const std::string op = attribute_operator(type->kind(), node.name);
  if (op.empty()) throw no_attribute();
  return operator_call_of(op, node.range, std::move(object));
}

OperationPtr FunctionCompiler::subscript(const SubscriptExpr& node) {
  OperationPtr value = expression(*node.value);
  const TypePtr type = value->type;
  if (type->kind() == TypeKind::TensorType) {
    OperationPtr op = make(Kind::kIndex, node.range, c10::TensorType::get());
    op->inputs.push_back(std::move(value));
    tensor_indices(*node.index, op->inputs);
    return op;
  }
  if (type->kind() == TypeKind::TupleType) return tuple_part(std::move(value), node);
  const bool sequence = type->kind() == TypeKind::ListType || type->kind() == TypeKind::StringType;
  if (const auto* slice = node.index->as<SliceExpr>(); slice != nullptr && sequence) {
    const auto bound = [&](const ExprPtr& part, bool step) {
      if (part != nullptr) return expression(*part);
      return step ? constant(1, c10::IntType::get(), node.range) : none(node.range);
    };
    OperationPtr start = bound(slice->start, false), stop = bound(slice->stop, false), step = bound(slice->step, true);
    return operator_call_of("aten::slice", node.range, std::move(value), std::move(start), std::move(stop),
                            std::move(step));
  }
  if (!sequence && type->kind() != TypeKind::DictType)
    throw ErrorReport(node.range, "'", type->annotation_str(), "' object is not subscriptable");
  return operator_call_of("aten::__getitem__", node.range, std::move(value), expression(*node.index));
}

OperationPtr FunctionCompiler::tuple_part(OperationPtr tuple, const SubscriptExpr& node) {
  const auto count = static_cast<int64_t>(tuple->type->containedTypeSize());
  const auto literal = [&](const Expr& part) -> int64_t {
    const auto* minus = part.as<UnaryExpr>();
    const auto* number = minus != nullptr && minus->op == "-" ? minus->operand->as<IntExpr>() : part.as<IntExpr>();
    if (number == nullptr) {
      throw ErrorReport(node.range, "Cannot index into a ", tuple->type->annotation_str(),
                        " with a non-integer literal because we cannot resolve the output type");
    }
    const int64_t at = minus != nullptr ? -number->value : number->value;
    return at < 0 ? at + count : at;
  };
  if (const auto* slice = node.index->as<SliceExpr>()) {
    if (slice->step != nullptr) throw ErrorReport(node.range, "slices of tuples with a step are not supported");
    const int64_t start = slice->start == nullptr ? 0 : std::clamp<int64_t>(literal(*slice->start), 0, count);
    const int64_t stop = slice->stop == nullptr ? count : std::clamp<int64_t>(literal(*slice->stop), start, count);
    const auto all = tuple->type->containedTypes();
    OperationPtr op = make(Kind::kTupleSlice, node.range,
                           c10::TupleType::create({all.begin() + start, all.begin() + std::max(start, stop)}));
    op->slot = static_cast<size_t>(start);
    op->end = static_cast<size_t>(std::max(start, stop));
    op->inputs.push_back(std::move(tuple));
    return op;
  }
  const int64_t at = literal(*node.index);
  if (at < 0 || at >= count) throw ErrorReport(node.range, "tuple index out of range: a tuple of ", count);
  OperationPtr op = make(Kind::kTupleGet, node.range, tuple->type->containedType(static_cast<size_t>(at)));
  op->slot = static_cast<size_t>(at);
  op->inputs.push_back(std::move(tuple));
  return op;
}

void FunctionCompiler::tensor_indices(const Expr& index, std::vector<OperationPtr>& out) {
  if (const auto* several = index.as<TupleExpr>()) {
    for (const ExprPtr& one : several->items) {
      if (one->as<TupleExpr>() != nullptr) throw ErrorReport(one->range, "a tuple among indices is not supported");
      tensor_indices(*one, out);
    }
    return;
  }
  if (const auto* slice = index.as<SliceExpr>()) {
    OperationPtr op = make(Kind::kSlice, index.range, c10::NoneType::get());
    for (const ExprPtr* part : {&slice->start, &slice->stop, &slice->step}) {
      OperationPtr bound = *part == nullptr ? none(index.range) : expression(**part);
      ArgumentSource source;
      source.type = c10::OptionalType::create(c10::IntType::get());
      if (!find_conversion(bound->type, source.type, std::nullopt, Leniency::kNumbersFromTensors, &source))
        throw ErrorReport(bound->range, "the bounds of a slice are integers, got ", bound->type->annotation_str());
      op->inputs.push_back(converted(std::move(bound), source));
    }
    out.push_back(std::move(op));
    return;
  }
  if (const auto* constant = index.as<ConstantExpr>();
      constant != nullptr && constant->value == ConstantExpr::Value::kEllipsis) {
    out.push_back(make(Kind::kEllipsis, index.range, c10::NoneType::get()));
    return;
  }
  OperationPtr value = expression(index);
  switch (value->type->kind()) {
    case TypeKind::ListType:
      value = operator_call_of("aten::tensor", index.range, std::move(value));
      break;
    case TypeKind::IntType:
    case TypeKind::BoolType:
    case TypeKind::TensorType:
    case TypeKind::NoneType:
      break;
    default:
      throw ErrorReport(index.range, "Unsupported operation: indexing tensor with unsupported index type '",
                        value->type->annotation_str(), "'. Only ints, slices, lists and tensors are supported");
  }
  out.push_back(std::move(value));
}

OperationPtr FunctionCompiler::truth(OperationPtr value) {
  const SourceRange range = value->range;
  switch (value->type->kind()) {
    case TypeKind::BoolType:
      return value;
    case TypeKind::TensorType:
    case TypeKind::IntType:
    case TypeKind::FloatType:
    case TypeKind::ComplexType:
    case TypeKind::NumberType:
      return operator_call_of("aten::Bool", range, std::move(value));
    default:
      throw ErrorReport(range, "Could not cast value of type ", value->type->annotation_str(), " to bool");
  }
}

OperationPtr FunctionCompiler::unary(const UnaryExpr& node) {
  if (node.op == "not") return condition(node).value;
  OperationPtr value = expression(*node.operand);
  if (node.op == "+") return value;
  if (value->kind == Kind::kConstant && node.op == "-" &&
      (value->type->kind() == TypeKind::IntType || value->type->kind() == TypeKind::FloatType)) {
    value->constant = value->constant.isInt() ? IValue(-value->constant.toInt()) : IValue(-value->constant.toDouble());
    value->range = node.range;
    return value;
  }
  return operator_call_of(node.op == "-" ? "aten::neg" : "aten::bitwise_not", node.range, std::move(value));
}

OperationPtr FunctionCompiler::arithmetic(const std::string& op, OperationPtr left, OperationPtr right,
                                          const SourceRange& range) {
  const bool tensors = left->type->kind() == TypeKind::TensorType || right->type->kind() == TypeKind::TensorType;
  const bool number_first = tensors && left->type->kind() != TypeKind::TensorType;
  if (number_first && op == "-") return operator_call_of("aten::rsub", range, std::move(right), std::move(left));
  if (number_first && op == "/")
    return operator_call_of("aten::mul", range, operator_call_of("aten::reciprocal", range, std::move(right)),
                            std::move(left));
  // The same with its sides exchanged.
  static const std::pair<const char*, const char*> kMirrored[] = {{"+", "+"}, {"*", "*"}, {"==", "=="}, {"!=", "!="},
                                                                  {"<", ">"}, {">", "<"}, {"<=", ">="}, {">=", "<="},
                                                                  {"&", "&"}, {"|", "|"}, {"^", "^"}};
  if (number_first && left->type->kind() != TypeKind::NoneType) {
    for (const auto& [from, to] : kMirrored) {
      if (op == from)
        return operator_call_of(operator_of_symbol(to, tensors), range, std::move(right), std::move(left));
    }
  }
  return operator_call_of(operator_of_symbol(op, tensors), range, std::move(left), std::move(right));
}

OperationPtr FunctionCompiler::binary(const BinaryExpr& node) {
  if (node.op == "and" || node.op == "or" || node.op == "is" || node.op == "is not") return condition(node).value;
  OperationPtr left = expression(*node.left), right = expression(*node.right);
  if (node.op == "in") return operator_call_of("aten::__contains__", node.range, std::move(right), std::move(left));
  if (node.op == "not in") {
    return operator_call_of("aten::__not__", node.range,
                            operator_call_of("aten::__contains__", node.range, std::move(right), std::move(left)));
  }
  return arithmetic(node.op, std::move(left), std::move(right), node.range);
}

// a < b < c: each pair, what is in the middle computed once.
OperationPtr FunctionCompiler::chain(const ChainExpr& node) {
  std::vector<Variable> values;
  std::vector<OperationPtr> stored;
  OperationPtr result;
  for (size_t i = 0; i < node.ops.size(); ++i) {
    if (node.ops[i] == "is" || node.ops[i] == "is not" || node.ops[i] == "in" || node.ops[i] == "not in")
      throw ErrorReport(node.range, "'", node.ops[i], "' in a chain of comparisons is not supported");
    for (const ExprPtr* part : {&node.operands[i], &node.operands[i + 1]}) {
      const auto kind = (*part)->kind;
      if (kind != Expr::Kind::kName && kind != Expr::Kind::kInt && kind != Expr::Kind::kFloat &&
          kind != Expr::Kind::kAttribute && part == &node.operands[i] && i > 0)
        throw ErrorReport((*part)->range, "in a chain of comparisons only names and numbers stand in the middle");
    }
    OperationPtr one =
        truth(arithmetic(node.ops[i], expression(*node.operands[i]), expression(*node.operands[i + 1]), node.range));
    if (result == nullptr) {
      result = std::move(one);
      continue;
    }
    OperationPtr both = make(Kind::kAnd, node.range, c10::BoolType::get());
    both->inputs.push_back(std::move(result));
    both->inputs.push_back(std::move(one));
    result = std::move(both);
  }
  return result;
}

OperationPtr FunctionCompiler::conditional(const ConditionalExpr& node, const TypePtr& wanted) {
  Condition test = condition(*node.condition);
  const Environment before = variables_;
  const auto branch = [&](const Expr& value, const Refinements& known) {
    variables_.refine(known);
    OperationPtr result = expression(value, wanted);
    variables_ = before;
    return result;
  };
  if (test.known.has_value())
    return branch(*test.known ? *node.value : *node.other, *test.known ? test.if_true : test.if_false);
  OperationPtr value = branch(*node.value, test.if_true), other = branch(*node.other, test.if_false);
  const TypePtr type = unify_types(value->type, other->type);
  if (type == nullptr) {
    throw ErrorReport(node.range, "if-expression's true branch has type ", value->type->annotation_str(),
                      " but false branch has type ", other->type->annotation_str());
  }
  OperationPtr op = make(Kind::kConditional, node.range, type);
  op->inputs.push_back(std::move(test.value));
  op->inputs.push_back(std::move(value));
  op->inputs.push_back(std::move(other));
  return op;
}

OperationPtr FunctionCompiler::comprehension(const ComprehensionExpr& node, const TypePtr& wanted) {
  OperationPtr op = make(Kind::kComprehension, node.range, nullptr);
  op->inputs.push_back(iterable(*node.iterable));
  const TypePtr wanted_list = wanted_of(wanted, TypeKind::ListType);
  // Its variables are its own.
  const Environment before = variables_;
  const Environment outer = variables_;
  const auto own = [&](const Expr& target, const auto& self) -> void {
    if (const auto* one = target.as<NameExpr>()) variables_.erase(one->name);
    if (const auto* several = target.as<TupleExpr>()) {
      for (const ExprPtr& item : several->items) self(*item, self);
    }
  };
  own(*node.target, own);
  op->target = target(*node.target, op->inputs[0]->type->containedType(0), nullptr);
  OperationPtr test;
  if (node.condition != nullptr) {
    Condition filter = condition(*node.condition);
    variables_.refine(filter.if_true);
    test = std::move(filter.value);
  }
  op->inputs.push_back(expression(*node.value, wanted_list == nullptr ? nullptr : wanted_list->containedType(0)));
  const TypePtr element = op->inputs[1]->type;
  if (node.key == nullptr) {
    const bool as_wanted = wanted_list != nullptr && element->isSubtypeOf(wanted_list->containedType(0));
    op->type = as_wanted ? wanted_list : TypePtr(c10::ListType::create(element));
  } else {
    op->inputs.push_back(expression(*node.key));
    try {
      op->type = c10::DictType::create(op->inputs[2]->type, element);
    } catch (const c10::Error& error) {
      throw ErrorReport(node.range, error.what_without_backtrace());
    }
  }
  op->has_condition = test != nullptr;
  if (test != nullptr) op->inputs.push_back(std::move(test));
  variables_ = before;
  return op;
}

OperationPtr FunctionCompiler::iterable(const Expr& node) {
  return iterable(expression(node));
}

OperationPtr FunctionCompiler::iterable(OperationPtr value) {
  const SourceRange range = value->range;
  switch (value->type->kind()) {
    case TypeKind::ListType:
      return value;
    case TypeKind::TensorType:
      return operator_call_of("aten::unbind", range, std::move(value));
    case TypeKind::DictType:
      return operator_call_of("aten::keys", range, std::move(value));
    case TypeKind::StringType:
      return operator_call_of("aten::list", range, std::move(value));
    case TypeKind::TupleType: {
      TypePtr element;
      for (const TypePtr& type : value->type->containedTypes()) {
        element = element == nullptr ? type : unify_types(element, type);
        if (element == nullptr) throw ErrorReport(range, "a loop over a tuple of several types is not supported");
      }
      OperationPtr op =
          make(Kind::kConvert, range, c10::ListType::create(element == nullptr ? c10::TensorType::get() : element));
      op->conversion = Conversion::kTupleToList;
      op->inputs.push_back(std::move(value));
      return op;
    }
    default:
      throw ErrorReport(range, "'", value->type->annotation_str(), "' object is not iterable");
  }
}

// --- conditions ---

Condition FunctionCompiler::condition(const Expr& node) {
  Condition result;
  if (const auto* negation = node.as<UnaryExpr>(); negation != nullptr && negation->op == "not") {
    Condition inner = condition(*negation->operand);
    result.value = operator_call_of("aten::__not__", node.range, std::move(inner.value));
    result.if_true = std::move(inner.if_false);
    result.if_false = std::move(inner.if_true);
    if (inner.known.has_value()) result.known = !*inner.known;
    return result;
  }
  if (const auto* test = node.as<CallExpr>()) {
    const auto* function = test->function->as<NameExpr>();
    if (function != nullptr && function->name == "isinstance" &&
        std::as_const(variables_).find("isinstance") == nullptr)
      return test_of_type(*test);
  }
  const auto* pair = node.as<BinaryExpr>();
  if (pair != nullptr && (pair->op == "is" || pair->op == "is not")) {
    if (auto test = test_of_none(*pair)) return std::move(*test);
    result.value = operator_call_of(pair->op == "is" ? "aten::__is__" : "aten::__isnot__", node.range,
                                    expression(*pair->left), expression(*pair->right));
    return result;
  }
  if (pair == nullptr || (pair->op != "and" && pair->op != "or")) {
    result.value = truth(expression(node));
    return result;
  }
  const bool is_and = pair->op == "and";
  Condition left = condition(*pair->left);
  if (left.known.has_value() && *left.known != is_and) return left;  // the right side is never looked at
  const Environment before = variables_;
  variables_.refine(is_and ? left.if_true : left.if_false);
  Condition right = condition(*pair->right);
  variables_ = before;
  Refinements& both = is_and ? result.if_true : result.if_false;
  both = is_and ? left.if_true : left.if_false;
  const Refinements& more = is_and ? right.if_true : right.if_false;
  both.insert(both.end(), more.begin(), more.end());
  if (left.known.has_value()) result.known = right.known;
  if (right.known.has_value() && *right.known != is_and) result.known = right.known;
  result.value = make(is_and ? Kind::kAnd : Kind::kOr, node.range, c10::BoolType::get());
  result.value->inputs.push_back(std::move(left.value));
  result.value->inputs.push_back(std::move(right.value));
  return result;
}

std::optional<Condition> FunctionCompiler::test_of_none(const BinaryExpr& node) {
  const bool left_is_none = is_none(*node.left);
  if (left_is_none == is_none(*node.right)) return std::nullopt;
  const Expr& tested = left_is_none ? *node.right : *node.left;
  OperationPtr value = expression(tested);
  const TypePtr type = value->type;
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
  result.value = operator_call_of(node.op == "is" ? "aten::__is__" : "aten::__isnot__", node.range, std::move(value),
                                  none(node.range));
  return result;
}

Condition FunctionCompiler::test_of_type(const CallExpr& node) {
  if (node.arguments.size() != 2 || !node.keywords.empty())
    throw ErrorReport(node.range, "isinstance takes a value and a type");
  OperationPtr value = expression(*node.arguments[0]);
  std::vector<TypePtr> types;
  if (const auto* several = node.arguments[1]->as<TupleExpr>()) {
    for (const ExprPtr& one : several->items) types.push_back(type_of_annotation(*one));
  } else {
    types.push_back(type_of_annotation(*node.arguments[1]));
  }
  if (types.empty()) throw ErrorReport(node.range, "isinstance takes a value and a type");
  const TypePtr type = value->type;
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
  result.value = make(Kind::kIsInstance, node.range, c10::BoolType::get());
  result.value->type_tested = tested;
  result.value->inputs.push_back(std::move(value));
  return result;
}

}  // namespace torch::jit::detail
