// Functions, from syntax trees to programs: finds the types of all values, the overloads and the conversions.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "c10/dispatch/function_schema.h"
#include "jit/compiler/program.h"
#include "jit/frontend/tree.h"

namespace torch::jit {

struct CompiledFunction {
  c10::FunctionSchema schema;
  std::shared_ptr<Program> program;
};

/// The functions that a program may call: those that were compiled before, and those that are defined beside it.
class FunctionScope {
 public:
  virtual ~FunctionScope() = default;
  /// Compiles it if need be. Null where there is none of that name; throws ErrorReport, which shows `call`, for one
  /// that is being compiled.
  virtual const CompiledFunction* function(const std::string& name, const SourceRange& call) = 0;
};

/// Throws ErrorReport.
CompiledFunction compile_function(const DefStmt& def, FunctionScope& scope, OperatorTable& operators);

}  // namespace torch::jit
