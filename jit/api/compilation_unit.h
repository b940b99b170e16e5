// Functions compiled from TorchScript.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "c10/dispatch/function_schema.h"
#include "c10/value/class_type.h"
#include "c10/value/function.h"
#include "c10/value/ivalue.h"
#include "jit/api/qualified_name.h"

namespace torch::jit {

/// What a class of a program has beside attributes and methods.
struct ClassNotes {
  /// What a module runs before and behind forward when it is called as a whole.
  std::vector<Function*> pre_hooks;
  std::vector<Function*> hooks;
  /// Their values: ClassType::getConstant().
  std::vector<std::string> constants;
};

/// Functions that know each other by name.
///
///   auto unit = torch::jit::compile("def f(a, b: int):\n  return torch.relu(a) * b\n");
///   at::Tensor y = unit->run_method("f", x, 3).toTensor();
///   at::Tensor z = unit->get_function("f")({x, 3}).toTensor();
///   unit->get_function("f").getSchema().str();   // "f(Tensor a, int b) -> Tensor"
///
/// Calls of operators are recorded for gradients as those of C++ are. Functions may be called from several threads;
/// define() may not run beside other calls.
///
/// Errors. c10::Error for names that are not there and for arguments that the schema does not take ("f() Expected a
/// value of type 'int' for argument 'b' but instead found type 'str'."). ErrorReport for programs that cannot be
/// compiled. std::runtime_error for what goes wrong while one runs ("The following operation failed in the TorchScript
/// interpreter. ..."), JITException for what it raises.
///
/// Supported: functions; types as annotations and as "# type:" comments (Tensor, int, float, complex, bool, str,
/// Device, Optional, List, Dict, Tuple, Union, Any, classes of torch::class_); assignments, also of tuples and
/// elements; if, while, for, break, continue, return, assert, raise, del, `with torch.no_grad()`; all operators,
/// methods and attributes of tensors; lists, dictionaries, tuples, texts and their methods; comprehensions; isinstance,
/// range, zip, enumerate and the like. Not supported, with an error that says so: classes, functions in functions,
/// lambda, try, import, f-strings, sets, generators, `*args` of functions.
struct CompilationUnit : std::enable_shared_from_this<CompilationUnit> {
  CompilationUnit();
  explicit CompilationUnit(const std::string& source);
  ~CompilationUnit();
  CompilationUnit(CompilationUnit&&) noexcept;
  CompilationUnit& operator=(CompilationUnit&&) noexcept;
  CompilationUnit(const CompilationUnit&) = delete;
  CompilationUnit& operator=(const CompilationUnit&) = delete;

  /// Compiles the functions in `source`, which may call each other and those before. Nothing is defined where one does
  /// not compile. With `prefix` the functions are found as "prefix.name".
  std::vector<Function*> define(const std::optional<c10::QualifiedName>& prefix, const std::string& source);

  /// Methods of a class, whose first parameter is the object. Nothing is defined where one does not compile.
  std::vector<Function*> define_methods(const c10::ClassTypePtr& type, const std::string& source);

  /// Types of programs, by their qualified names. Throws where the name is taken.
  void register_type(const c10::TypePtr& type);
  c10::TypePtr get_type(const c10::QualifiedName& name) const;
  c10::ClassTypePtr get_class(const c10::QualifiedName& name) const;
  c10::InterfaceTypePtr get_interface(const c10::QualifiedName& name) const;
  c10::TupleTypePtr get_named_tuple(const c10::QualifiedName& name) const;
  /// Keeps what classes refer to.
  Function* own(std::unique_ptr<Function> function);
  void set_notes(const c10::ClassType& type, ClassNotes notes);
  ClassNotes notes_of(const c10::ClassType& type) const;
  /// The declaration of an interface's method, "__torch__.Interface.method"; null where there is none.
  Function* find_interface_method(const std::string& qualified_name) const;

  /// Null where there is none.
  Function* find_function(const c10::QualifiedName& name) const;
  /// Throws "Attempted to get undefined function f".
  Function& get_function(const c10::QualifiedName& name) const;
  std::vector<Function*> get_functions() const;

  template <class... Types>
  c10::IValue run_method(const c10::QualifiedName& method_name, Types&&... args) {
    return get_function(method_name)({c10::IValue(std::forward<Types>(args))...});
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Compiles functions written in TorchScript.
std::shared_ptr<CompilationUnit> compile(const std::string& source);

}  // namespace torch::jit
