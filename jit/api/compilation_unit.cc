#include "jit/api/compilation_unit.h"

#include <algorithm>
#include <map>

#include "c10/util/exception.h"
#include "jit/api/script_function.h"
#include "jit/compiler/compiler.h"
#include "jit/frontend/parser.h"

namespace at::registry {
void link_all_operators();
}

namespace torch::jit {

struct CompilationUnit::State {
  std::vector<std::unique_ptr<ScriptFunction>> functions;
  std::map<std::string, ScriptFunction*> by_name;
  std::vector<std::unique_ptr<Function>> others;
  std::map<std::string, c10::TypePtr> types;
  std::map<std::string, ClassNotes> notes;
};

namespace {

// The functions of one source: compiled where they are called first, or in the end.
class Definitions final : public Scope {
 public:
  using Known = std::map<std::string, ScriptFunction*>;
  using Types = std::map<std::string, c10::TypePtr>;
  // Methods of `self`, if that is not null, find each other as its methods only.
  Definitions(const Block& source, const Known& known, const Types& types, const std::string& prefix,
              c10::ClassTypePtr self = nullptr)
      : known_(known), types_(types), prefix_(prefix), self_(std::move(self)) {
    for (const StmtPtr& node : source) {
      const auto* def = node->as<DefStmt>();
      if (def == nullptr) throw ErrorReport(node->range, "classes are not supported in programs");
      const bool taken = self_ == nullptr ? known_.count(prefix_ + def->name) != 0 : self_->hasMethod(def->name);
      TORCH_CHECK(!taken && defs_.count(def->name) == 0, "method '", def->name, "' already defined.");
      defs_[def->name] = def;
      order_.push_back(def->name);
    }
  }

  Function* function(const std::string& name, const SourceRange& call) override {
    if (self_ == nullptr) return compiled(name, call);
    const auto known = known_.find(name);
    return known == known_.end() ? nullptr : known->second;
  }
  Function* method(const c10::ClassType& type, const std::string& name, const SourceRange& call) override {
    return &type == self_.get() && defs_.count(name) != 0 ? compiled(name, call) : type.findMethod(name);
  }
  c10::TypePtr type(const std::string& name) override {
    const auto found = types_.find(name);
    return found == types_.end() ? nullptr : found->second;
  }
  Function* compiled(const std::string& name, const SourceRange& call) {
    if (const auto done = made_.find(name); done != made_.end()) return done->second.get();
    const auto def = defs_.find(name);
    if (def == defs_.end()) {
      const auto before = known_.find(prefix_ + name);
      return before == known_.end() ? nullptr : before->second;
    }
    if (std::find(open_.begin(), open_.end(), name) != open_.end())
      throw ErrorReport(call, " function '", name, "' is called recursively. Recursive calls are not supported");
    if (open_.size() >= kMostOpen) throw ErrorReport(call, "more than ", kMostOpen, " functions call each other");
    open_.push_back(name);
    CompiledFunction compiled = compile_function(*def->second, *this, operators_, self_);
    open_.pop_back();
    auto made = std::make_unique<ScriptFunction>(prefix_ + name, std::move(compiled));
    return made_.emplace(name, std::move(made)).first->second.get();
  }
  const std::vector<std::string>& order() const { return order_; }
  std::unique_ptr<ScriptFunction> take(const std::string& name) { return std::move(made_.at(name)); }

 private:
  static constexpr size_t kMostOpen = 100;
  const Known& known_;
  const Types& types_;
  const std::string& prefix_;
  c10::ClassTypePtr self_;
  std::map<std::string, const DefStmt*> defs_;
  std::map<std::string, std::unique_ptr<ScriptFunction>> made_;
  std::vector<std::string> order_;
  std::vector<std::string> open_;
  OperatorTable operators_;
};

}  // namespace

CompilationUnit::CompilationUnit() : state_(std::make_unique<State>()) {
  // Programs find them by name.
  at::registry::link_all_operators();
}
CompilationUnit::CompilationUnit(const std::string& source) : CompilationUnit() {
  define(std::nullopt, source);
}
CompilationUnit::~CompilationUnit() = default;
CompilationUnit::CompilationUnit(CompilationUnit&&) noexcept = default;
CompilationUnit& CompilationUnit::operator=(CompilationUnit&&) noexcept = default;

std::vector<Function*> CompilationUnit::define(const std::optional<c10::QualifiedName>& prefix,
                                               const std::string& source) {
  const std::string before = prefix.has_value() ? prefix->qualifiedName() + "." : "";
  const Block tree = parse_program(std::make_shared<Source>(source));
  Definitions definitions(tree, state_->by_name, state_->types, before);
  for (const std::string& name : definitions.order()) definitions.compiled(name, SourceRange());
  std::vector<Function*> made;
  for (const std::string& name : definitions.order()) {
    state_->functions.push_back(definitions.take(name));
    state_->by_name[before + name] = state_->functions.back().get();
    made.push_back(state_->functions.back().get());
  }
  return made;
}

std::vector<Function*> CompilationUnit::define_methods(const c10::ClassTypePtr& type, const std::string& source) {
  const Block tree = parse_program(std::make_shared<Source>(source));
  const std::string prefix = type->qualified_name() + ".";
  Definitions definitions(tree, state_->by_name, state_->types, prefix, type);
  for (const std::string& name : definitions.order()) definitions.compiled(name, SourceRange());
  std::vector<Function*> made;
  for (const std::string& name : definitions.order()) {
    made.push_back(own(definitions.take(name)));
    type->addMethod(made.back());
  }
  return made;
}

void CompilationUnit::register_type(const c10::TypePtr& type) {
  const bool is_new = state_->types.try_emplace(type->annotation_str(), type).second;
  TORCH_CHECK(is_new, "class '", type->annotation_str(), "' already defined.");
}
c10::TypePtr CompilationUnit::get_type(const c10::QualifiedName& name) const {
  const auto found = state_->types.find(name.qualifiedName());
  return found == state_->types.end() ? nullptr : found->second;
}
c10::ClassTypePtr CompilationUnit::get_class(const c10::QualifiedName& name) const {
  const c10::TypePtr type = get_type(name);
  return type == nullptr ? nullptr : type->cast<c10::ClassType>();
}
c10::InterfaceTypePtr CompilationUnit::get_interface(const c10::QualifiedName& name) const {
  const c10::TypePtr type = get_type(name);
  return type == nullptr ? nullptr : type->cast<c10::InterfaceType>();
}
c10::TupleTypePtr CompilationUnit::get_named_tuple(const c10::QualifiedName& name) const {
  const c10::TypePtr type = get_type(name);
  return type == nullptr ? nullptr : type->cast<c10::TupleType>();
}
Function* CompilationUnit::own(std::unique_ptr<Function> function) {
  state_->others.push_back(std::move(function));
  return state_->others.back().get();
}
void CompilationUnit::set_notes(const c10::ClassType& type, ClassNotes notes) {
  state_->notes[type.qualified_name()] = std::move(notes);
}
ClassNotes CompilationUnit::notes_of(const c10::ClassType& type) const {
  const auto found = state_->notes.find(type.qualified_name());
  return found == state_->notes.end() ? ClassNotes() : found->second;
}
Function* CompilationUnit::find_interface_method(const std::string& qualified_name) const {
  for (const auto& function : state_->others) {
    if (function->qualname() == qualified_name) return function.get();
  }
  return nullptr;
}

Function* CompilationUnit::find_function(const c10::QualifiedName& name) const {
  const auto found = state_->by_name.find(name.qualifiedName());
  return found == state_->by_name.end() ? nullptr : found->second;
}

Function& CompilationUnit::get_function(const c10::QualifiedName& name) const {
  Function* function = find_function(name);
  TORCH_CHECK(function != nullptr, "Attempted to get undefined function ", name.name());
  return *function;
}

std::vector<Function*> CompilationUnit::get_functions() const {
  std::vector<Function*> all;
  for (const auto& function : state_->functions) all.push_back(function.get());
  return all;
}

std::shared_ptr<CompilationUnit> compile(const std::string& source) {
  return std::make_shared<CompilationUnit>(source);
}

}  // namespace torch::jit
