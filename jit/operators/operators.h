// What programs call by name: the operators of the dispatcher, and those of the language itself (numbers, lists,
// dictionaries, strings, attributes of tensors), which have schemas, too.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "c10/value/stack.h"
#include "graph/ir/callable.h"

namespace torch::jit {

using torch::graph::Callable;

/// The overloads by their name, each as far as they were known when it was first asked for.
class OperatorTable {
 public:
  /// Of "aten::add": the language's own first, then those of the dispatcher that write to no argument, then the others.
  /// Empty where there is none. Operators that open files are left out.
  const std::vector<Callable>& overloads(const std::string& name);

 private:
  std::map<std::string, std::vector<Callable>> found_;
};

namespace detail {

struct BuiltinOperator {
  std::string schema;
  Callable::Function call;
};
using BuiltinOperators = std::vector<BuiltinOperator>;
void add_number_operators(BuiltinOperators& all);
void add_container_operators(BuiltinOperators& all);
void add_string_operators(BuiltinOperators& all);
void add_tensor_operators(BuiltinOperators& all);
void add_language_operators(BuiltinOperators& all);

/// "1." and the like: how the language writes a value as text.
std::string text_of(const c10::IValue& value);

}  // namespace detail

}  // namespace torch::jit
