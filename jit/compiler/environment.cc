#include "jit/compiler/environment.h"

#include <algorithm>

#include "jit/compiler/schema_matching.h"

namespace torch::jit {
namespace {

Variable missing(const Variable& defined, const std::string& name, const char* branch, const SourceRange& where) {
  Variable result = defined;
  if (result.undefined.empty()) {
    result.undefined = c10::str(name, " is not defined in the ", branch, " branch");
    result.where = where;
  }
  return result;
}

}  // namespace

void Environment::leave() {
  --depth_;
  for (auto& [name, variable] : variables_) variable.depth = std::min(variable.depth, depth_);
}

Environment Environment::joined(const Environment& before, const Environment& a, const Environment& b,
                                const SourceRange& where) {
  Environment result = a;
  for (auto& [name, variable] : result.variables_) {
    const Variable* other = b.find(name);
    if (other == nullptr) {
      variable = missing(variable, name, "false", where);
    } else if (variable.undefined.empty() && !other->undefined.empty()) {
      variable = *other;
    } else if (variable.undefined.empty()) {
      c10::TypePtr type = unify_types(variable.type, other->type);
      if (type == nullptr) {
        variable.undefined =
            c10::str("Type mismatch: ", name, " is set to type ", variable.type->annotation_str(),
                     " in the true branch and type ", other->type->annotation_str(), " in the false branch");
        variable.where = where;
        type = c10::AnyType::get();
      }
      const Variable* outer = before.find(name);
      variable.type = type;
      if (outer == nullptr || !outer->undefined.empty() || !variable.undefined.empty()) variable.declared = type;
    }
  }
  for (const auto& [name, variable] : b.variables_) {
    if (a.find(name) == nullptr) result.variables_[name] = missing(variable, name, "true", where);
  }
  return result;
}

Environment Environment::after_loop(const Environment& before, const Environment& body) {
  Environment result = before;
  for (auto& [name, variable] : result.variables_) {
    const Variable* last = body.find(name);
    if (last != nullptr && !(*last->type == *variable.type)) variable.type = variable.declared;
  }
  return result;
}

void Environment::forget(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (Variable* variable = find(name)) variable->type = variable->declared;
  }
}

}  // namespace torch::jit
