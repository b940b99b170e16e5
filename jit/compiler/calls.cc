// Calls: of functions of the program, of what the language knows by name, and of operators by the overload that takes
// the arguments.
#include <algorithm>

#include "c10/value/class_type.h"
#include "jit/compiler/annotations.h"
#include "jit/compiler/function_compiler.h"

namespace torch::jit::detail {
namespace {

using c10::TypeKind;
using c10::TypePtr;
using Kind = Operation::Kind;

// Functions of the language that are operators under other names.
constexpr std::pair<std::string_view, std::string_view> kBuiltinOperators[] = {
    {"int", "aten::Int"},       {"float", "aten::Float"}, {"bool", "aten::Bool"},     {"complex", "aten::Complex"},
    {"str", "aten::str"},       {"len", "aten::len"},     {"abs", "aten::abs"},       {"round", "aten::round"},
    {"divmod", "aten::divmod"}, {"ord", "aten::ord"},     {"chr", "aten::chr"},       {"min", "prim::min"},
    {"max", "prim::max"},       {"sum", "aten::sum"},     {"sorted", "aten::sorted"}, {"any", "aten::any"},
    {"all", "aten::all"},       {"pow", "aten::pow"}};

TypePtr result_type(const c10::FunctionSchema& schema, const std::vector<TypePtr>& returns) {
  if (returns.empty()) return c10::NoneType::get();
  if (returns.size() == 1) return returns[0];
  std::vector<std::string> names;
  for (const c10::Argument& one : schema.returns()) {
    if (!one.name().empty()) names.push_back(one.name());
  }
  return names.size() == returns.size() ? c10::TupleType::createNamed(schema.name(), std::move(names), returns)
                                        : c10::TupleType::create(returns);
}

std::string indented(const std::string& text) {
  return "  " + text;
}

}  // namespace

OperationPtr FunctionCompiler::call(const CallExpr& node, const TypePtr& wanted) {
  const Expr& function = *node.function;
  const std::string path = dotted_path(function);
  const std::string root = path.substr(0, path.find('.'));
  const Variable* variable = root.empty() ? nullptr : std::as_const(variables_).find(root);
  if (function.kind == Expr::Kind::kName) {
    if (variable != nullptr) {
      const OperationPtr value = name(*function.as<NameExpr>());
      throw ErrorReport(node.range, "cannot call a value of type '", value->type->annotation_str(), "'");
    }
    if (const CompiledFunction* found = scope_.function(path, function.range)) return call_function(*found, node);
    if (path == "isinstance") return condition(node).value;
    bool known = false;
    OperationPtr result = call_builtin(path, node, &known);
    if (known) return result;
    throw ErrorReport(function.range, "undefined value ", path);
  }
  const auto* attribute = function.as<AttributeExpr>();
  if (attribute == nullptr) {
    const OperationPtr value = expression(function);
    throw ErrorReport(node.range, "cannot call a value of type '", value->type->annotation_str(), "'");
  }
  if (variable == nullptr && (root == "torch" || root == "ops")) {
    if (path == "torch.jit.annotate") return annotated(node);
    std::string name;
    if (path.rfind("torch.ops.", 0) == 0 || root == "ops") {
      const std::string rest = path.substr(path.find("ops.") + 4);
      const size_t dot = rest.find('.');
      if (dot != std::string::npos) name = rest.substr(0, dot) + "::" + rest.substr(dot + 1);
    } else if (path.find('.', 6) == std::string::npos) {
      name = "aten::" + path.substr(6);
    }
    if (name.empty() || operators_.overloads(name).empty())
      throw ErrorReport(function.range, "object has no attribute ", attribute->name);
    std::vector<OperationPtr> positional;
    std::vector<NamedArgument> named;
    arguments(node, positional, named);
    return operator_call(name, std::move(positional), std::move(named), function.range);
  }
  return call_method(*attribute, node);
}

void FunctionCompiler::arguments(const CallExpr& node, std::vector<OperationPtr>& positional,
                                 std::vector<NamedArgument>& named) {
  for (const ExprPtr& one : node.arguments) {
    const auto* starred = one->as<StarredExpr>();
    if (starred == nullptr) {
      positional.push_back(expression(*one));
      continue;
    }
    const auto* name = starred->value->as<NameExpr>();
    const OperationPtr tuple = expression(*starred->value);
    if (name == nullptr || tuple->type->kind() != TypeKind::TupleType)
      throw ErrorReport(one->range, "only variables that are tuples can be expanded with '*', got ",
                        tuple->type->annotation_str());
    for (size_t i = 0; i < tuple->type->containedTypeSize(); ++i) {
      OperationPtr part = make(Kind::kTupleGet, one->range, tuple->type->containedType(i));
      part->slot = i;
      part->inputs.push_back(expression(*name));
      positional.push_back(std::move(part));
    }
  }
  for (const Keyword& keyword : node.keywords) {
    const auto same = [&](const NamedArgument& other) { return other.name == keyword.name; };
    if (std::any_of(named.begin(), named.end(), same))
      throw ErrorReport(keyword.range, "keyword argument '", keyword.name, "' is given twice");
    named.push_back({keyword.name, expression(*keyword.value)});
  }
}

OperationPtr FunctionCompiler::call_builtin(const std::string& name, const CallExpr& node, bool* known) {
  *known = true;
  if (name == "annotate") return annotated(node);
  if (name == "range") return range_call(node);
  if (name == "zip") return zip_call(node);
  if (name == "enumerate") return enumerate_call(node);
  if (name == "print") {
    OperationPtr op = make(Kind::kPrint, node.range, c10::NoneType::get());
    std::vector<NamedArgument> named;
    arguments(node, op->inputs, named);
    if (!named.empty()) throw ErrorReport(node.range, "print takes no keyword arguments");
    return op;
  }
  if (name == "list" || name == "reversed") {
    if (node.arguments.size() != 1 || !node.keywords.empty())
      throw ErrorReport(node.range, name, " takes one argument");
    OperationPtr list = iterable(*node.arguments[0]);
    if (name == "list") return operator_call_of("aten::list", node.range, std::move(list));
    return operator_call_of("aten::slice", node.range, std::move(list), none(node.range), none(node.range),
                            constant(-1, c10::IntType::get(), node.range));
  }
  for (const auto& [builtin, op] : kBuiltinOperators) {
    if (name != builtin) continue;
    std::vector<OperationPtr> positional;
    std::vector<NamedArgument> named;
    arguments(node, positional, named);
    if (name == "sum" && positional.size() == 1 && positional[0]->type->kind() == TypeKind::TensorType) {
      return operator_call("aten::sum", std::move(positional), std::move(named), node.function->range);
    }
    if (name == "int" && positional.empty()) return constant(0, c10::IntType::get(), node.range);
    return operator_call(std::string(op), std::move(positional), std::move(named), node.function->range);
  }
  *known = false;
  return nullptr;
}

OperationPtr FunctionCompiler::annotated(const CallExpr& node) {
  if (node.arguments.size() != 2 || !node.keywords.empty())
    throw ErrorReport(node.range, "annotate takes a type and a value");
  const TypePtr type = type_of_annotation(*node.arguments[0]);
  OperationPtr value = expression(*node.arguments[1], type);
  if (!value->type->isSubtypeOf(type)) {
    throw ErrorReport(node.range, "expected an expression of type ", type->annotation_str(), " but found ",
                      value->type->annotation_str());
  }
  OperationPtr op = make(Kind::kConvert, node.range, type);
  op->inputs.push_back(std::move(value));
  return op;
}

OperationPtr FunctionCompiler::range_call(const CallExpr& node) {
  if (node.arguments.empty() || node.arguments.size() > 3 || !node.keywords.empty())
    throw ErrorReport(node.range, "range expected 1 to 3 arguments, got ",
                      node.arguments.size() + node.keywords.size());
  OperationPtr op = make(Kind::kRange, node.range, c10::ListType::ofInts());
  std::vector<OperationPtr> given;
  for (const ExprPtr& one : node.arguments) {
    OperationPtr value = expression(*one);
    ArgumentSource source;
    source.type = c10::IntType::get();
    if (!find_conversion(value->type, source.type, std::nullopt, Leniency::kNumbersFromTensors, &source))
      throw ErrorReport(one->range, "range takes integers, got ", value->type->annotation_str());
    given.push_back(converted(std::move(value), source));
  }
  if (given.size() == 1) given.insert(given.begin(), constant(0, c10::IntType::get(), node.range));
  if (given.size() == 2) given.push_back(constant(1, c10::IntType::get(), node.range));
  op->inputs = std::move(given);
  return op;
}

OperationPtr FunctionCompiler::zip_call(const CallExpr& node) {
  if (node.arguments.empty() || !node.keywords.empty()) throw ErrorReport(node.range, "zip takes one or more lists");
  OperationPtr op = make(Kind::kZip, node.range, nullptr);
  std::vector<TypePtr> elements;
  for (const ExprPtr& one : node.arguments) {
    op->inputs.push_back(iterable(*one));
    elements.push_back(op->inputs.back()->type->containedType(0));
  }
  op->type = c10::ListType::create(c10::TupleType::create(std::move(elements)));
  return op;
}

OperationPtr FunctionCompiler::enumerate_call(const CallExpr& node) {
  const bool named_start = node.keywords.size() == 1 && node.keywords[0].name == "start";
  if (node.arguments.empty() || node.arguments.size() + node.keywords.size() > 2 ||
      (!node.keywords.empty() && !named_start))
    throw ErrorReport(node.range, "enumerate takes a list and a start");
  OperationPtr op = make(Kind::kEnumerate, node.range, nullptr);
  op->inputs.push_back(iterable(*node.arguments[0]));
  const Expr* start = named_start                 ? node.keywords[0].value.get()
                      : node.arguments.size() > 1 ? node.arguments[1].get()
                                                  : nullptr;
  op->inputs.push_back(start == nullptr ? constant(0, c10::IntType::get(), node.range) : expression(*start));
  if (op->inputs[1]->type->kind() != TypeKind::IntType)
    throw ErrorReport(node.range, "enumerate starts with an integer");
  op->type =
      c10::ListType::create(c10::TupleType::create({c10::IntType::get(), op->inputs[0]->type->containedType(0)}));
  return op;
}

OperationPtr FunctionCompiler::call_method(const AttributeExpr& method, const CallExpr& node) {
  OperationPtr object = expression(*method.object);
  const TypePtr type = object->type;
  const ErrorReport no_method(method.range, "'", type->annotation_str(), "' object has no attribute or method '",
                              method.name, "'.");
  std::vector<OperationPtr> positional;
  std::vector<NamedArgument> named;
  if (type->kind() == TypeKind::ClassType) {
    Function* function = type->expectRef<c10::ClassType>().findMethod(method.name);
    if (function == nullptr) throw no_method;
    positional.push_back(std::move(object));
    arguments(node, positional, named);
    std::vector<TypePtr> types;
    for (const OperationPtr& one : positional) types.push_back(one->type);
    NamedTypes named_types;
    for (const NamedArgument& one : named) named_types.emplace_back(one.name, one.value->type);
    std::string why;
    auto match = match_schema(function->getSchema(), types, named_types, Leniency::kConversions, &why);
    if (!match.has_value()) throw ErrorReport(method.range, "\n", function->getSchema().str(), ":\n", why, "\n");
    OperationPtr op =
        bound_call(function->getSchema(), std::move(*match), std::move(positional), std::move(named), node.range);
    op->kind = Kind::kCallFunction;
    op->function = function;
    return op;
  }
  std::string name = "aten::" + method.name;
  if (type->kind() == TypeKind::TensorType &&
      (method.name == "float" || method.name == "double" || method.name == "half" || method.name == "long" ||
       method.name == "int" || method.name == "bool")) {
    const auto dtype = std::pair(method.name, method.name == "double"  ? 7
                                              : method.name == "float" ? 6
                                              : method.name == "half"  ? 5
                                              : method.name == "long"  ? 4
                                              : method.name == "int"   ? 3
                                                                       : 11);
    return operator_call_of("aten::to", method.range, std::move(object),
                            constant(dtype.second, c10::IntType::get(), method.range));
  }
  if (operators_.overloads(name).empty()) throw no_method;
  positional.push_back(std::move(object));
  arguments(node, positional, named);
  return operator_call(name, std::move(positional), std::move(named), method.range);
}

OperationPtr FunctionCompiler::converted(OperationPtr value, const ArgumentSource& source) {
  if (source.conversion == Conversion::kNone) return value;
  TypePtr type = source.type;
  if (type->kind() == TypeKind::OptionalType) type = type->containedType(0);
  OperationPtr op = make(Kind::kConvert, value->range, type);
  op->conversion = source.conversion;
  op->slot = static_cast<size_t>(source.repeat);
  op->inputs.push_back(std::move(value));
  return op;
}

OperationPtr FunctionCompiler::bound_call(const c10::FunctionSchema& schema, SchemaMatch match,
                                          std::vector<OperationPtr> positional, std::vector<NamedArgument> named,
                                          const SourceRange& range) {
  OperationPtr op = make(Kind::kCall, range, result_type(schema, match.returns));
  const size_t places = positional.size();
  for (size_t i = 0; i < match.arguments.size(); ++i) {
    const ArgumentSource& source = match.arguments[i];
    if (source.kind == ArgumentSource::Kind::kDefault) {
      op->inputs.push_back(constant(*schema.arguments()[i].default_value(), source.type, range));
    } else if (source.kind == ArgumentSource::Kind::kRest) {
      OperationPtr rest = make(Kind::kList, range, source.type);
      for (size_t k = source.index; k < places; ++k) rest->inputs.push_back(std::move(positional[k]));
      op->inputs.push_back(std::move(rest));
    } else {
      op->inputs.push_back(converted(
          std::move(source.index < places ? positional[source.index] : named[source.index - places].value), source));
    }
  }
  return op;
}

OperationPtr FunctionCompiler::operator_call(const std::string& name, std::vector<OperationPtr> positional,
                                             std::vector<NamedArgument> named, const SourceRange& range) {
  const std::vector<Callable>& overloads = operators_.overloads(name);
  std::vector<TypePtr> types;
  for (const OperationPtr& one : positional) types.push_back(one->type);
  NamedTypes named_types;
  for (const NamedArgument& one : named) named_types.emplace_back(one.name, one.value->type);
  std::string why;
  for (const Leniency leniency : {Leniency::kExact, Leniency::kConversions, Leniency::kNumbersFromTensors}) {
    for (const Callable& one : overloads) {
      auto match = match_schema(one.schema(), types, named_types, leniency, &why);
      if (!match.has_value()) continue;
      OperationPtr op = bound_call(one.schema(), std::move(*match), std::move(positional), std::move(named), range);
      op->callables.push_back(one);
      return op;
    }
  }
  if (overloads.empty()) throw ErrorReport(range, "Unknown builtin op: ", name);
  if (overloads.size() == 1) throw ErrorReport(range, "\n", overloads[0].schema().str(), ":\n", why, "\n");
  std::string text = "\nArguments for call are not valid.\nThe following variants are available:\n";
  for (const Callable& one : overloads) {
    match_schema(one.schema(), types, named_types, Leniency::kNumbersFromTensors, &why);
    text += "  \n" + indented(one.schema().str() + ":\n") + indented(why + "\n");
  }
  throw ErrorReport(text + "\nThe original call is:\n" + range.str() + "\n", range);
}

OperationPtr FunctionCompiler::call_function(const CompiledFunction& function, const CallExpr& node) {
  std::vector<OperationPtr> positional;
  std::vector<NamedArgument> named;
  arguments(node, positional, named);
  std::vector<TypePtr> types;
  for (const OperationPtr& one : positional) types.push_back(one->type);
  NamedTypes named_types;
  for (const NamedArgument& one : named) named_types.emplace_back(one.name, one.value->type);
  std::string why;
  auto match = match_schema(function.schema, types, named_types, Leniency::kConversions, &why);
  if (!match.has_value()) throw ErrorReport(node.function->range, "\n", function.schema.str(), ":\n", why, "\n");
  OperationPtr op =
      bound_call(function.schema, std::move(*match), std::move(positional), std::move(named), node.function->range);
  op->kind = Kind::kCallFunction;
  op->program = function.program;
  return op;
}

}  // namespace torch::jit::detail
