// The variables of a function while it is compiled: their values and types here, and why they may not be read.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "c10/value/type.h"
#include "graph/ir/graph.h"
#include "jit/frontend/source_range.h"

namespace torch::jit {

struct Variable {
  graph::Operand value = c10::IValue();
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
  using Variables = std::map<std::string, Variable>;
  const Variables& all() const { return variables_; }
  const Variable* find(const std::string& name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : &found->second;
  }
  Variable* find(const std::string& name) { return const_cast<Variable*>(std::as_const(*this).find(name)); }
  void set(const std::string& name, Variable variable) { variables_.insert_or_assign(name, std::move(variable)); }
  void erase(const std::string& name) { variables_.erase(name); }
  /// Without variables.
  Environment emptied() const {
    Environment result;
    result.depth_ = depth_;
    return result;
  }
  int depth() const { return depth_; }
  void enter() { ++depth_; }
  void refine(const Refinements& refinements) {
    for (const auto& [name, type] : refinements) {
      if (Variable* variable = find(name)) variable->type = type;
    }
  }
  /// After a block: its variables belong to the one around it.
  void leave() {
    --depth_;
    for (auto& [name, variable] : variables_) variable.depth = std::min(variable.depth, depth_);
  }
  /// Takes back what is known beyond the declared types of these variables.
  void forget(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (Variable* variable = find(name)) variable->type = variable->declared;
    }
  }

 private:
  Variables variables_;
  int depth_ = 0;
};

}  // namespace torch::jit
