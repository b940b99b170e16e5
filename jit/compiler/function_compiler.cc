#include "jit/compiler/function_compiler.h"

#include <algorithm>
#include <set>

#include "c10/util/exception.h"
#include "c10/value/class_type.h"
#include "graph/interpreter/interpreter.h"
#include "jit/compiler/annotations.h"

namespace torch::jit {

CompiledFunction compile_function(const DefStmt& def, Scope& scope, OperatorTable& operators,
                                  const c10::TypePtr& self) {
  return detail::FunctionCompiler(scope, operators).compile(def, self);
}
c10::IValue literal_value(const Expr& node, const c10::TypePtr& type, Scope& scope, OperatorTable& operators) {
  return detail::FunctionCompiler(scope, operators).literal(node, type);
}
c10::FunctionSchema schema_of(const DefStmt& def, Scope& scope, OperatorTable& operators, const c10::TypePtr& self) {
  return detail::FunctionCompiler(scope, operators).schema(def, self);
}

}  // namespace torch::jit

namespace torch::jit::detail {

void collect(const Expr& target, std::vector<std::string>& names) {
  if (const auto* name = target.as<NameExpr>()) names.push_back(name->name);
  if (const auto* tuple = target.as<TupleExpr>()) {
    for (const ExprPtr& item : tuple->items) collect(*item, names);
  }
}

namespace {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;
using graph::Node;
using graph::Operand;

// What no name of a program can be. After a statement that may return, break or continue, the first is whether it did,
// the second whether the loop around it ends by it, the third whether the function does, with the fourth.
constexpr const char* kLeft = "$left";
constexpr const char* kStop = "$stop";
constexpr const char* kReturned = "$returned";
constexpr const char* kResult = "$result";

bool is_special(const std::string& name) {
  return name[0] == '$';
}

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
void collect_assigned(const Block& block, std::vector<std::string>& names) {
  for (const StmtPtr& node : block) {
    if (const auto* assign = node->as<AssignStmt>()) {
      for (const ExprPtr& target : assign->targets) collect(*target, names);
    } else if (const auto* augmented = node->as<AugmentedStmt>()) {
      collect(*augmented->target, names);
    } else if (const auto* branch = node->as<IfStmt>()) {
      collect_assigned(branch->body, names);
      collect_assigned(branch->other, names);
    } else if (const auto* loop = node->as<WhileStmt>()) {
      collect_assigned(loop->body, names);
    } else if (const auto* each = node->as<ForStmt>()) {
      collect(*each->target, names);
      collect_assigned(each->body, names);
    } else if (const auto* with = node->as<WithStmt>()) {
      for (const ExprPtr& target : with->targets) {
        if (target != nullptr) collect(*target, names);
      }
      collect_assigned(with->body, names);
    }
  }
}

// Whether some statement, in nested blocks, too, returns.
bool returns(const Block& block) {
  return std::any_of(block.begin(), block.end(), [](const StmtPtr& node) {
    if (node->kind == Stmt::Kind::kReturn) return true;
    if (const auto* branch = node->as<IfStmt>()) return returns(branch->body) || returns(branch->other);
    if (const auto* loop = node->as<WhileStmt>()) return returns(loop->body);
    if (const auto* each = node->as<ForStmt>()) return returns(each->body);
    if (const auto* with = node->as<WithStmt>()) return returns(with->body);
    return false;
  });
}

// Whether its end is never reached, as far as the text says.
bool never_ends(const Block& block) {
  if (block.empty()) return false;
  const Stmt& last = *block.back();
  if (const auto* branch = last.as<IfStmt>()) return never_ends(branch->body) && never_ends(branch->other);
  return last.kind == Stmt::Kind::kReturn || last.kind == Stmt::Kind::kRaise || last.kind == Stmt::Kind::kBreak ||
         last.kind == Stmt::Kind::kContinue;
}

// The same value or the same plain constant.
bool same(const Operand& a, const Operand& b) {
  if (a.is_value() && b.is_value()) return a.value() == b.value();
  if (!a.is_constant() || !b.is_constant()) return false;
  const IValue &x = a.constant(), &y = b.constant();
  if (x.isBool() && y.isBool()) return x.toBool() == y.toBool();
  if (x.isInt() && y.isInt()) return x.toInt() == y.toInt();
  return x.isNone() && y.isNone();
}
bool made_inside(const Operand& operand, const Node* node) {
  if (!operand.is_value()) return false;
  for (const Node* owner = operand.value()->block()->owner(); owner != nullptr; owner = owner->block()->owner()) {
    if (owner == node) return true;
  }
  return false;
}

std::vector<Operand> without(c10::ArrayRef<Operand> all, size_t i) {
  std::vector<Operand> rest(all.begin(), all.end());
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
  return rest;
}
// Takes away the results of branches and loops that nothing reads.
bool drop_unused(Node* node) {
  bool changed = false;
  for (size_t i = node->result_count(); i-- > 0;) {
    if (!node->result(i)->uses().empty()) continue;
    if (node->kind() == Node::Kind::kLoop) {
      graph::Block& body = node->block(0);
      const graph::Value* carried = body.input(i + 1);
      const bool only_handed_on =
          std::all_of(carried->uses().begin(), carried->uses().end(),
                      [&](const graph::Use& use) { return use.node == body.return_node() && use.operand == i + 1; });
      if (!only_handed_on) continue;
      body.set_outputs(without(body.outputs(), i + 1));
      body.erase_input(i + 1);
      node->set_operand(2, Operand(without(node->operand(2).list(), i)));
    } else {
      for (size_t k = 0; k < node->block_count(); ++k) node->block(k).set_outputs(without(node->block(k).outputs(), i));
    }
    node->erase_result(i);
    changed = true;
  }
  return changed;
}
void drop_unused(graph::Graph& graph) {
  std::vector<Node*> nodes, tuples;
  graph.for_nodes([&](Node* node) {
    if (node->kind() == Node::Kind::kTuple) tuples.push_back(node);
    if (node->kind() == Node::Kind::kIf || node->kind() == Node::Kind::kLoop || node->kind() == Node::Kind::kScope)
      nodes.push_back(node);
  });
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = nodes.size(); i-- > 0;) changed = drop_unused(nodes[i]) || changed;
  }
  // Those that were made to be taken apart.
  for (size_t i = tuples.size(); i-- > 0;) {
    if (!tuples[i]->has_uses()) tuples[i]->erase();
  }
}

}  // namespace

// --- functions ---

CompiledFunction FunctionCompiler::compile(const DefStmt& def, const TypePtr& self) {
  graph_ = std::make_shared<graph::Graph>(def.name);
  block_ = &graph_->block();
  for (const char* name : {kLeft, kStop, kReturned})
    variables_.set(name, {IValue(false), c10::BoolType::get(), c10::BoolType::get(), 0, "", {}});
  std::vector<c10::Argument> arguments = parameters(def, self);
  if (def.return_type != nullptr) declared_result_ = type_of_annotation(*def.return_type, scope_);
  const Flow flow = block(def.body);
  if (flow.falls_through) {
    const TypePtr none = c10::NoneType::get();
    if (declared_result_ != nullptr && !none->isSubtypeOf(declared_result_)) {
      throw ErrorReport(def.range,
                        "Function was not annotated as having type None, but does not return along all paths");
    }
    result_ = result_ == nullptr ? none : unify_types(result_, none);
    if (result_ == nullptr) throw ErrorReport(def.range, "Function does not return a value along all paths");
  }
  const Variable* result = variables_.find(kResult);
  graph_->block().set_outputs({result == nullptr ? Operand(IValue()) : result->value});
  drop_unused(*graph_);
  TypePtr type = declared_result_ != nullptr ? declared_result_ : result_ != nullptr ? result_ : c10::NoneType::get();
  std::vector<c10::Argument> returns;
  returns.emplace_back("", std::move(type));
  return {c10::FunctionSchema(def.name, "", std::move(arguments), std::move(returns)), graph_, std::move(functions_),
          def.body_range, std::move(constants_)};
}

c10::FunctionSchema FunctionCompiler::schema(const DefStmt& def, const TypePtr& self) {
  graph_ = std::make_shared<graph::Graph>(def.name);
  std::vector<c10::Argument> arguments = parameters(def, self);
  std::vector<c10::Argument> returns;
  returns.emplace_back("", type_of_annotation(*def.return_type, scope_));
  return c10::FunctionSchema(def.name, "", std::move(arguments), std::move(returns));
}

std::vector<c10::Argument> FunctionCompiler::parameters(const DefStmt& def, const TypePtr& self) {
  std::vector<c10::Argument> arguments;
  bool defaults = false;
  for (const Parameter& one : def.parameters) {
    TypePtr type = c10::TensorType::get();
    if (self != nullptr && arguments.empty()) {
      type = self;
    } else if (one.type != nullptr) {
      type = type_of_annotation(*one.type, scope_);
    }
    std::optional<IValue> value;
    if (one.default_value != nullptr) value = default_value(*one.default_value, type);
    if (defaults && !value.has_value() && !one.keyword_only)
      throw ErrorReport(one.range, "a parameter without a default follows one that has one");
    defaults = value.has_value();
    if (variables_.find(one.name) != nullptr) throw ErrorReport(one.range, "duplicate parameter '", one.name, "'");
    variables_.set(one.name, {graph_->block().add_input(type, one.name), type, type, 0, "", {}});
    arguments.emplace_back(one.name, std::move(type), std::nullopt, std::move(value), one.keyword_only);
  }
  if (self != nullptr && arguments.empty()) throw ErrorReport(def.range, "methods take 'self' as their first argument");
  return arguments;
}

// Defaults are values once and for all: they are computed when the function is defined.
IValue FunctionCompiler::default_value(const Expr& node, const TypePtr& type) {
  if (!is_literal(node)) throw ErrorReport(node.range, "a default value that is computed is not supported");
  const IValue value = FunctionCompiler(scope_, operators_).literal(node, type);
  // Schemas cannot write them.
  if (value.isGenericDict() || value.isComplexDouble())
    throw ErrorReport(node.range, "a default value of type ", type->annotation_str(), " is not supported");
  return value;
}

IValue FunctionCompiler::literal(const Expr& node, const TypePtr& type) {
  if (!is_literal(node)) throw ErrorReport(node.range, "expected a literal");
  graph_ = std::make_shared<graph::Graph>("literal");
  block_ = &graph_->block();
  const Typed value = expression(node, type);
  if (type != nullptr && !value.type->isSubtypeOf(type)) {
    throw ErrorReport(node.range, "Expected a default value of type ", type->annotation_str(), " but it is of type ",
                      value.type->annotation_str());
  }
  block_->set_outputs({value.value});
  c10::Stack stack;
  const graph::Interpreter run(*graph_);
  run(stack);
  return stack.at(0);
}

// --- made of parts ---

Node* FunctionCompiler::append(std::unique_ptr<Node> node, const SourceRange& range) {
  node->set_source(std::make_shared<SourcePlace>(range));
  return block_->append(std::move(node));
}
Typed FunctionCompiler::result(std::unique_ptr<Node> node, TypePtr type, const SourceRange& range) {
  if (node->result_count() == 0) {
    node->add_result(type);
  } else {
    node->result()->set_type(type);
  }
  return {append(std::move(node), range)->result(), std::move(type), range};
}

TypePtr FunctionCompiler::dict_type(const TypePtr& key, const TypePtr& value, const SourceRange& range) {
  try {
    return c10::DictType::create(key, value);
  } catch (const c10::Error& error) {
    throw ErrorReport(range, error.what_without_backtrace());
  }
}

std::vector<Typed> FunctionCompiler::parts(const Typed& whole, size_t count) {
  const bool is_list = whole.type->kind() == TypeKind::ListType;
  std::vector<Typed> all;
  const auto type = [&](size_t i) { return whole.type->containedType(is_list ? 0 : i); };
  // A tuple that was made to be taken apart.
  Node* made = whole.value.is_value() ? whole.value.value()->node() : nullptr;
  if (made != nullptr && made->kind() == Node::Kind::kTuple && made->operands().size() == count) {
    for (size_t i = 0; i < count; ++i) all.push_back({made->operand(i), type(i), whole.range});
    return all;
  }
  std::unique_ptr<Node> node = graph_->make(Node::Kind::kUnpack, {whole.value});
  for (size_t i = 0; i < count; ++i) node->add_result(type(i));
  const Node* unpacked = append(std::move(node), whole.range);
  for (size_t i = 0; i < count; ++i) all.push_back({unpacked->result(i), type(i), whole.range});
  return all;
}

// --- blocks and what leaves them ---

void FunctionCompiler::leave(bool loop, bool function) {
  variables_.find(kLeft)->value = IValue(true);
  if (loop || function) variables_.find(kStop)->value = IValue(true);
  if (function) variables_.find(kReturned)->value = IValue(true);
}

Flow FunctionCompiler::block(const Block& statements, size_t first) {
  Flow flow;
  for (size_t at = first; at < statements.size() && flow.falls_through;) {
    const Flow one = statement(statements, at);
    flow = {one.falls_through, flow.leaves || one.leaves};
    if (one.leaves) return followed(flow, statements, at);
  }
  // What follows a return is never run.
  return flow;
}

Flow FunctionCompiler::followed(const Flow& before, const Block& statements, size_t at) {
  if (!before.falls_through || at == statements.size()) return before;
  const SourceRange& range = statements[at]->range;
  if (++levels_ > kMostLevels)
    throw ErrorReport(range, "more than ", kMostLevels, " statements that return behind each other");
  Flow flow;
  if (!before.leaves) {
    flow = block(statements, at);
  } else {
    Node* node = append(graph_->make(Node::Kind::kIf, {variables_.find(kLeft)->value}), range);
    const Environment outer = variables_;
    Branch left{&node->add_block(), variables_, {false, true}};
    Branch rest{&node->add_block(), {}, {}};
    for (const char* name : {kLeft, kStop, kReturned}) variables_.find(name)->value = IValue(false);
    rest.flow = inside(*rest.block, [&] { return block(statements, at); });
    rest.variables = std::move(variables_);
    flow = {rest.flow.falls_through, true};
    join(node, outer, {std::move(left), std::move(rest)}, range);
  }
  --levels_;
  return flow;
}

Flow FunctionCompiler::nested(const Block& statements, const Refinements& known) {
  variables_.enter();
  variables_.refine(known);
  const Flow flow = block(statements);
  variables_.leave();
  return flow;
}

void FunctionCompiler::join(Node* node, const Environment& before, std::vector<Branch> branches,
                            const SourceRange& range) {
  std::set<std::string> names;
  for (const Branch& branch : branches) {
    if (!branch.flow.falls_through && !branch.flow.leaves) continue;
    for (const auto& [name, variable] : branch.variables.all()) names.insert(name);
  }
  Environment result = before.emptied();
  std::vector<std::vector<Operand>> outputs(branches.size());
  for (const std::string& name : names) {
    std::optional<Variable> joined;
    // Where all branches leave, what they leave behind is joined. A name that is not in a branch which leaves, or is
    // what it cannot be otherwise, is not read behind it.
    const bool any_falls =
        std::any_of(branches.begin(), branches.end(), [](const Branch& b) { return b.flow.falls_through; });
    for (size_t i = 0; i < branches.size(); ++i) {
      const Flow& flow = branches[i].flow;
      if (any_falls && !is_special(name) ? !flow.falls_through : !flow.falls_through && !flow.leaves) continue;
      const Variable* one = branches[i].variables.find(name);
      if (one == nullptr) {
        if (is_special(name) || !any_falls) continue;
        for (const Branch& other : branches) {
          if (const Variable* there = other.variables.find(name); !joined.has_value() && there != nullptr)
            joined = *there;
        }
        if (joined->undefined.empty()) {
          joined->undefined = c10::str(name, " is not defined in the ", i == 0 ? "true" : "false", " branch");
          joined->where = range;
        }
        break;
      }
      if (!joined.has_value()) {
        joined = *one;
      } else if (joined->undefined.empty() && !one->undefined.empty()) {
        joined = *one;
      } else if (joined->undefined.empty()) {
        TypePtr type = unify_types(joined->type, one->type);
        if (type == nullptr && any_falls && !is_special(name)) {
          joined->undefined =
              c10::str("Type mismatch: ", name, " is set to type ", joined->type->annotation_str(),
                       " in the true branch and type ", one->type->annotation_str(), " in the false branch");
          joined->where = range;
        }
        if (type == nullptr) type = c10::AnyType::get();
        const Variable* outer = before.find(name);
        joined->type = type;
        if (outer == nullptr || !outer->undefined.empty() || !joined->undefined.empty()) joined->declared = type;
      }
    }
    if (!joined.has_value()) continue;
    if (joined->undefined.empty()) {
      std::vector<Operand> values;
      std::optional<Operand> only;  // what all that get here have
      bool one_value = true;
      for (const Branch& branch : branches) {
        const Variable* one = branch.variables.find(name);
        const bool dead = !branch.flow.falls_through && !branch.flow.leaves;
        values.push_back(dead || one == nullptr || !one->undefined.empty() ? Operand(IValue()) : one->value);
        if (dead) continue;
        if (!only.has_value()) only = values.back();
        one_value = one_value && same(*only, values.back()) && !made_inside(values.back(), node);
      }
      if (one_value) {
        joined->value = *only;
      } else {
        joined->value = node->add_result(joined->type, is_special(name) ? "" : name);
        for (size_t i = 0; i < branches.size(); ++i) outputs[i].push_back(values[i]);
      }
    }
    result.set(name, std::move(*joined));
  }
  for (size_t i = 0; i < branches.size(); ++i) branches[i].block->set_outputs(std::move(outputs[i]));
  variables_ = std::move(result);
}

Flow FunctionCompiler::loop(const Loop& parts, const SourceRange& range) {
  std::vector<std::string> carried;
  const auto add = [&](const std::string& name) {
    const Variable* variable = variables_.find(name);
    if (variable != nullptr && variable->undefined.empty() &&
        std::find(carried.begin(), carried.end(), name) == carried.end())
      carried.push_back(name);
  };
  for (const std::string& name : parts.assigned) add(name);
  if (parts.returns) {
    if (variables_.find(kResult) == nullptr)
      variables_.set(kResult, {IValue(), c10::AnyType::get(), c10::AnyType::get(), 0, "", {}});
    add(kReturned);
    add(kResult);
  }
  std::vector<Operand> initial;
  for (const std::string& name : carried) initial.push_back(variables_.find(name)->value);
  Node* node =
      append(graph_->make(Node::Kind::kLoop, {parts.turns, parts.condition, Operand(std::move(initial))}), range);
  graph::Block& body = node->add_block();
  const Typed turn{body.add_input(c10::IntType::get()), c10::IntType::get(), range};
  const Environment before = variables_;
  variables_.enter();
  for (const std::string& name : carried) {
    Variable* variable = variables_.find(name);
    variable->value = body.add_input(variable->declared, is_special(name) ? "" : name);
  }
  for (const char* name : {kLeft, kStop, kReturned}) variables_.find(name)->value = IValue(false);
  ++loops_;
  inside(body, [&] {
    const Flow flow = parts.body(turn);
    const Typed stop = {variables_.find(kStop)->value, c10::BoolType::get(), range};
    const auto next = [&]() -> Typed {
      return {parts.goes_on ? parts.goes_on() : Operand(IValue(true)), c10::BoolType::get(), range};
    };
    Typed goes_on = constant(false, c10::BoolType::get(), range);
    if (!stop.is_constant()) {
      goes_on = either(
          stop, [&] { return goes_on; }, next, [](const TypePtr& a, const TypePtr&) { return a; }, range);
    } else if (!stop.value.constant().toBool() && (flow.falls_through || flow.leaves)) {
      goes_on = next();
    }
    std::vector<Operand> outputs{goes_on.value};
    for (const std::string& name : carried) {
      const Variable* variable = variables_.find(name);
      outputs.push_back(variable == nullptr ? Operand(IValue()) : variable->value);
    }
    body.set_outputs(std::move(outputs));
  });
  --loops_;
  const Environment last = std::exchange(variables_, before);
  for (const std::string& name : carried) {
    Variable* variable = variables_.find(name);
    variable->value = node->add_result(variable->declared, is_special(name) ? "" : name);
    variable->type = variable->declared;
    if (const Variable* there = last.find(name); there == nullptr || !there->undefined.empty()) {
      variable->undefined = c10::str(name, " is not defined after the loop");
      variable->where = range;
    }
  }
  if (parts.returns) {
    for (const char* name : {kLeft, kStop}) variables_.find(name)->value = variables_.find(kReturned)->value;
  }
  return {true, parts.returns};
}

// --- statements ---

Flow FunctionCompiler::statement(const Block& statements, size_t& at) {
  const Stmt& node = *statements[at++];
  switch (node.kind) {
    case Stmt::Kind::kAssign:
      assignment(*node.as<AssignStmt>());
      return {};
    case Stmt::Kind::kAugmented:
      augmented(*node.as<AugmentedStmt>());
      return {};
    case Stmt::Kind::kExpression:
      // A text alone is documentation.
      if (node.as<ExpressionStmt>()->value->as<StringExpr>() == nullptr) expression(*node.as<ExpressionStmt>()->value);
      return {};
    case Stmt::Kind::kReturn:
      returning(*node.as<ReturnStmt>());
      return {false, true};
    case Stmt::Kind::kIf:
      return branching(*node.as<IfStmt>(), statements, at);
    case Stmt::Kind::kWhile:
      return while_loop(*node.as<WhileStmt>());
    case Stmt::Kind::kFor:
      return for_loop(*node.as<ForStmt>());
    case Stmt::Kind::kAssert:
      assertion(*node.as<AssertStmt>());
      return {};
    case Stmt::Kind::kRaise:
      raising(*node.as<RaiseStmt>());
      return {false, false};
    case Stmt::Kind::kDelete:
      deletion(*node.as<DeleteStmt>());
      return {};
    case Stmt::Kind::kWith:
      return with(*node.as<WithStmt>());
    case Stmt::Kind::kPass:
      return {};
    case Stmt::Kind::kBreak:
    case Stmt::Kind::kContinue: {
      const bool is_break = node.kind == Stmt::Kind::kBreak;
      if (loops_ == 0)
        throw ErrorReport(node.range, "SyntaxError: '", is_break ? "break" : "continue", "' outside loop");
      leave(is_break, false);
      return {false, true};
    }
    case Stmt::Kind::kDef: {
      // Archives have them for what is forked.
      const auto& def = *node.as<DefStmt>();
      if (def.name.rfind("__forked_function", 0) != 0 || !def.parameters.empty())
        throw ErrorReport(node.range, "functions inside functions are not supported");
      local_[def.name] = &def;
      return {};
    }
    case Stmt::Kind::kClass:
      throw ErrorReport(node.range, "classes inside functions are not supported");
  }
  return {};
}

void FunctionCompiler::define(const std::string& name, const Typed& value, const TypePtr& declared) {
  function_names_.erase(name);
  Variable* before = variables_.find(name);
  if (before != nullptr && before->undefined.empty() && before->depth < variables_.depth()) {
    if (!value.type->isSubtypeOf(before->declared)) {
      throw ErrorReport(value.range, "Variable '", name, "' previously had type ", before->declared->annotation_str(),
                        " but is now being assigned to a value of type ", value.type->annotation_str(), "\n");
    }
    before->value = value.value;
    before->type = declared != nullptr ? before->declared : value.type;
    return;
  }
  const TypePtr known = declared != nullptr ? declared : value.type;
  variables_.set(name, {value.value, known, known, variables_.depth(), "", {}});
}

void FunctionCompiler::assignment(const AssignStmt& node) {
  TypePtr declared;
  if (node.type != nullptr) declared = type_of_annotation(*node.type, scope_);
  if (node.value == nullptr) throw ErrorReport(node.range, "a declaration without a value is not supported");
  // A name for a function: _0 = __torch__.a.f
  if (const auto* name = node.targets[0]->as<NameExpr>(); name != nullptr && node.targets.size() == 1) {
    const std::string path = dotted_path(*node.value);
    const bool is_variable = variables_.find(path.substr(0, path.find('.'))) != nullptr;
    if (path.find('.') != std::string::npos && !is_variable && scope_.function(path, node.value->range) != nullptr) {
      function_names_[name->name] = path;
      variables_.erase(name->name);
      return;
    }
  }
  const Typed value = expression(*node.value, declared);
  if (declared != nullptr && !value.type->isSubtypeOf(declared)) {
    throw ErrorReport(node.targets[0]->range, "Variable '", std::string(node.targets[0]->range.text()),
                      "' is annotated with type ", declared->annotation_str(),
                      " but is being assigned to a value of type ", value.type->annotation_str());
  }
  for (const ExprPtr& target : node.targets) assign(*target, value, declared);
}

void FunctionCompiler::unpack(const TupleExpr& names, const Typed& value) {
  const size_t count = names.items.size();
  if (value.type->kind() == TypeKind::TupleType) {
    if (value.type->containedTypeSize() != count)
      throw ErrorReport(names.range, "need ", count, " values to unpack but found only ",
                        value.type->containedTypeSize());
  } else if (value.type->kind() != TypeKind::ListType) {
    throw ErrorReport(names.range, "Provided value of type ", value.type->annotation_str(),
                      " cannot be used as a tuple");
  }
  std::vector<Typed> each = parts({value.value, value.type, names.range}, count);
  for (size_t i = 0; i < count; ++i) assign(*names.items[i], each[i], nullptr);
}

void FunctionCompiler::assign(const Expr& where, const Typed& value, const TypePtr& declared) {
  if (const auto* name = where.as<NameExpr>())
    return define(name->name, {value.value, value.type, where.range}, declared);
  if (const auto* names = where.as<TupleExpr>()) return unpack(*names, value);
  if (const auto* subscript = where.as<SubscriptExpr>()) return assign_element(*subscript, value);
  if (const auto* attribute = where.as<AttributeExpr>()) return assign_attribute(*attribute, value);
  if (where.as<StarredExpr>() != nullptr)
    throw ErrorReport(where.range, "starred names in assignments are not supported");
  throw ErrorReport(where.range, "only names and tuples of names can be assigned here");
}

void FunctionCompiler::assign_element(const SubscriptExpr& target, const Typed& value) {
  const Typed container = expression(*target.value);
  if (container.type->kind() == TypeKind::TensorType) {
    operator_call("aten::_set_item", {container, tensor_index(*target.index), value}, target.range);
    return;
  }
  if (target.index->as<SliceExpr>() != nullptr) throw ErrorReport(target.range, "slices of lists cannot be assigned");
  operator_call("aten::_set_item", {container, expression(*target.index), value}, target.range);
}

void FunctionCompiler::assign_attribute(const AttributeExpr& target, const Typed& value) {
  const Typed object = expression(*target.object);
  const auto* type = object.type->castRaw<c10::ClassType>();
  if (type == nullptr) {
    throw ErrorReport(target.range, "Tried to set an attribute: ", target.name,
                      " on a non-class: ", object.type->annotation_str());
  }
  const TypePtr wanted = type->findAttribute(target.name);
  if (wanted == nullptr) {
    throw ErrorReport(target.range, "Tried to set nonexistent attribute: ", target.name,
                      ". Did you forget to initialize it in __init__()?");
  }
  if (!value.type->isSubtypeOf(wanted)) {
    throw ErrorReport(target.range, "Wrong type for attribute assignment. Expected ", wanted->annotation_str(),
                      " but got ", value.type->annotation_str());
  }
  std::unique_ptr<Node> node = graph_->make(Node::Kind::kSetAttr, {object.value, value.value});
  node->set_name(target.name);
  append(std::move(node), target.range);
}

// On tensors and lists in place, else as an assignment.
void FunctionCompiler::augmented(const AugmentedStmt& node) {
  const Typed left = expression(*node.target);
  const Typed right = expression(*node.value);
  static const std::pair<const char*, const char*> kInPlace[] = {
      {"+", "add_"}, {"-", "sub_"}, {"*", "mul_"}, {"/", "div_"}};
  const bool in_place = left.type->kind() == TypeKind::TensorType || left.type->kind() == TypeKind::ListType;
  std::optional<Typed> value;
  for (const auto& [op, name] : kInPlace) {
    if (in_place && node.op == op && !(left.type->kind() == TypeKind::ListType && node.op != "+"))
      value = operator_call(std::string("aten::") + name, {left, right}, node.range);
  }
  if (!value.has_value()) value = arithmetic(node.op, left, right, node.range);
  assign(*node.target, *value, nullptr);
}

void FunctionCompiler::returning(const ReturnStmt& node) {
  const Typed value = node.value == nullptr ? none(node.range) : expression(*node.value, declared_result_);
  if (declared_result_ != nullptr) {
    if (!value.type->isSubtypeOf(declared_result_)) {
      throw ErrorReport(node.range, "Return value was annotated as having type ", declared_result_->annotation_str(),
                        " but is actually of type ", value.type->annotation_str());
    }
  } else {
    const TypePtr both = result_ == nullptr ? value.type : unify_types(result_, value.type);
    if (both == nullptr) {
      throw ErrorReport(node.range, "Previous return statement returned a value of type ", result_->annotation_str(),
                        " but this return statement returns a value of type ", value.type->annotation_str());
    }
    result_ = both;
  }
  variables_.set(kResult, {value.value, value.type, c10::AnyType::get(), 0, "", {}});
  leave(false, true);
}

Flow FunctionCompiler::branching(const IfStmt& node, const Block& statements, size_t& at) {
  Condition test = condition(*node.condition);
  if (test.known.has_value()) {
    // The types decide: the other branch need not even make sense.
    variables_.refine(*test.known ? test.if_true : test.if_false);
    return block(*test.known ? node.body : node.other);
  }
  // Where one branch never reaches its end, what follows belongs to the other.
  const bool body_ends = !never_ends(node.body), other_ends = !never_ends(node.other);
  const size_t rest = at;
  if (body_ends != other_ends) at = statements.size();
  Node* made = append(graph_->make(Node::Kind::kIf, {test.value.value}), node.range);
  const Environment before = variables_;
  const auto branch = [&](const Block& own, const Refinements& known, bool with_rest) -> Branch {
    variables_ = before;
    graph::Block& into = made->add_block();
    const Flow flow = inside(into, [&] {
      const Flow first = nested(own, known);
      return with_rest ? followed(first, statements, rest) : first;
    });
    return {&into, std::move(variables_), flow};
  };
  Branch body = branch(node.body, test.if_true, body_ends && !other_ends);
  Branch other = branch(node.other, test.if_false, other_ends && !body_ends);
  const Flow flow{body.flow.falls_through || other.flow.falls_through, body.flow.leaves || other.flow.leaves};
  join(made, before, {std::move(body), std::move(other)}, node.range);
  return flow;
}

Flow FunctionCompiler::while_loop(const WhileStmt& node) {
  Loop parts;
  collect_assigned(node.body, parts.assigned);
  parts.returns = returns(node.body);
  variables_.forget(parts.assigned);
  const Condition test = condition(*node.condition);
  parts.condition = test.value.value;
  parts.body = [&](const Typed&) {
    variables_.refine(test.if_true);
    return block(node.body);
  };
  parts.goes_on = [&] {
    variables_.forget(parts.assigned);
    return condition(*node.condition).value.value;
  };
  return loop(parts, node.range);
}

Flow FunctionCompiler::for_loop(const ForStmt& node) {
  std::vector<std::string> assigned;
  collect(*node.target, assigned);
  collect_assigned(node.body, assigned);
  return loop_over(
      *node.target, *node.iterable, std::move(assigned), returns(node.body), [&] { return block(node.body); },
      node.range);
}

Flow FunctionCompiler::loop_over(const Expr& target, const Expr& over, std::vector<std::string> assigned, bool returns,
                                 const std::function<Flow()>& body, const SourceRange& range,
                                 const std::vector<std::string>& own) {
  variables_.forget(assigned);
  const auto forget_own = [&] {
    for (const std::string& one : own) variables_.erase(one);
  };
  Loop parts;
  parts.assigned = std::move(assigned);
  parts.returns = returns;
  const auto* counted = over.as<CallExpr>();
  const auto* name = counted == nullptr ? nullptr : counted->function->as<NameExpr>();
  if (name != nullptr && name->name == "range" && variables_.find("range") == nullptr) {
    const std::vector<Typed> bounds = range_bounds(*counted);
    const auto is = [](const Typed& bound, int64_t number) {
      return bound.is_constant() && bound.value.constant().isInt() && bound.value.constant().toInt() == number;
    };
    const bool plain = is(bounds[0], 0) && is(bounds[2], 1);
    parts.turns = plain ? bounds[1].value : operator_call("aten::__range_length", bounds, over.range).value;
    forget_own();
    parts.body = [&, bounds, plain](const Typed& turn) {
      assign(target, plain ? turn : operator_call("aten::__derive_index", {turn, bounds[0], bounds[2]}, over.range),
             nullptr);
      return body();
    };
    return loop(parts, range);
  }
  const Typed list = iterable(expression(over));
  parts.turns = operator_call("aten::len", {list}, over.range).value;
  forget_own();
  parts.body = [&](const Typed& turn) {
    assign(target, operator_call("aten::__getitem__", {list, turn}, over.range), nullptr);
    return body();
  };
  return loop(parts, range);
}

void FunctionCompiler::assertion(const AssertStmt& node) {
  const Condition test = condition(*node.condition);
  Node* made = append(graph_->make(Node::Kind::kIf, {test.value.value}), node.range);
  made->add_block();
  inside(made->add_block(), [&] {
    Typed message =
        node.message == nullptr ? constant("", c10::StringType::get(), node.range) : expression(*node.message);
    if (message.type->kind() != TypeKind::StringType) message = operator_call("aten::str", {message}, node.range);
    const Typed prefix = constant("AssertionError: ", c10::StringType::get(), node.range);
    raise(operator_call("aten::add", {prefix, message}, node.range), "", node.range);
  });
  variables_.refine(test.if_true);
}

void FunctionCompiler::raise(const Typed& message, std::string exception_class, const SourceRange& range) {
  std::unique_ptr<Node> node = graph_->make(Node::Kind::kRaise, {message.value});
  node->set_name(std::move(exception_class));
  append(std::move(node), range);
}

void FunctionCompiler::raising(const RaiseStmt& node) {
  static const std::set<std::string> kExceptions = {
      "Exception",         "RuntimeError",   "ValueError",     "TypeError",           "IndexError",
      "KeyError",          "AssertionError", "AttributeError", "NotImplementedError", "ArithmeticError",
      "ZeroDivisionError", "OverflowError",  "StopIteration"};
  const auto* call = node.value->as<CallExpr>();
  const Expr& raised = call == nullptr ? *node.value : *call->function;
  const auto* name = raised.as<NameExpr>();
  if (name == nullptr || kExceptions.count(name->name) == 0)
    throw ErrorReport(raised.range, "undefined value ", std::string(raised.range.text()));
  Typed message = constant("", c10::StringType::get(), node.range);
  if (call != nullptr) {
    if (call->arguments.size() > 1 || !call->keywords.empty())
      throw ErrorReport(call->range, "exceptions with more than one argument are not supported");
    if (!call->arguments.empty()) {
      message = expression(*call->arguments[0]);
      if (message.type->kind() != TypeKind::StringType) message = operator_call("aten::str", {message}, node.range);
    }
  }
  raise(message, call == nullptr ? "" : "builtins." + name->name, node.range);
}

void FunctionCompiler::deletion(const DeleteStmt& node) {
  for (const ExprPtr& one : node.targets) {
    if (const auto* name = one->as<NameExpr>()) {
      if (variables_.find(name->name) == nullptr) throw ErrorReport(one->range, "undefined value ", name->name);
      variables_.erase(name->name);
      continue;
    }
    const auto* subscript = one->as<SubscriptExpr>();
    if (subscript == nullptr) throw ErrorReport(one->range, "only names and elements can be deleted");
    operator_call("aten::Delete", {expression(*subscript->value), expression(*subscript->index)}, one->range);
  }
}

Flow FunctionCompiler::with(const WithStmt& node, size_t i) {
  if (i == node.contexts.size()) return block(node.body);
  const Expr& context = *node.contexts[i];
  const SourceRange& range = context.range;
  const auto* call = context.as<CallExpr>();
  const std::string path = call == nullptr ? "" : dotted_path(*call->function);
  if (path == "torch.no_grad" || path == "torch.enable_grad" || path == "torch.set_grad_enabled") {
    if (node.targets[i] != nullptr) throw ErrorReport(range, "'as' is not supported here");
    Typed mode = constant(path == "torch.enable_grad", c10::BoolType::get(), range);
    if (path == "torch.set_grad_enabled") {
      if (call->arguments.size() != 1) throw ErrorReport(range, path, " takes one argument");
      mode = truth(expression(*call->arguments[0]));
    }
    std::unique_ptr<Node> scope = graph_->make(Node::Kind::kScope, {mode.value});
    scope->set_name("set_grad_enabled");
    Node* made = append(std::move(scope), node.range);
    const Environment before = variables_;
    Branch branch{&made->add_block(), {}, {}};
    branch.flow = inside(*branch.block, [&] { return with(node, i + 1); });
    branch.variables = std::move(variables_);
    const Flow flow = branch.flow;
    join(made, before, {std::move(branch)}, node.range);
    return flow;
  }
  const Typed object = expression(context);
  const auto* type = object.type->castRaw<c10::ClassType>();
  Function* enter = type == nullptr ? nullptr : type->findMethod("__enter__");
  Function* exit = type == nullptr ? nullptr : type->findMethod("__exit__");
  if (enter == nullptr || exit == nullptr) {
    throw ErrorReport(range,
                      "'with' is supported for torch.no_grad(), torch.enable_grad(), torch.set_grad_enabled(...) "
                      "and objects with __enter__ and __exit__ only");
  }
  const Typed entered = invoke(*enter, {object.value}, enter->getSchema().returns().at(0).type(), range);
  if (node.targets[i] != nullptr) assign(*node.targets[i], entered, nullptr);
  const Flow flow = with(node, i + 1);
  // Its exception and where that was raised: none.
  std::vector<Operand> operands(exit->getSchema().arguments().size(), Operand(IValue()));
  operands.at(0) = object.value;
  if (flow.falls_through || flow.leaves) invoke(*exit, std::move(operands), c10::AnyType::get(), range);
  return flow;
}

}  // namespace torch::jit::detail
