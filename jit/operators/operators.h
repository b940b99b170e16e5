// What programs call by name: the operators of the dispatcher, and those of the language itself (numbers, lists,
// dictionaries, strings, attributes of tensors), which have schemas, too.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "c10/dispatch/function_schema.h"
#include "c10/dispatch/registry.h"
#include "c10/value/stack.h"

namespace torch::jit {

/// One overload. Cheap to copy, valid for the life of the program.
class Callable {
 public:
  using Builtin = void (*)(c10::Stack&);
  Callable(const c10::FunctionSchema& schema, Builtin builtin) : schema_(&schema), builtin_(builtin) {}
  explicit Callable(const c10::OperatorHandle& op) : schema_(&op.schema()), op_(op) {}
  const c10::FunctionSchema& schema() const { return *schema_; }
  /// Replaces the arguments, which are all that is on the stack, by the results.
  void call(c10::Stack& stack) const { builtin_ != nullptr ? builtin_(stack) : op_->callBoxed(stack); }

 private:
  const c10::FunctionSchema* schema_;
  Builtin builtin_ = nullptr;
  std::optional<c10::OperatorHandle> op_;
};

/// The overloads by their name, as far as they were known when it was made.
class OperatorTable {
 public:
  OperatorTable();
  /// Of "aten::add": the language's own first, then those of the dispatcher that write to no argument, then the others.
  /// Empty where there is none. Operators that open files are left out.
  const std::vector<Callable>& overloads(const std::string& name);

 private:
  std::map<std::string, std::vector<std::string>> overload_names_;
  std::map<std::string, std::vector<Callable>> found_;
};

namespace detail {

struct BuiltinOperator {
  std::string schema;
  Callable::Builtin call;
};
using BuiltinOperators = std::vector<BuiltinOperator>;
void add_number_operators(BuiltinOperators& all);
void add_container_operators(BuiltinOperators& all);
void add_string_operators(BuiltinOperators& all);
void add_tensor_operators(BuiltinOperators& all);

/// "1." and the like: how the language writes a value as text.
std::string text_of(const c10::IValue& value);

}  // namespace detail

}  // namespace torch::jit
