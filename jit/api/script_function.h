// Functions and methods that were compiled: graphs that an interpreter runs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "c10/dispatch/function_schema.h"
#include "c10/value/function.h"
#include "graph/interpreter/interpreter.h"
#include "jit/compiler/compiler.h"

namespace torch::jit {

/// May be called from several threads.
class ScriptFunction final : public Function {
 public:
  ScriptFunction(std::string qualname, CompiledFunction compiled);
  /// One whose body is compiled by the first call of compiled(), or of the function.
  ScriptFunction(std::string qualname, c10::FunctionSchema schema, std::function<CompiledFunction()> compile);

  const std::string& name() const override { return schema_.name(); }
  const std::string& qualname() const override { return qualname_; }
  const c10::FunctionSchema& getSchema() const override { return schema_; }
  /// Throws ErrorReport where it does not compile.
  const CompiledFunction& compiled();

  /// What goes wrong throws std::runtime_error that shows where, and JITException where the program raised it.
  void run(c10::Stack& stack) override;

 private:
  void place_arguments(c10::Stack& stack, const Kwargs& kwargs) override;
  // Of arguments that fit; errors on the way to run() are of a kind of their own.
  void call(c10::Stack& stack);
  const graph::Interpreter& interpreter();

  std::string qualname_;
  c10::FunctionSchema schema_;
  std::recursive_mutex mutex_;
  std::function<CompiledFunction()> compile_;
  std::optional<CompiledFunction> compiled_;
  std::optional<graph::Interpreter> interpreter_;
  std::atomic<const graph::Interpreter*> ready_{nullptr};
};

/// Puts arguments by name and defaults behind those on the stack, and looks at the types of all.
void place_arguments(const c10::FunctionSchema& schema, c10::Stack& stack, const Kwargs& kwargs);

}  // namespace torch::jit
