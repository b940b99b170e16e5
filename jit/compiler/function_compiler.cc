#include "jit/compiler/function_compiler.h"

#include <algorithm>

#include "c10/util/exception.h"
#include "jit/compiler/annotations.h"
#include "jit/compiler/evaluator.h"

namespace torch::jit {

CompiledFunction compile_function(const DefStmt& def, FunctionScope& scope, OperatorTable& operators) {
  return detail::FunctionCompiler(scope, operators).compile(def);
}

}  // namespace torch::jit

namespace torch::jit::detail {
namespace {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;

// Whether computing it takes no more than writing it does: default values are computed when a program is only compiled.
bool is_literal(const Expr& node) {
  const auto all = [](const std::vector<ExprPtr>& items) {
    return std::all_of(items.begin(), items.end(), [](const ExprPtr& item) { return is_literal(*item); });
  };
  if (const auto* list = node.as<ListExpr>()) return all(list->items);
  if (const auto* tuple = node.as<TupleExpr>()) return all(tuple->items);
  if (const auto* dict = node.as<DictExpr>()) return all(dict->keys) && all(dict->values);
  if (const auto* sign = node.as<UnaryExpr>()) return is_literal(*sign->operand);
  if (const auto* call = node.as<CallExpr>()) {
    const std::string path = dotted_path(*call->function);
    return (path == "torch.device" || path == "annotate") && !call->arguments.empty() &&
           is_literal(*call->arguments.back());
  }
  return node.kind == Expr::Kind::kName || node.kind == Expr::Kind::kInt || node.kind == Expr::Kind::kFloat ||
         node.kind == Expr::Kind::kImaginary || node.kind == Expr::Kind::kString ||
         node.kind == Expr::Kind::kConstant || !dotted_path(node).empty();
}

// The names that statements assign, in nested blocks, too.
void collect(const Expr& target, std::vector<std::string>& names) {
  if (const auto* name = target.as<NameExpr>()) names.push_back(name->name);
  if (const auto* tuple = target.as<TupleExpr>()) {
    for (const ExprPtr& item : tuple->items) collect(*item, names);
  }
}
void collect(const Block& block, std::vector<std::string>& names) {
  for (const StmtPtr& node : block) {
    if (const auto* assign = node->as<AssignStmt>()) {
      for (const ExprPtr& target : assign->targets) collect(*target, names);
    } else if (const auto* augmented = node->as<AugmentedStmt>()) {
      collect(*augmented->target, names);
    } else if (const auto* branch = node->as<IfStmt>()) {
      collect(branch->body, names);
      collect(branch->other, names);
    } else if (const auto* loop = node->as<WhileStmt>()) {
      collect(loop->body, names);
    } else if (const auto* each = node->as<ForStmt>()) {
      collect(*each->target, names);
      collect(each->body, names);
    } else if (const auto* with = node->as<WithStmt>()) {
      collect(with->body, names);
    }
  }
}

}  // namespace

CompiledFunction FunctionCompiler::compile(const DefStmt& def) {
  program_ = std::make_shared<Program>();
  program_->name = def.name;
  std::vector<c10::Argument> arguments = parameters(def);
  if (def.return_type != nullptr) declared_result_ = type_of_annotation(*def.return_type);
  const bool reaches_end = block(def.body, program_->body);
  if (reaches_end) {
    const TypePtr none = c10::NoneType::get();
    if (declared_result_ != nullptr && !none->isSubtypeOf(declared_result_)) {
      throw ErrorReport(def.range,
                        "Function was not annotated as having type None, but does not return along all paths");
    }
    result_ = result_ == nullptr ? none : unify_types(result_, none);
    if (result_ == nullptr) throw ErrorReport(def.range, "Function does not return a value along all paths");
  }
  TypePtr result = declared_result_ != nullptr ? declared_result_ : result_ != nullptr ? result_ : c10::NoneType::get();
  std::vector<c10::Argument> returns;
  returns.emplace_back("", std::move(result));
  return {c10::FunctionSchema(def.name, "", std::move(arguments), std::move(returns)), program_};
}

std::vector<c10::Argument> FunctionCompiler::parameters(const DefStmt& def) {
  std::vector<c10::Argument> arguments;
  bool defaults = false;
  for (const Parameter& one : def.parameters) {
    TypePtr type = one.type == nullptr ? TypePtr(c10::TensorType::get()) : type_of_annotation(*one.type);
    std::optional<IValue> value;
    if (one.default_value != nullptr) value = default_value(*one.default_value, type);
    if (defaults && !value.has_value() && !one.keyword_only)
      throw ErrorReport(one.range, "a parameter without a default follows one that has one");
    defaults = value.has_value();
    if (variables_.find(one.name) != nullptr) throw ErrorReport(one.range, "duplicate parameter '", one.name, "'");
    variables_.set(one.name, {new_slot(), type, type, 0, "", {}});
    arguments.emplace_back(one.name, std::move(type), std::nullopt, std::move(value), one.keyword_only);
  }
  return arguments;
}

// Defaults are values once and for all: they are computed when the function is defined.
IValue FunctionCompiler::default_value(const Expr& node, const TypePtr& type) {
  if (!is_literal(node)) throw ErrorReport(node.range, "a default value that is computed is not supported");
  FunctionCompiler inner(scope_, operators_);
  inner.program_ = std::make_shared<Program>();
  inner.program_->name = "defaults";
  Step step(Step::Kind::kReturn, node.range);
  step.value = inner.expression(node, type);
  if (!step.value->type->isSubtypeOf(type)) {
    throw ErrorReport(node.range, "Expected a default value of type ", type->annotation_str(), " but it is of type ",
                      step.value->type->annotation_str());
  }
  inner.program_->body.push_back(std::move(step));
  c10::Stack stack;
  run_program(*inner.program_, stack);
  // Schemas cannot write them.
  if (stack.at(0).isTuple() || stack[0].isGenericDict() || stack[0].isComplexDouble())
    throw ErrorReport(node.range, "a default value of type ", type->annotation_str(), " is not supported");
  return stack[0];
}

bool FunctionCompiler::block(const Block& statements, std::vector<Step>& out) {
  for (const StmtPtr& one : statements) {
    // What follows a return is never run.
    if (!statement(*one, out)) return false;
  }
  return true;
}

bool FunctionCompiler::nested(const Block& statements, const Refinements& known, std::vector<Step>& out) {
  variables_.enter();
  variables_.refine(known);
  const bool reached = block(statements, out);
  variables_.leave();
  return reached;
}

bool FunctionCompiler::statement(const Stmt& node, std::vector<Step>& out) {
  switch (node.kind) {
    case Stmt::Kind::kAssign:
      assignment(*node.as<AssignStmt>(), out);
      return true;
    case Stmt::Kind::kAugmented:
      augmented(*node.as<AugmentedStmt>(), out);
      return true;
    case Stmt::Kind::kExpression: {
      if (node.as<ExpressionStmt>()->value->as<StringExpr>() != nullptr) return true;  // documentation
      Step step(Step::Kind::kEvaluate, node.range);
      step.value = expression(*node.as<ExpressionStmt>()->value);
      out.push_back(std::move(step));
      return true;
    }
    case Stmt::Kind::kReturn:
      returning(*node.as<ReturnStmt>(), out);
      return false;
    case Stmt::Kind::kIf:
      return branching(*node.as<IfStmt>(), out);
    case Stmt::Kind::kWhile:
      while_loop(*node.as<WhileStmt>(), out);
      return true;
    case Stmt::Kind::kFor:
      for_loop(*node.as<ForStmt>(), out);
      return true;
    case Stmt::Kind::kAssert:
      assertion(*node.as<AssertStmt>(), out);
      return true;
    case Stmt::Kind::kRaise:
      raising(*node.as<RaiseStmt>(), out);
      return false;
    case Stmt::Kind::kDelete:
      deletion(*node.as<DeleteStmt>(), out);
      return true;
    case Stmt::Kind::kWith:
      return with(*node.as<WithStmt>(), out);
    case Stmt::Kind::kPass:
      return true;
    case Stmt::Kind::kBreak:
    case Stmt::Kind::kContinue: {
      const bool is_break = node.kind == Stmt::Kind::kBreak;
      if (loops_ == 0)
        throw ErrorReport(node.range, "SyntaxError: '", is_break ? "break" : "continue", "' outside loop");
      out.emplace_back(is_break ? Step::Kind::kBreak : Step::Kind::kContinue, node.range);
      return false;
    }
    case Stmt::Kind::kDef:
      throw ErrorReport(node.range, "functions inside functions are not supported");
    case Stmt::Kind::kClass:
      throw ErrorReport(node.range, "classes inside functions are not supported");
  }
  return true;
}

size_t FunctionCompiler::define(const std::string& name, const TypePtr& type, const TypePtr& declared,
                                const SourceRange& range) {
  Variable* before = variables_.find(name);
  if (before != nullptr && before->undefined.empty() && before->depth < variables_.depth()) {
    if (!type->isSubtypeOf(before->declared)) {
      throw ErrorReport(range, "Variable '", name, "' previously had type ", before->declared->annotation_str(),
                        " but is now being assigned to a value of type ", type->annotation_str(), "\n");
    }
    before->type = declared != nullptr ? before->declared : type;
    return before->slot;
  }
  const TypePtr known = declared != nullptr ? declared : type;
  const size_t slot = before != nullptr ? before->slot : new_slot();
  variables_.set(name, {slot, known, known, variables_.depth(), "", {}});
  return slot;
}

void FunctionCompiler::assignment(const AssignStmt& node, std::vector<Step>& out) {
  TypePtr declared;
  if (node.type != nullptr) declared = type_of_annotation(*node.type);
  if (node.value == nullptr) throw ErrorReport(node.range, "a declaration without a value is not supported");
  OperationPtr value = expression(*node.value, declared);
  if (declared != nullptr && !value->type->isSubtypeOf(declared)) {
    throw ErrorReport(node.targets[0]->range, "Variable '", std::string(node.targets[0]->range.text()),
                      "' is annotated with type ", declared->annotation_str(),
                      " but is being assigned to a value of type ", value->type->annotation_str());
  }
  if (node.targets.size() == 1) return assign(*node.targets[0], std::move(value), declared, out);
  // a = b = value: computed once.
  const Variable temporary{new_slot(), value->type, value->type, 0, "", {}};
  Step step(Step::Kind::kAssign, node.range);
  step.value = std::move(value);
  step.target.slot = temporary.slot;
  out.push_back(std::move(step));
  for (const ExprPtr& target : node.targets) assign(*target, load(temporary, node.range), declared, out);
}

Target FunctionCompiler::target(const Expr& node, const TypePtr& type, const TypePtr& declared) {
  Target result;
  result.range = node.range;
  if (const auto* name = node.as<NameExpr>()) {
    result.slot = define(name->name, type, declared, node.range);
    return result;
  }
  const auto* names = node.as<TupleExpr>();
  if (names == nullptr) {
    if (node.as<StarredExpr>() != nullptr)
      throw ErrorReport(node.range, "starred names in assignments are not supported");
    throw ErrorReport(node.range, "only names and tuples of names can be assigned here");
  }
  result.is_tuple = true;
  if (type->kind() == TypeKind::TupleType) {
    if (type->containedTypeSize() != names->items.size())
      throw ErrorReport(node.range, "need ", names->items.size(), " values to unpack but found only ",
                        type->containedTypeSize());
  } else if (type->kind() != TypeKind::ListType) {
    throw ErrorReport(node.range, "Provided value of type ", type->annotation_str(), " cannot be used as a tuple");
  }
  for (size_t i = 0; i < names->items.size(); ++i)
    result.parts.push_back(
        target(*names->items[i], type->containedType(type->kind() == TypeKind::ListType ? 0 : i), nullptr));
  return result;
}

void FunctionCompiler::assign(const Expr& where, OperationPtr value, const TypePtr& declared, std::vector<Step>& out) {
  const SourceRange& range = where.range;
  Step step(Step::Kind::kEvaluate, range);
  if (const auto* subscript = where.as<SubscriptExpr>()) {
    OperationPtr container = expression(*subscript->value);
    if (container->type->kind() == TypeKind::TensorType) {
      step.value = make(Operation::Kind::kIndexPut, range, c10::NoneType::get());
      step.value->inputs.push_back(std::move(container));
      tensor_indices(*subscript->index, step.value->inputs);
      step.value->inputs.push_back(std::move(value));
    } else {
      if (subscript->index->as<SliceExpr>() != nullptr) throw ErrorReport(range, "slices of lists cannot be assigned");
      step.value = operator_call_of("aten::_set_item", range, std::move(container), expression(*subscript->index),
                                    std::move(value));
    }
  } else if (const auto* attribute = where.as<AttributeExpr>()) {
    const OperationPtr object = expression(*attribute->object);
    throw ErrorReport(range, "Tried to set an attribute: ", attribute->name,
                      " on a non-class: ", object->type->annotation_str());
  } else {
    step.kind = Step::Kind::kAssign;
    if (where.as<TupleExpr>() != nullptr && value->type->kind() == TypeKind::TensorType)
      throw ErrorReport(range, "Provided value of type Tensor cannot be used as a tuple");
    step.target = target(where, value->type, declared);
    step.value = std::move(value);
  }
  out.push_back(std::move(step));
}

// On tensors and lists in place, else as an assignment.
void FunctionCompiler::augmented(const AugmentedStmt& node, std::vector<Step>& out) {
  OperationPtr left = expression(*node.target);
  OperationPtr right = expression(*node.value);
  static const std::pair<const char*, const char*> kInPlace[] = {
      {"+", "add_"}, {"-", "sub_"}, {"*", "mul_"}, {"/", "div_"}};
  const bool in_place = left->type->kind() == TypeKind::TensorType || left->type->kind() == TypeKind::ListType;
  OperationPtr value;
  for (const auto& [op, name] : kInPlace) {
    if (in_place && node.op == op && !(left->type->kind() == TypeKind::ListType && node.op != "+"))
      value = operator_call_of(std::string("aten::") + name, node.range, std::move(left), std::move(right));
  }
  if (value == nullptr) value = arithmetic(node.op, std::move(left), std::move(right), node.range);
  assign(*node.target, std::move(value), nullptr, out);
}

void FunctionCompiler::returning(const ReturnStmt& node, std::vector<Step>& out) {
  Step step(Step::Kind::kReturn, node.range);
  step.value = node.value == nullptr ? none(node.range) : expression(*node.value, declared_result_);
  const TypePtr type = step.value->type;
  if (declared_result_ != nullptr) {
    if (!type->isSubtypeOf(declared_result_)) {
      throw ErrorReport(node.range, "Return value was annotated as having type ", declared_result_->annotation_str(),
                        " but is actually of type ", type->annotation_str());
    }
  } else {
    const TypePtr both = result_ == nullptr ? type : unify_types(result_, type);
    if (both == nullptr) {
      throw ErrorReport(node.range, "Previous return statement returned a value of type ", result_->annotation_str(),
                        " but this return statement returns a value of type ", type->annotation_str());
    }
    result_ = both;
  }
  out.push_back(std::move(step));
}

bool FunctionCompiler::branching(const IfStmt& node, std::vector<Step>& out) {
  Condition test = condition(*node.condition);
  Step step(Step::Kind::kIf, node.range);
  if (test.known.has_value()) {
    // The types decide: the other branch need not even make sense.
    variables_.refine(*test.known ? test.if_true : test.if_false);
    return block(*test.known ? node.body : node.other, out);
  }
  step.value = std::move(test.value);
  const Environment before = variables_;
  const bool body_reached = nested(node.body, test.if_true, step.body);
  Environment after_body = std::move(variables_);
  variables_ = before;
  const bool other_reached = nested(node.other, test.if_false, step.other);
  if (body_reached && other_reached) {
    variables_ = Environment::joined(before, after_body, variables_, node.range);
  } else if (body_reached) {
    variables_ = std::move(after_body);
  }
  out.push_back(std::move(step));
  return body_reached || other_reached;
}

// A body that may be run any number of times: what it assigns has its declared type from the start.
void FunctionCompiler::check_body(const Block& body, Environment& before, std::vector<Step>& out) {
  ++loops_;
  block(body, out);
  --loops_;
  variables_.leave();
  variables_ = Environment::after_loop(before, variables_);
}

void FunctionCompiler::while_loop(const WhileStmt& node, std::vector<Step>& out) {
  std::vector<std::string> assigned;
  collect(node.body, assigned);
  variables_.forget(assigned);
  Condition test = condition(*node.condition);
  Step step(Step::Kind::kWhile, node.range);
  step.value = std::move(test.value);
  Environment before = variables_;
  variables_.enter();
  variables_.refine(test.if_true);
  check_body(node.body, before, step.body);
  out.push_back(std::move(step));
}

void FunctionCompiler::for_loop(const ForStmt& node, std::vector<Step>& out) {
  std::vector<std::string> assigned;
  collect(node.body, assigned);
  variables_.forget(assigned);
  Step step(Step::Kind::kFor, node.range);
  step.value = iterable(*node.iterable);
  Environment before = variables_;
  variables_.enter();
  step.target = target(*node.target, step.value->type->containedType(0), nullptr);
  check_body(node.body, before, step.body);
  out.push_back(std::move(step));
}

void FunctionCompiler::assertion(const AssertStmt& node, std::vector<Step>& out) {
  Condition test = condition(*node.condition);
  Step step(Step::Kind::kIf, node.range);
  Step raise(Step::Kind::kRaise, node.range);
  OperationPtr message =
      node.message == nullptr ? constant("", c10::StringType::get(), node.range) : expression(*node.message);
  if (message->type->kind() != TypeKind::StringType)
    message = operator_call_of("aten::str", node.range, std::move(message));
  raise.value = operator_call_of("aten::add", node.range,
                                 constant("AssertionError: ", c10::StringType::get(), node.range), std::move(message));
  step.other.push_back(std::move(raise));
  step.value = std::move(test.value);
  variables_.refine(test.if_true);
  out.push_back(std::move(step));
}

void FunctionCompiler::raising(const RaiseStmt& node, std::vector<Step>& out) {
  static const std::set<std::string> kExceptions = {
      "Exception",         "RuntimeError",   "ValueError",     "TypeError",           "IndexError",
      "KeyError",          "AssertionError", "AttributeError", "NotImplementedError", "ArithmeticError",
      "ZeroDivisionError", "OverflowError",  "StopIteration"};
  Step step(Step::Kind::kRaise, node.range);
  const auto* call = node.value->as<CallExpr>();
  const Expr& raised = call == nullptr ? *node.value : *call->function;
  const auto* name = raised.as<NameExpr>();
  if (name == nullptr || kExceptions.count(name->name) == 0)
    throw ErrorReport(raised.range, "undefined value ", std::string(raised.range.text()));
  if (call != nullptr) {
    step.text = "builtins." + name->name;
    if (call->arguments.size() > 1 || !call->keywords.empty())
      throw ErrorReport(call->range, "exceptions with more than one argument are not supported");
    if (!call->arguments.empty()) {
      step.value = expression(*call->arguments[0]);
      if (step.value->type->kind() != TypeKind::StringType)
        step.value = operator_call_of("aten::str", node.range, std::move(step.value));
    }
  }
  out.push_back(std::move(step));
}

void FunctionCompiler::deletion(const DeleteStmt& node, std::vector<Step>& out) {
  for (const ExprPtr& one : node.targets) {
    if (const auto* name = one->as<NameExpr>()) {
      if (variables_.find(name->name) == nullptr) throw ErrorReport(one->range, "undefined value ", name->name);
      variables_.erase(name->name);
      continue;
    }
    const auto* subscript = one->as<SubscriptExpr>();
    if (subscript == nullptr) throw ErrorReport(one->range, "only names and elements can be deleted");
    Step step(Step::Kind::kEvaluate, one->range);
    step.value =
        operator_call_of("aten::Delete", one->range, expression(*subscript->value), expression(*subscript->index));
    out.push_back(std::move(step));
  }
}

bool FunctionCompiler::with(const WithStmt& node, std::vector<Step>& out) {
  std::vector<Step>* into = &out;
  for (size_t i = 0; i < node.contexts.size(); ++i) {
    const SourceRange& range = node.contexts[i]->range;
    const auto* call = node.contexts[i]->as<CallExpr>();
    const std::string path = call == nullptr ? "" : dotted_path(*call->function);
    if (path != "torch.no_grad" && path != "torch.enable_grad" && path != "torch.set_grad_enabled")
      throw ErrorReport(
          range, "'with' is supported for torch.no_grad(), torch.enable_grad() and torch.set_grad_enabled(...) only");
    if (node.targets[i] != nullptr) throw ErrorReport(range, "'as' is not supported here");
    Step step(Step::Kind::kNoGrad, node.range);
    if (path == "torch.set_grad_enabled") {
      if (call->arguments.size() != 1) throw ErrorReport(range, path, " takes one argument");
      step.value = truth(expression(*call->arguments[0]));
    } else {
      step.value = constant(path == "torch.enable_grad", c10::BoolType::get(), range);
    }
    into->push_back(std::move(step));
    into = &into->back().body;
  }
  return block(node.body, *into);
}

}  // namespace torch::jit::detail
