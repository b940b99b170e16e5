// The compiler of one function.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/compiler/compiler.h"
#include "jit/compiler/environment.h"

namespace torch::jit::detail {

/// A value that the program has, and where in the source it is made.
struct Typed {
  graph::Operand value = c10::IValue();
  c10::TypePtr type;
  SourceRange range;
  bool is_constant() const { return value.is_constant(); }
};

/// A condition: its value, what it says of types, and whether the types alone decide it.
struct Condition {
  Typed value;
  Refinements if_true;
  Refinements if_false;
  std::optional<bool> known;
};

struct NamedArgument {
  std::string name;
  Typed value;
};

/// How the end of statements is reached: by running through them, or by a return, break or continue among them, which
/// leaves what follows undone.
struct Flow {
  bool falls_through = true;
  bool leaves = false;
};

/// Adds the names that an assignment to `target` gives values.
void collect(const Expr& target, std::vector<std::string>& names);

class FunctionCompiler {
 public:
  FunctionCompiler(Scope& scope, OperatorTable& operators) : scope_(scope), operators_(operators) {}
  CompiledFunction compile(const DefStmt& def, const c10::TypePtr& self);
  c10::FunctionSchema schema(const DefStmt& def, const c10::TypePtr& self);
  // The value of an expression without variables and calls; of any type where `type` is null.
  c10::IValue literal(const Expr& node, const c10::TypePtr& type);

 private:
  static constexpr int kMostLevels = 200;

  // --- function_compiler.cc: functions and statements ---
  std::vector<c10::Argument> parameters(const DefStmt& def, const c10::TypePtr& self);
  c10::IValue default_value(const Expr& node, const c10::TypePtr& type);
  Flow block(const Block& statements, size_t first = 0);
  // What the statements from `at` add to those before them, in their block, whose end is reached like this.
  Flow followed(const Flow& before, const Block& statements, size_t at);
  // The same in a level of variables of its own.
  Flow nested(const Block& statements, const Refinements& known = {});
  Flow statement(const Block& statements, size_t& at);
  void assignment(const AssignStmt& node);
  void assign(const Expr& target, const Typed& value, const c10::TypePtr& declared);
  void assign_element(const SubscriptExpr& target, const Typed& value);
  void assign_attribute(const AttributeExpr& target, const Typed& value);
  void unpack(const TupleExpr& names, const Typed& value);
  void augmented(const AugmentedStmt& node);
  void returning(const ReturnStmt& node);
  Flow branching(const IfStmt& node, const Block& statements, size_t& at);
  Flow while_loop(const WhileStmt& node);
  Flow for_loop(const ForStmt& node);
  void assertion(const AssertStmt& node);
  void raising(const RaiseStmt& node);
  void raise(const Typed& message, std::string exception_class, const SourceRange& range);
  void deletion(const DeleteStmt& node);
  Flow with(const WithStmt& node, size_t context = 0);
  void define(const std::string& name, const Typed& value, const c10::TypePtr& declared);
  // Marks what follows as not to be run.
  void leave(bool loop, bool function);

  // Runs `body` once for each turn: it gets the number of the turn and gives how its end is reached. `assigned` are the
  // variables that may have other values after it; `goes_on` computes the condition of a further turn, if there is one.
  struct Loop {
    graph::Operand turns = c10::IValue();
    graph::Operand condition = c10::IValue(true);
    std::vector<std::string> assigned;
    bool returns = false;  // whether there is a return statement in it
    std::function<Flow(const Typed& turn)> body;
    std::function<graph::Operand()> goes_on;
  };
  Flow loop(const Loop& parts, const SourceRange& range);
  // A body with the elements of an iterable assigned to `target`.
  // `own` are variables that are not those of the same names before it.
  Flow loop_over(const Expr& target, const Expr& iterable, std::vector<std::string> assigned, bool returns,
                 const std::function<Flow()>& body, const SourceRange& range, const std::vector<std::string>& own = {});

  // One of the blocks of a node, compiled, with the variables at its end.
  struct Branch {
    graph::Block* block;
    Environment variables;
    Flow flow;
  };
  // The variables behind a node that has run one of these blocks.
  void join(graph::Node* node, const Environment& before, std::vector<Branch> branches, const SourceRange& range);
  // Adds what f() appends to `into`.
  template <class F>
  auto inside(graph::Block& into, const F& f) {
    graph::Block* const before = std::exchange(block_, &into);
    struct Restore {
      graph::Block*& block;
      graph::Block* before;
      ~Restore() { block = before; }
    } restore{block_, before};
    return f();
  }

  // --- expressions.cc ---
  Typed expression(const Expr& node, const c10::TypePtr& wanted = nullptr);
  Typed name(const NameExpr& node);
  Typed list(const ListExpr& node, const c10::TypePtr& wanted);
  Typed dict(const DictExpr& node, const c10::TypePtr& wanted);
  Typed tuple(const TupleExpr& node, const c10::TypePtr& wanted);
  Typed attribute(const AttributeExpr& node);
  Typed attribute_of(const Typed& object, const std::string& name, const SourceRange& range);
  Typed subscript(const SubscriptExpr& node, const c10::TypePtr& wanted);
  Typed module_part(const Typed& modules, const SubscriptExpr& node, const c10::TypePtr& interface);
  Typed tuple_part(const Typed& tuple, const SubscriptExpr& node);
  Typed tensor_index(const Expr& index);
  Typed unary(const UnaryExpr& node);
  Typed binary(const BinaryExpr& node);
  Typed chain(const ChainExpr& node);
  Typed arithmetic(const std::string& op, const Typed& left, const Typed& right, const SourceRange& range);
  Typed conditional(const ConditionalExpr& node, const c10::TypePtr& wanted);
  Typed comprehension(const ComprehensionExpr& node, const c10::TypePtr& wanted);
  Typed iterable(const Typed& value);
  Condition condition(const Expr& node);
  std::optional<Condition> test_of_none(const BinaryExpr& node);
  Condition test_of_type(const CallExpr& node);
  Typed truth(const Typed& value);
  // either(condition, value, other): the one is computed only if the condition holds, the other only if it does not.
  Typed either(const Typed& condition, const std::function<Typed()>& value, const std::function<Typed()>& other,
               const std::function<c10::TypePtr(const c10::TypePtr&, const c10::TypePtr&)>& type,
               const SourceRange& range);

  // --- calls.cc ---
  Typed call(const CallExpr& node, const c10::TypePtr& wanted);
  std::optional<Typed> call_language(const std::string& name, const CallExpr& node);
  std::optional<Typed> call_builtin(const std::string& name, const CallExpr& node);
  Typed call_method(const AttributeExpr& method, const CallExpr& node, const c10::TypePtr& wanted);
  Typed to_list(const Typed& tensor, const c10::TypePtr& wanted, const SourceRange& range);
  Typed annotated(const CallExpr& node);
  Typed range_call(const CallExpr& node);
  // Start, stop and step.
  std::vector<Typed> range_bounds(const CallExpr& node);
  Typed zip_call(const CallExpr& node);
  Typed enumerate_call(const CallExpr& node);
  Typed forked(const CallExpr& node);
  Typed construct(const c10::TypePtr& type, const CallExpr& node);
  Typed call_function(Function& function, std::optional<Typed> self, const CallExpr& node, const SourceRange& range);
  void arguments(const CallExpr& node, std::vector<Typed>& positional, std::vector<NamedArgument>& named);
  // A call of the operator by the overload that takes them.
  Typed operator_call(const std::string& name, const std::vector<Typed>& positional,
                      const std::vector<NamedArgument>& named, const SourceRange& range);
  Typed operator_call(const std::string& name, const std::vector<Typed>& positional, const SourceRange& range) {
    return operator_call(name, positional, {}, range);
  }
  std::vector<graph::Operand> bound(const c10::FunctionSchema& schema, const SchemaMatch& match,
                                    const std::vector<Typed>& positional, const std::vector<NamedArgument>& named,
                                    const SourceRange& range);
  Typed converted(const Typed& value, const ArgumentSource& source);
  Typed invoke(Function& function, std::vector<graph::Operand> operands, const c10::TypePtr& type,
               const SourceRange& range);

  // --- made of parts ---
  static c10::TypePtr dict_type(const c10::TypePtr& key, const c10::TypePtr& value, const SourceRange& range);
  graph::Node* append(std::unique_ptr<graph::Node> node, const SourceRange& range);
  // The result of a node that has one.
  Typed result(std::unique_ptr<graph::Node> node, c10::TypePtr type, const SourceRange& range);
  Typed make(graph::Node::Kind kind, std::vector<graph::Operand> operands, c10::TypePtr type,
             const SourceRange& range) {
    return result(graph_->make(kind, std::move(operands)), std::move(type), range);
  }
  // The parts of a tuple or of a list of `count`.
  std::vector<Typed> parts(const Typed& whole, size_t count);
  static Typed constant(c10::IValue value, c10::TypePtr type, const SourceRange& range) {
    return {std::move(value), std::move(type), range};
  }
  static Typed none(const SourceRange& range) { return constant({}, c10::NoneType::get(), range); }

  Scope& scope_;
  OperatorTable& operators_;
  std::shared_ptr<graph::Graph> graph_;
  graph::Block* block_ = nullptr;  // where nodes are appended
  Environment variables_;
  std::map<std::string, Function*> functions_;         // that the graph invokes
  std::map<std::string, c10::IValue> constants_;       // of the scope, that it names
  std::map<std::string, const DefStmt*> local_;        // functions inside of this one
  std::map<std::string, std::string> function_names_;  // variables that stand for functions
  c10::TypePtr declared_result_;                       // null where the function says nothing
  c10::TypePtr result_;                                // of the return statements so far; null before the first
  int loops_ = 0;
  int levels_ = 0;  // of statements behind others that may return
};

}  // namespace torch::jit::detail
