// The compiler of one function.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jit/compiler/compiler.h"
#include "jit/compiler/environment.h"

namespace torch::jit::detail {

/// A condition: what computes it, what it says of types, and its value where the types alone decide it.
struct Condition {
  OperationPtr value;
  Refinements if_true;
  Refinements if_false;
  std::optional<bool> known;
};

struct NamedArgument {
  std::string name;
  OperationPtr value;
};

class FunctionCompiler {
 public:
  FunctionCompiler(FunctionScope& scope, OperatorTable& operators) : scope_(scope), operators_(operators) {}
  CompiledFunction compile(const DefStmt& def);

 private:
  // --- function_compiler.cc: statements ---
  std::vector<c10::Argument> parameters(const DefStmt& def);
  c10::IValue default_value(const Expr& node, const c10::TypePtr& type);
  // Compiles into `out`; whether its end is reached.
  bool block(const Block& statements, std::vector<Step>& out);
  bool nested(const Block& statements, const Refinements& known, std::vector<Step>& out);
  bool statement(const Stmt& node, std::vector<Step>& out);
  void assignment(const AssignStmt& node, std::vector<Step>& out);
  void assign(const Expr& target, OperationPtr value, const c10::TypePtr& declared, std::vector<Step>& out);
  // The slots of what a tuple of names is assigned; null parts are of no name.
  Target target(const Expr& node, const c10::TypePtr& type, const c10::TypePtr& declared);
  void augmented(const AugmentedStmt& node, std::vector<Step>& out);
  void returning(const ReturnStmt& node, std::vector<Step>& out);
  bool branching(const IfStmt& node, std::vector<Step>& out);
  void while_loop(const WhileStmt& node, std::vector<Step>& out);
  void for_loop(const ForStmt& node, std::vector<Step>& out);
  void assertion(const AssertStmt& node, std::vector<Step>& out);
  void raising(const RaiseStmt& node, std::vector<Step>& out);
  void deletion(const DeleteStmt& node, std::vector<Step>& out);
  bool with(const WithStmt& node, std::vector<Step>& out);
  void check_body(const Block& body, Environment& before, std::vector<Step>& out);
  size_t new_slot() { return program_->slots++; }
  size_t define(const std::string& name, const c10::TypePtr& type, const c10::TypePtr& declared,
                const SourceRange& range);

  // --- expressions.cc ---
  OperationPtr expression(const Expr& node, const c10::TypePtr& wanted = nullptr);
  OperationPtr name(const NameExpr& node);
  OperationPtr list(const ListExpr& node, const c10::TypePtr& wanted);
  OperationPtr dict(const DictExpr& node, const c10::TypePtr& wanted);
  OperationPtr tuple(const TupleExpr& node, const c10::TypePtr& wanted);
  OperationPtr attribute(const AttributeExpr& node);
  OperationPtr subscript(const SubscriptExpr& node);
  OperationPtr tuple_part(OperationPtr tuple, const SubscriptExpr& node);
  void tensor_indices(const Expr& index, std::vector<OperationPtr>& out);
  OperationPtr unary(const UnaryExpr& node);
  OperationPtr binary(const BinaryExpr& node);
  OperationPtr chain(const ChainExpr& node);
  OperationPtr arithmetic(const std::string& op, OperationPtr left, OperationPtr right, const SourceRange& range);
  OperationPtr conditional(const ConditionalExpr& node, const c10::TypePtr& wanted);
  OperationPtr comprehension(const ComprehensionExpr& node, const c10::TypePtr& wanted);
  OperationPtr iterable(const Expr& node);
  OperationPtr iterable(OperationPtr value);
  Condition condition(const Expr& node);
  std::optional<Condition> test_of_none(const BinaryExpr& node);
  Condition test_of_type(const CallExpr& node);
  OperationPtr truth(OperationPtr value);

  // --- calls.cc ---
  OperationPtr call(const CallExpr& node, const c10::TypePtr& wanted);
  OperationPtr call_builtin(const std::string& name, const CallExpr& node, bool* known);
  OperationPtr call_method(const AttributeExpr& method, const CallExpr& node);
  OperationPtr annotated(const CallExpr& node);
  OperationPtr range_call(const CallExpr& node);
  OperationPtr zip_call(const CallExpr& node);
  OperationPtr enumerate_call(const CallExpr& node);
  OperationPtr call_function(const CompiledFunction& function, const CallExpr& node);
  void arguments(const CallExpr& node, std::vector<OperationPtr>& positional, std::vector<NamedArgument>& named);
  // A call of the operator by the overload that takes them.
  OperationPtr operator_call(const std::string& name, std::vector<OperationPtr> positional,
                             std::vector<NamedArgument> named, const SourceRange& range);
  OperationPtr bound_call(const c10::FunctionSchema& schema, SchemaMatch match, std::vector<OperationPtr> positional,
                          std::vector<NamedArgument> named, const SourceRange& range);
  template <class... T>
  OperationPtr operator_call_of(const std::string& name, const SourceRange& range, T... inputs) {
    std::vector<OperationPtr> all;
    (all.push_back(std::move(inputs)), ...);
    return operator_call(name, std::move(all), {}, range);
  }

  // --- made of parts ---
  static OperationPtr make(Operation::Kind kind, const SourceRange& range, c10::TypePtr type) {
    return std::make_unique<Operation>(kind, range, std::move(type));
  }
  static OperationPtr constant(c10::IValue value, c10::TypePtr type, const SourceRange& range) {
    OperationPtr op = make(Operation::Kind::kConstant, range, std::move(type));
    op->constant = std::move(value);
    return op;
  }
  static OperationPtr none(const SourceRange& range) { return constant({}, c10::NoneType::get(), range); }
  static OperationPtr load(const Variable& variable, const SourceRange& range) {
    OperationPtr op = make(Operation::Kind::kLoad, range, variable.type);
    op->slot = variable.slot;
    return op;
  }
  static OperationPtr converted(OperationPtr value, const ArgumentSource& source);

  FunctionScope& scope_;
  OperatorTable& operators_;
  std::shared_ptr<Program> program_;
  Environment variables_;
  c10::TypePtr declared_result_;  // null where the function says nothing
  c10::TypePtr result_;           // of the return statements so far; null before the first
  int loops_ = 0;
};

}  // namespace torch::jit::detail
