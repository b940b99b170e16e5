// Calls: of functions and methods of the program, of what the language knows by name, and of operators by the overload
// that takes the arguments.
#include <algorithm>

#include "c10/value/class_type.h"
#include "jit/compiler/annotations.h"
#include "jit/compiler/function_compiler.h"

namespace torch::jit::detail {
namespace {

using c10::TypeKind;
using c10::TypePtr;
using graph::Node;
using graph::Operand;

// Functions of the language that are operators under other names.
constexpr std::pair<std::string_view, std::string_view> kBuiltinOperators[] = {
    {"int", "aten::Int"},       {"float", "aten::Float"}, {"bool", "aten::Bool"},     {"complex", "aten::Complex"},
    {"str", "aten::str"},       {"len", "aten::len"},     {"abs", "aten::abs"},       {"round", "aten::round"},
    {"divmod", "aten::divmod"}, {"ord", "aten::ord"},     {"chr", "aten::chr"},       {"min", "prim::min"},
    {"max", "prim::max"},       {"sum", "aten::sum"},     {"sorted", "aten::sorted"}, {"any", "aten::any"},
    {"all", "aten::all"},       {"pow", "aten::pow"},     {"hex", "aten::hex"},       {"oct", "aten::oct"},
    {"bin", "aten::bin"}};

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

struct Types {
  std::vector<TypePtr> positional;
  NamedTypes named;
};
Types types_of(const std::vector<Typed>& positional, const std::vector<NamedArgument>& named) {
  Types types;
  for (const Typed& one : positional) types.positional.push_back(one.type);
  for (const NamedArgument& one : named) types.named.emplace_back(one.name, one.value.type);
  return types;
}

}  // namespace

Typed FunctionCompiler::call(const CallExpr& node, const TypePtr& wanted) {
  const Expr& function = *node.function;
  const std::string path = dotted_path(function);
  const std::string root = path.substr(0, path.find('.'));
  const Variable* variable = root.empty() ? nullptr : variables_.find(root);
  if (function.kind == Expr::Kind::kName && variable != nullptr) {
    const Typed value = name(*function.as<NameExpr>());
    throw ErrorReport(node.range, "cannot call a value of type '", value.type->annotation_str(), "'");
  }
  if (!path.empty() && variable == nullptr) {
    const auto named = function_names_.find(path);
    if (Function* found = scope_.function(named == function_names_.end() ? path : named->second, function.range))
      return call_function(*found, std::nullopt, node, function.range);
    if (const TypePtr type = scope_.type(path)) return construct(type, node);
    if (std::optional<Typed> value = call_language(path, node)) return *value;
    if (function.kind == Expr::Kind::kName) throw ErrorReport(function.range, "undefined value ", path);
  }
  const auto* attribute = function.as<AttributeExpr>();
  if (attribute == nullptr) {
    const Typed value = expression(function);
    throw ErrorReport(node.range, "cannot call a value of type '", value.type->annotation_str(), "'");
  }
  if (variable == nullptr && (root == "torch" || root == "ops")) {
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
    std::vector<Typed> positional;
    std::vector<NamedArgument> named;
    arguments(node, positional, named);
    return operator_call(name, positional, named, function.range);
  }
  return call_method(*attribute, node, wanted);
}

void FunctionCompiler::arguments(const CallExpr& node, std::vector<Typed>& positional,
                                 std::vector<NamedArgument>& named) {
  for (const ExprPtr& one : node.arguments) {
    const auto* starred = one->as<StarredExpr>();
    if (starred == nullptr) {
      positional.push_back(expression(*one));
      continue;
    }
    const Typed tuple = expression(*starred->value);
    if (starred->value->as<NameExpr>() == nullptr || tuple.type->kind() != TypeKind::TupleType)
      throw ErrorReport(one->range, "only variables that are tuples can be expanded with '*', got ",
                        tuple.type->annotation_str());
    for (Typed& part : parts(tuple, tuple.type->containedTypeSize())) positional.push_back(std::move(part));
  }
  for (const Keyword& keyword : node.keywords) {
    const auto same = [&](const NamedArgument& other) { return other.name == keyword.name; };
    if (std::any_of(named.begin(), named.end(), same))
      throw ErrorReport(keyword.range, "keyword argument '", keyword.name, "' is given twice");
    named.push_back({keyword.name, expression(*keyword.value)});
  }
}

// What is no value: its arguments are types, names or what is done another way.
std::optional<Typed> FunctionCompiler::call_language(const std::string& name, const CallExpr& node) {
  const size_t given = node.arguments.size();
  const auto expect = [&](size_t count, const char* what) {
    if (given != count || !node.keywords.empty()) throw ErrorReport(node.range, name, " takes ", what);
  };
  if (name == "annotate" || name == "torch.jit.annotate") return annotated(node);
  if (name == "isinstance") return condition(node).value;
  if (name == "range") return range_call(node);
  if (name == "zip") return zip_call(node);
  if (name == "enumerate") return enumerate_call(node);
  if (name == "fork") return forked(node);
  if (name == "uninitialized") {
    expect(1, "a type");
    return constant({}, type_of_annotation(*node.arguments[0], scope_), node.range);
  }
  if (name == "unchecked_cast") {
    expect(2, "a type and a value");
    const TypePtr type = type_of_annotation(*node.arguments[0], scope_);
    const Typed value = expression(*node.arguments[1], type);
    if (value.type->isSubtypeOf(type)) return Typed{value.value, type, node.range};
    return make(Node::Kind::kCast, {value.value}, type, node.range);
  }
  if (name == "getattr") {
    expect(2, "an object and the name of an attribute");
    const auto* text = node.arguments[1]->as<StringExpr>();
    if (text == nullptr) throw ErrorReport(node.range, "getattr's second argument must be a string literal");
    return attribute_of(expression(*node.arguments[0]), text->value, node.range);
  }
  if (name == "ops.prim.RaiseException" || name == "torch.ops.prim.RaiseException") {
    if (given < 1 || given > 2) throw ErrorReport(node.range, "RaiseException takes a message and a class");
    const Typed message = expression(*node.arguments[0]);
    if (message.type->kind() != TypeKind::StringType) throw ErrorReport(node.range, "a message is a string");
    const auto* exception_class = given == 2 ? node.arguments[1]->as<StringExpr>() : nullptr;
    raise(message, exception_class == nullptr ? "" : exception_class->value, node.range);
    return none(node.range);
  }
  const std::string creating = ".__new__";
  if (name.size() > creating.size() && name.compare(name.size() - creating.size(), creating.size(), creating) == 0) {
    const TypePtr type = scope_.type(name.substr(0, name.size() - creating.size()));
    Function* creator = type == nullptr ? nullptr : scope_.creator(type);
    if (creator == nullptr) throw ErrorReport(node.range, "undefined value ", name);
    return invoke(*creator, {}, type, node.range);
  }
  return call_builtin(name, node);
}

std::optional<Typed> FunctionCompiler::call_builtin(const std::string& name, const CallExpr& node) {
  std::vector<Typed> positional;
  std::vector<NamedArgument> named;
  if (name == "print") {
    arguments(node, positional, named);
    if (!named.empty()) throw ErrorReport(node.range, "print takes no keyword arguments");
    return operator_call("prim::Print", positional, node.range);
  }
  if (name == "list" || name == "reversed") {
    if (node.arguments.size() != 1 || !node.keywords.empty())
      throw ErrorReport(node.range, name, " takes one argument");
    const Typed list = iterable(expression(*node.arguments[0]));
    if (name == "list") return operator_call("aten::list", {list}, node.range);
    return operator_call("aten::slice",
                         {list, none(node.range), none(node.range), constant(-1, c10::IntType::get(), node.range)},
                         node.range);
  }
  for (const auto& [builtin, op] : kBuiltinOperators) {
    if (name != builtin) continue;
    arguments(node, positional, named);
    if (name == "int" && positional.empty()) return constant(0, c10::IntType::get(), node.range);
    return operator_call(std::string(op), positional, named, node.function->range);
  }
  return std::nullopt;
}

Typed FunctionCompiler::annotated(const CallExpr& node) {
  if (node.arguments.size() != 2 || !node.keywords.empty())
    throw ErrorReport(node.range, "annotate takes a type and a value");
  const TypePtr type = type_of_annotation(*node.arguments[0], scope_);
  const Typed value = expression(*node.arguments[1], type);
  ArgumentSource source;
  source.type = type;
  // Traces take numbers out of tensors like this.
  if (!find_conversion(value.type, type, std::nullopt, Leniency::kNumbersFromTensors, &source)) {
    throw ErrorReport(node.range, "expected an expression of type ", type->annotation_str(), " but found ",
                      value.type->annotation_str());
  }
  return {converted(value, source).value, type, node.range};
}

std::vector<Typed> FunctionCompiler::range_bounds(const CallExpr& node) {
  if (node.arguments.empty() || node.arguments.size() > 3 || !node.keywords.empty())
    throw ErrorReport(node.range, "range expected 1 to 3 arguments, got ",
                      node.arguments.size() + node.keywords.size());
  std::vector<Typed> bounds;
  for (const ExprPtr& one : node.arguments) {
    const Typed value = expression(*one);
    ArgumentSource source;
    source.type = c10::IntType::get();
    if (!find_conversion(value.type, source.type, std::nullopt, Leniency::kNumbersFromTensors, &source))
      throw ErrorReport(one->range, "range takes integers, got ", value.type->annotation_str());
    bounds.push_back(converted(value, source));
  }
  if (bounds.size() == 1) bounds.insert(bounds.begin(), constant(0, c10::IntType::get(), node.range));
  if (bounds.size() == 2) bounds.push_back(constant(1, c10::IntType::get(), node.range));
  return bounds;
}
Typed FunctionCompiler::range_call(const CallExpr& node) {
  return operator_call("prim::range", range_bounds(node), node.range);
}

Typed FunctionCompiler::zip_call(const CallExpr& node) {
  if (node.arguments.empty() || !node.keywords.empty()) throw ErrorReport(node.range, "zip takes one or more lists");
  std::vector<Typed> lists;
  std::vector<TypePtr> elements;
  for (const ExprPtr& one : node.arguments) {
    lists.push_back(iterable(expression(*one)));
    elements.push_back(lists.back().type->containedType(0));
  }
  Typed all = operator_call("prim::zip", lists, node.range);
  all.type = c10::ListType::create(c10::TupleType::create(std::move(elements)));
  all.value.value()->set_type(all.type);
  return all;
}

Typed FunctionCompiler::enumerate_call(const CallExpr& node) {
  const bool named_start = node.keywords.size() == 1 && node.keywords[0].name == "start";
  if (node.arguments.empty() || node.arguments.size() + node.keywords.size() > 2 ||
      (!node.keywords.empty() && !named_start))
    throw ErrorReport(node.range, "enumerate takes a list and a start");
  const Typed list = iterable(expression(*node.arguments[0]));
  const Expr* first = named_start                 ? node.keywords[0].value.get()
                      : node.arguments.size() > 1 ? node.arguments[1].get()
                                                  : nullptr;
  const Typed start = first == nullptr ? constant(0, c10::IntType::get(), node.range) : expression(*first);
  if (start.type->kind() != TypeKind::IntType) throw ErrorReport(node.range, "enumerate starts with an integer");
  return operator_call("prim::enumerate", {list, start}, node.range);
}

// What runs at once and is waited for later.
Typed FunctionCompiler::forked(const CallExpr& node) {
  const auto* name = node.arguments.size() == 1 ? node.arguments[0]->as<NameExpr>() : nullptr;
  const auto found = name == nullptr ? local_.end() : local_.find(name->name);
  if (found == local_.end()) throw ErrorReport(node.range, "fork takes a function that is defined in this one");
  const Environment before = variables_;
  const TypePtr declared = std::exchange(declared_result_, nullptr), result = std::exchange(result_, nullptr);
  const int loops = std::exchange(loops_, 0);
  const DefStmt& def = *found->second;
  local_.erase(found);  // it does not fork itself
  variables_.enter();
  const Flow flow = block(def.body);
  Typed value = none(node.range);
  if (const Variable* returned = variables_.find("$result"); returned != nullptr && result_ != nullptr) {
    if (flow.falls_through) throw ErrorReport(def.range, "Function does not return a value along all paths");
    value = {returned->value, result_, node.range};
  }
  local_[def.name] = &def;
  loops_ = loops;
  declared_result_ = declared;
  result_ = result;
  variables_ = before;
  return operator_call("prim::completed", {value}, node.range);
}

Typed FunctionCompiler::construct(const TypePtr& type, const CallExpr& node) {
  std::vector<Typed> positional;
  std::vector<NamedArgument> named;
  if (const auto* tuple = type->castRaw<c10::TupleType>()) {
    arguments(node, positional, named);
    const size_t count = tuple->elements().size();
    std::vector<Operand> fields(count, Operand(c10::IValue()));
    std::vector<bool> given(count, false);
    const auto set = [&](size_t i, const Typed& value) {
      if (i >= count || given[i])
        throw ErrorReport(node.range, tuple->name(), " takes each of its ", count, " fields once");
      if (!value.type->isSubtypeOf(tuple->elements()[i]))
        throw ErrorReport(value.range, "Expected a value of type '", tuple->elements()[i]->annotation_str(),
                          "' for field '", tuple->names()[i], "' but instead found type '",
                          value.type->annotation_str(), "'.");
      fields[i] = value.value;
      given[i] = true;
    };
    for (size_t i = 0; i < positional.size(); ++i) set(i, positional[i]);
    for (const NamedArgument& one : named) {
      const auto field = std::find(tuple->names().begin(), tuple->names().end(), one.name);
      set(static_cast<size_t>(field - tuple->names().begin()), one.value);
    }
    for (size_t i = 0; i < count; ++i) {
      if (!given[i]) throw ErrorReport(node.range, "field '", tuple->names()[i], "' not provided.");
    }
    return make(Node::Kind::kTuple, std::move(fields), type, node.range);
  }
  const auto* made = type->castRaw<c10::ClassType>();
  Function* creator = made == nullptr || made->is_module() ? nullptr : scope_.creator(type);
  if (creator == nullptr) throw ErrorReport(node.range, "'", type->annotation_str(), "' cannot be made by a call");
  const Typed object = invoke(*creator, {}, type, node.range);
  Function* init = made->findMethod("__init__");
  if (init == nullptr) {
    if (!node.arguments.empty() || !node.keywords.empty())
      throw ErrorReport(node.range, "'", type->annotation_str(), "' has no __init__ that takes arguments");
    return object;
  }
  call_function(*init, object, node, node.range);
  return object;
}

// A tensor's elements as numbers in lists of lists: how many levels, and of which numbers, is what the type says.
Typed FunctionCompiler::to_list(const Typed& tensor, const TypePtr& wanted, const SourceRange& range) {
  int64_t levels = 0;
  TypePtr number = wanted;
  while (number != nullptr && number->kind() == TypeKind::ListType) {
    number = number->containedType(0);
    ++levels;
  }
  const TypeKind kind = number == nullptr ? TypeKind::AnyType : number->kind();
  if (kind != TypeKind::IntType && kind != TypeKind::FloatType && kind != TypeKind::BoolType &&
      kind != TypeKind::ComplexType) {
    throw ErrorReport(range,
                      "Expected type hint for result of tolist(): int, float, bool or complex, or lists of such lists");
  }
  const Typed levels_of = constant(levels, c10::IntType::get(), range);
  Typed result =
      operator_call("prim::tolist", {tensor, levels_of, constant(number->str(), c10::StringType::get(), range)}, range);
  result.type = wanted;
  result.value.value()->set_type(wanted);
  return result;
}

Typed FunctionCompiler::call_method(const AttributeExpr& method, const CallExpr& node, const TypePtr& wanted) {
  const Typed object = expression(*method.object);
  const TypePtr& type = object.type;
  const ErrorReport no_method(method.range, "'", type->annotation_str(), "' object has no attribute or method '",
                              method.name, "'.");
  if (const auto* class_type = type->castRaw<c10::ClassType>()) {
    Function* function = scope_.method(*class_type, method.name, method.range);
    if (function == nullptr) throw no_method;
    return call_function(*function, object, node, method.range);
  }
  if (const auto* interface = type->castRaw<c10::InterfaceType>()) {
    Function* function = scope_.function(interface->qualified_name() + "." + method.name, method.range);
    if (function == nullptr) throw no_method;
    return call_function(*function, object, node, method.range);
  }
  if (type->kind() == TypeKind::TensorType &&
      (method.name == "float" || method.name == "double" || method.name == "half" || method.name == "long" ||
       method.name == "int" || method.name == "bool")) {
    const int64_t dtype = method.name == "double"  ? 7
                          : method.name == "float" ? 6
                          : method.name == "half"  ? 5
                          : method.name == "long"  ? 4
                          : method.name == "int"   ? 3
                                                   : 11;
    return operator_call("aten::to", {object, constant(dtype, c10::IntType::get(), method.range)}, method.range);
  }
  if (type->kind() == TypeKind::TensorType && method.name == "tolist") {
    if (!node.arguments.empty() || !node.keywords.empty()) throw ErrorReport(node.range, "tolist takes no arguments");
    return to_list(object, wanted, node.range);
  }
  const std::string name = "aten::" + method.name;
  if (operators_.overloads(name).empty()) throw no_method;
  std::vector<Typed> positional{object};
  std::vector<NamedArgument> named;
  arguments(node, positional, named);
  return operator_call(name, positional, named, method.range);
}

Typed FunctionCompiler::converted(const Typed& value, const ArgumentSource& source) {
  TypePtr type = source.type;
  if (source.conversion == Conversion::kNone) return value;
  if (type->kind() == TypeKind::OptionalType) type = type->containedType(0);
  const auto call = [&](const char* name) -> Typed {
    Typed made = operator_call(name, {value}, value.range);
    made.type = type;
    return made;
  };
  const bool of_tensor = value.type->kind() == TypeKind::TensorType;
  switch (source.conversion) {
    case Conversion::kNone:
      break;
    case Conversion::kToFloat:
      if (value.is_constant() && value.value.constant().isInt())
        return constant(static_cast<double>(value.value.constant().toInt()), type, value.range);
      return call(of_tensor ? "aten::FloatImplicit" : "aten::Float");
    case Conversion::kToInt:
      return call(of_tensor ? "aten::IntImplicit" : "aten::Int");
    case Conversion::kToScalar:
      return call("aten::ScalarImplicit");
    case Conversion::kToBool:
      return call("aten::Bool");
    case Conversion::kToComplex:
      return call("aten::Complex");
    case Conversion::kToDevice:
      return call("aten::device");
    case Conversion::kRepeat:
      return make(Node::Kind::kList, std::vector<Operand>(static_cast<size_t>(source.repeat), value.value), type,
                  value.range);
    case Conversion::kTupleToList: {
      std::vector<Operand> items;
      for (const Typed& part : parts(value, value.type->containedTypeSize())) items.push_back(part.value);
      return make(Node::Kind::kList, std::move(items), type, value.range);
    }
  }
  return value;
}

std::vector<Operand> FunctionCompiler::bound(const c10::FunctionSchema& schema, const SchemaMatch& match,
                                             const std::vector<Typed>& positional,
                                             const std::vector<NamedArgument>& named, const SourceRange& range) {
  std::vector<Operand> operands;
  const size_t places = positional.size();
  for (size_t i = 0; i < match.arguments.size(); ++i) {
    const ArgumentSource& source = match.arguments[i];
    if (source.kind == ArgumentSource::Kind::kDefault) {
      operands.emplace_back(*schema.arguments()[i].default_value());
    } else if (source.kind == ArgumentSource::Kind::kRest) {
      std::vector<Operand> rest;
      for (size_t k = source.index; k < places; ++k) rest.push_back(positional[k].value);
      operands.push_back(make(Node::Kind::kList, std::move(rest), source.type, range).value);
    } else {
      const Typed& given = source.index < places ? positional[source.index] : named[source.index - places].value;
      operands.push_back(converted(given, source).value);
    }
  }
  return operands;
}

Typed FunctionCompiler::operator_call(const std::string& name, const std::vector<Typed>& positional,
                                      const std::vector<NamedArgument>& named, const SourceRange& range) {
  const std::vector<Callable>& overloads = operators_.overloads(name);
  const Types types = types_of(positional, named);
  const auto made = [&](const Callable& callable, std::vector<Operand> operands,
                        const std::vector<TypePtr>& returns) -> Typed {
    Node* node = append(graph_->call(callable, std::move(operands)), range);
    const size_t count = node->result_count();
    for (size_t i = 0; i < count; ++i) node->result(i)->set_type(returns[i]);
    const TypePtr type = result_type(callable.schema(), returns);
    if (count == 0) return none(range);
    if (count == 1) return {node->result(), type, range};
    std::vector<Operand> items;
    for (size_t i = 0; i < count; ++i) items.emplace_back(node->result(i));
    return make(Node::Kind::kTuple, std::move(items), type, range);
  };
  std::string why;
  for (const Leniency leniency : {Leniency::kExact, Leniency::kConversions, Leniency::kNumbersFromTensors}) {
    for (const Callable& one : overloads) {
      if (one.schema().is_vararg() && named.empty()) {
        std::vector<Operand> operands;
        for (const Typed& value : positional) operands.push_back(value.value);
        std::vector<TypePtr> returns;
        for (const c10::Argument& result : one.schema().returns()) returns.push_back(result.type());
        return made(one, std::move(operands), returns);
      }
      const auto match = match_schema(one.schema(), types.positional, types.named, leniency, &why);
      if (match.has_value()) return made(one, bound(one.schema(), *match, positional, named, range), match->returns);
    }
  }
  if (overloads.empty()) throw ErrorReport(range, "Unknown builtin op: ", name);
  if (overloads.size() == 1) throw ErrorReport(range, "\n", overloads[0].schema().str(), ":\n", why, "\n");
  std::string text = "\nArguments for call are not valid.\nThe following variants are available:\n";
  for (const Callable& one : overloads) {
    match_schema(one.schema(), types.positional, types.named, Leniency::kNumbersFromTensors, &why);
    text += "  \n" + indented(one.schema().str() + ":\n") + indented(why + "\n");
  }
  throw ErrorReport(text + "\nThe original call is:\n" + range.str() + "\n", range);
}

Typed FunctionCompiler::call_function(Function& function, std::optional<Typed> self, const CallExpr& node,
                                      const SourceRange& range) {
  std::vector<Typed> positional;
  std::vector<NamedArgument> named;
  if (self.has_value()) positional.push_back(std::move(*self));
  arguments(node, positional, named);
  const Types types = types_of(positional, named);
  const c10::FunctionSchema& schema = function.getSchema();
  std::string why;
  const auto match = match_schema(schema, types.positional, types.named, Leniency::kConversions, &why);
  if (!match.has_value()) throw ErrorReport(range, "\n", schema.str(), ":\n", why, "\n");
  return invoke(function, bound(schema, *match, positional, named, range), result_type(schema, match->returns), range);
}

Typed FunctionCompiler::invoke(Function& function, std::vector<Operand> operands, const TypePtr& type,
                               const SourceRange& range) {
  std::string name = function.qualname();
  while (!functions_.try_emplace(name, &function).second && functions_.at(name) != &function) name += "'";
  std::unique_ptr<Node> node = graph_->make(Node::Kind::kInvoke, std::move(operands));
  node->set_name(std::move(name));
  return result(std::move(node), type, range);
}

}  // namespace torch::jit::detail
