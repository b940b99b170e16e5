#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "c10/dispatch/function_schema.h"
#include "c10/dispatch/ivalue.h"
#include "c10/dispatch/operator.h"

namespace c10 {

// Calls `op` with the arguments on the stack, one value a schema argument, and leaves the results there instead.
using BoxedFunction = void (*)(const OperatorBase& op, Stack& stack);

// What makes an operator callable by name. The objects are constants of the registry leaves.
struct RegisteredOperator {
  const char* schema;
  OperatorBase* op;
  BoxedFunction boxed;
};

struct OperatorName {
  std::string name;  // "aten::add"
  std::string overload_name;
};

// An operator found by name. Cheap to copy, valid for the life of the program.
class OperatorHandle {
 public:
  const FunctionSchema& schema() const { return *schema_; }
  OperatorBase& op() const { return *registered_->op; }
  // One function for each C++ signature.
  BoxedFunction boxed() const { return registered_->boxed; }

  // Replaces the arguments on the stack by the results. Arguments that are missing at the end take their defaults; too many
  // or too few, and values of the wrong type, throw TypeError that names the operator and the argument.
  void callBoxed(Stack& stack) const;
  void callBoxed(Stack* stack) const { callBoxed(*stack); }

  // The operator with its C++ types. Precondition: they are the right ones.
  template <class Signature>
  Operator<Signature>& typed() const {
    return static_cast<Operator<Signature>&>(*registered_->op);
  }

 private:
  friend class Dispatcher;
  OperatorHandle(const RegisteredOperator* registered, const FunctionSchema* schema, const Stack* defaults)
      : registered_(registered), schema_(schema), defaults_(defaults) {}
  const RegisteredOperator* registered_;
  const FunctionSchema* schema_;
  const Stack* defaults_;
};

// The operators that are linked with a registry leaf (//aten/ops/<family>:registry, or //aten/ops:registry for all) or that
// the program registered itself. Thread-safe.
//
//   c10::Stack stack{a, b, 1};
//   c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor").callBoxed(stack);
//   at::Tensor sum = stack[0].toTensor();
class Dispatcher {
 public:
  static Dispatcher& singleton();

  std::optional<OperatorHandle> findSchema(const OperatorName& name);
  std::optional<OperatorHandle> findSchema(std::string_view name, std::string_view overload_name);
  // Throws Error where there is none: "no operator named aten::foo is linked; ...".
  OperatorHandle findSchemaOrThrow(std::string_view name, std::string_view overload_name);
  // The names ("aten::add.Tensor") in alphabetical order.
  std::vector<std::string> getAllOpNames();

  // Makes operators callable under `ns`. The array lives as long as the program. A name that is taken throws.
  void register_operators(std::string_view ns, const RegisteredOperator* operators, size_t count);
  // Takes the operators of the array away again.
  void deregister_operators(std::string_view ns, const RegisteredOperator* operators, size_t count);

 private:
  struct State;
  Dispatcher();
  ~Dispatcher() = delete;
  State* state_;
};

// Registers a constant array before main.
class OperatorRegistration {
 public:
  template <size_t N>
  OperatorRegistration(const char* ns, const RegisteredOperator (&operators)[N]) {
    Dispatcher::singleton().register_operators(ns, operators, N);
  }
};

// The value that a schema's default text stands for, e.g. [0, 1] or None or 1e-05.
IValue default_value(const Argument& argument);

}  // namespace c10
