// What has a name, a schema and takes its arguments from a stack: methods of classes, and functions of programs.
#pragma once

#include <string>
#include <unordered_map>

#include "c10/value/ivalue.h"

namespace c10 {
class FunctionSchema;
}

namespace torch::jit {

using Kwargs = std::unordered_map<std::string, c10::IValue>;

class Function {
 public:
  virtual ~Function() = default;
  virtual const std::string& name() const = 0;
  // "__torch__.torch.classes.my.Stack.push"
  virtual const std::string& qualname() const = 0;
  virtual const c10::FunctionSchema& getSchema() const = 0;
  // Replaces the arguments on the stack by the result.
  virtual void run(c10::Stack& stack) = 0;
  // With arguments by their names, where the function takes such.
  c10::IValue operator()(c10::Stack stack, const Kwargs& kwargs = {}) {
    if (!kwargs.empty()) place_arguments(stack, kwargs);
    run(stack);
    return stack.empty() ? c10::IValue() : stack.front();
  }

 private:
  // Puts the named ones behind those on the stack.
  virtual void place_arguments(c10::Stack&, const Kwargs&) { TORCH_CHECK(false, qualname(), "() takes no arguments by name"); }
};

}  // namespace torch::jit
