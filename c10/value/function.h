// What has a name, a schema and takes its arguments from a stack: methods of classes, and functions of programs.
#pragma once

#include <string>

#include "c10/value/ivalue.h"

namespace c10 {
class FunctionSchema;
}

namespace torch::jit {

class Function {
 public:
  virtual ~Function() = default;
  virtual const std::string& name() const = 0;
  // "__torch__.torch.classes.my.Stack.push"
  virtual const std::string& qualname() const = 0;
  virtual const c10::FunctionSchema& getSchema() const = 0;
  // Replaces the arguments on the stack by the result.
  virtual void run(c10::Stack& stack) = 0;
  c10::IValue operator()(c10::Stack stack) {
    run(stack);
    return stack.empty() ? c10::IValue() : stack.front();
  }
};

}  // namespace torch::jit
