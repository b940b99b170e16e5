// The code of a TorchScript archive: its classes and functions, compiled where they are named.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "jit/api/compilation_unit.h"
#include "jit/api/script_function.h"
#include "jit/compiler/compiler.h"
#include "utils/pickle/zip_file.h"

namespace torch::jit {

class ArchivedProgram final : public Scope {
 public:
  /// What is compiled belongs to the unit and does not need this or the file any more after compile_all().
  ArchivedProgram(const torch::pickle::ZipFile& file, CompilationUnit& unit) : file_(file), unit_(unit) {}

  /// "CONSTANTS.c0" ... in the code.
  void set_constants(std::vector<c10::IValue> constants);
  /// The type that an annotation names. Throws ErrorReport.
  c10::TypePtr type_of(const std::string& annotation);
  /// Every function and method that was named so far, and what these name. Throws ErrorReport.
  void compile_all();

  Function* function(const std::string& name, const SourceRange& call) override;
  c10::TypePtr type(const std::string& name) override;
  const c10::IValue* constant(const std::string& name) override;
  Function* creator(const c10::TypePtr& type) override;

 private:
  struct File {
    Block statements;
    std::map<std::string, const Stmt*> by_name;
  };
  // Of the module "__torch__.a"; null where the archive has none.
  const File* file(const std::string& module);
  const Stmt* find(const std::string& name);
  c10::TypePtr define(const ClassStmt& node, const std::string& name);
  void define_class(const ClassStmt& node, const c10::ClassTypePtr& type);
  c10::TypePtr define_tuple(const ClassStmt& node, const std::string& name);
  c10::TypePtr define_enum(const ClassStmt& node, const std::string& name);
  void define_interface(const ClassStmt& node, const c10::InterfaceTypePtr& type);
  void check_versions(const graph::Graph& graph) const;
  ScriptFunction* add(const DefStmt& def, const std::string& name, const c10::TypePtr& self);

  const torch::pickle::ZipFile& file_;
  CompilationUnit& unit_;
  OperatorTable operators_;
  std::map<std::string, File> files_;
  std::map<std::string, c10::TypePtr> types_;
  std::map<std::string, Function*> functions_;
  std::map<std::string, Function*> creators_;
  std::deque<ScriptFunction*> uncompiled_;
  std::vector<c10::IValue> constants_;
  std::set<std::string> open_;  // types that are being defined
};

}  // namespace torch::jit
