// What a graph calls by name: an operator of the dispatcher, or one of the language itself (numbers, lists, strings),
// which has a schema, too.
#pragma once

#include <optional>
#include <string_view>

#include "c10/dispatch/function_schema.h"
#include "c10/dispatch/registry.h"
#include "c10/value/stack.h"

namespace torch::graph {

/// One overload. Cheap to copy, valid for the life of the program.
class Callable {
 public:
  using Function = void (*)(c10::Stack&);
  Callable(const c10::FunctionSchema& schema, Function function) : schema_(&schema), function_(function) {}
  explicit Callable(const c10::OperatorHandle& op) : schema_(&op.schema()), op_(op) {}
  const c10::FunctionSchema& schema() const { return *schema_; }
  /// Null for one of the language itself.
  const c10::OperatorHandle* handle() const { return op_.has_value() ? &*op_ : nullptr; }
  /// Replaces the arguments, which are all that is on the stack, by the results.
  void call(c10::Stack& stack) const { function_ != nullptr ? function_(stack) : op_->callBoxed(stack); }
  friend bool operator==(const Callable& a, const Callable& b) { return a.schema_ == b.schema_; }

 private:
  const c10::FunctionSchema* schema_;
  Function function_ = nullptr;
  std::optional<c10::OperatorHandle> op_;
};

/// Whether an operator reads or writes files by their names ("aten::save"), so that no program from a file may call it.
inline bool opens_files(std::string_view name) {
  return name == "aten::from_file" || name == "aten::save";
}

}  // namespace torch::graph
