// Functions, from syntax trees to graphs: finds the types of all values, the overloads and the conversions.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "c10/dispatch/function_schema.h"
#include "c10/value/class_type.h"
#include "c10/value/function.h"
#include "c10/value/ivalue.h"
#include "c10/value/type.h"
#include "graph/ir/graph.h"
#include "jit/compiler/schema_matching.h"
#include "jit/frontend/tree.h"
#include "jit/operators/operators.h"

namespace torch::jit {

/// Where a node of a graph stands in the program.
class SourcePlace final : public graph::Source {
 public:
  explicit SourcePlace(SourceRange range) : range_(std::move(range)) {}
  std::string text() const override { return range_.str(); }
  const SourceRange& range() const { return range_; }

 private:
  SourceRange range_;
};

struct CompiledFunction {
  c10::FunctionSchema schema;
  std::shared_ptr<const graph::Graph> graph;
  /// Those that its kInvoke nodes name.
  std::map<std::string, Function*> functions;
  /// What its source is, without the first line, and the constants that it names ("CONSTANTS.c0").
  SourceRange body;
  std::map<std::string, c10::IValue> constants;
};

/// What a program may name: functions, types and constants beside it.
class Scope {
 public:
  virtual ~Scope() = default;
  /// By "f" or "__torch__.a.f", compiled as far as its schema. Null where there is none of that name; throws
  /// ErrorReport, which shows `call`, for one that is being compiled.
  virtual Function* function(const std::string& name, const SourceRange& call) = 0;
  /// Compiled as far as its schema, too; null where the class has none of that name.
  virtual Function* method(const c10::ClassType& type, const std::string& name, const SourceRange& /*call*/) {
    return type.findMethod(name);
  }
  /// A class, a named tuple, an enumeration ...; null where there is none.
  virtual c10::TypePtr type(const std::string& /*name*/) { return nullptr; }
  /// "CONSTANTS.c0"; null where there is none.
  virtual const c10::IValue* constant(const std::string& /*name*/) { return nullptr; }
  /// What makes objects of a class without attributes: a function of nothing.
  virtual Function* creator(const c10::TypePtr& /*type*/) { return nullptr; }
};

/// `self` is the type of a method's first parameter, which need not say it; null for functions. Throws ErrorReport.
CompiledFunction compile_function(const DefStmt& def, Scope& scope, OperatorTable& operators,
                                  const c10::TypePtr& self = nullptr);
/// The value of a literal, as of a default argument. Throws ErrorReport.
c10::IValue literal_value(const Expr& node, const c10::TypePtr& type, Scope& scope, OperatorTable& operators);
/// The schema of a function that says all its types; its body is not looked at.
c10::FunctionSchema schema_of(const DefStmt& def, Scope& scope, OperatorTable& operators,
                              const c10::TypePtr& self = nullptr);

}  // namespace torch::jit
