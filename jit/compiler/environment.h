// The variables of a function while it is compiled: their types here, and why they may not be read.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "c10/value/type.h"
#include "jit/frontend/source_range.h"

namespace torch::jit {

struct Variable {
  size_t slot = 0;
  c10::TypePtr type;      // as it is known here
  c10::TypePtr declared;  // what may be assigned inside blocks below
  int depth = 0;          // of the block that it belongs to
  std::string undefined;  // why it cannot be read, if it cannot
  SourceRange where;      // of the reason
};

/// What a condition says of the types of variables.
using Refinements = std::vector<std::pair<std::string, c10::TypePtr>>;

class Environment {
 public:
  const Variable* find(const std::string& name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : &found->second;
  }
  Variable* find(const std::string& name) { return const_cast<Variable*>(std::as_const(*this).find(name)); }
  void set(const std::string& name, Variable variable) { variables_[name] = std::move(variable); }
  void erase(const std::string& name) { variables_.erase(name); }
  int depth() const { return depth_; }
  void enter() { ++depth_; }
  void refine(const Refinements& refinements) {
    for (const auto& [name, type] : refinements) {
      if (Variable* variable = find(name)) variable->type = type;
    }
  }
  /// After a block: its variables belong to the one around it.
  void leave();
  /// What holds behind two branches, of which either was taken at `where`.
  static Environment joined(const Environment& before, const Environment& a, const Environment& b,
                            const SourceRange& where);
  /// What holds behind a loop: what its body defined need not be there, and types are those declared.
  static Environment after_loop(const Environment& before, const Environment& body);
  /// Takes back what is known beyond the declared types of these variables.
  void forget(const std::vector<std::string>& names);

 private:
  std::map<std::string, Variable> variables_;
  int depth_ = 0;
};

}  // namespace torch::jit
