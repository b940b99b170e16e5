#include "jit/api/compilation_unit.h"

#include <algorithm>
#include <map>

#include "c10/util/exception.h"
#include "jit/compiler/compiler.h"
#include "jit/compiler/evaluator.h"
#include "jit/frontend/parser.h"

namespace at::registry {
void link_all_operators();
}

namespace torch::jit {
namespace {

// Puts arguments by name and defaults behind those on the stack, and looks at the types of all.
void normalize(const c10::FunctionSchema& schema, c10::Stack& stack, const Kwargs& kwargs) {
  const std::vector<c10::Argument>& arguments = schema.arguments();
  TORCH_CHECK(stack.size() <= arguments.size(), schema.name(), "() expected at most ", arguments.size(),
              " argument(s) but received ", stack.size(), " argument(s). Declaration: ", schema.str());
  size_t used = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = arguments[i];
    if (i >= stack.size()) {
      const auto named = kwargs.find(argument.name());
      if (named != kwargs.end()) {
        ++used;
        stack.push_back(named->second);
      } else {
        TORCH_CHECK(argument.default_value().has_value(), schema.name(), "() is missing value for argument '",
                    argument.name(), "'. Declaration: ", schema.str());
        stack.push_back(*argument.default_value());
        continue;
      }
    }
    const c10::IValue& value = stack[i];
    // An undefined tensor is None.
    if (argument.type()->kind() == c10::TypeKind::TensorType && value.isNone()) continue;
    const c10::TypePtr type = value.type();
    const bool empty =
        value.isList() && value.toListRef().empty() && argument.type()->kind() == c10::TypeKind::ListType;
    TORCH_CHECK(empty || type->isSubtypeOf(argument.type()), schema.name(), "() Expected a value of type '",
                argument.type()->annotation_str(), "' for argument '", argument.name(), "' but instead found type '",
                type->annotation_str(), "'.\nPosition: ", i, "\nDeclaration: ", schema.str());
  }
  if (used == kwargs.size()) return;
  for (const auto& [name, value] : kwargs) {
    const std::optional<int> place = schema.argument_index(name);
    TORCH_CHECK(place.has_value(), schema.name(), "() expected ", "no argument named '", name,
                "'. Declaration: ", schema.str());
  }
  TORCH_CHECK(false, schema.name(),
              "() got an argument twice, by its place and by its name. Declaration: ", schema.str());
}

class ScriptFunction final : public Function {
 public:
  ScriptFunction(std::string qualname, CompiledFunction compiled)
      : qualname_(std::move(qualname)), compiled_(std::move(compiled)) {}
  const std::string& name() const override { return compiled_.schema.name(); }
  const std::string& qualname() const override { return qualname_; }
  const c10::FunctionSchema& getSchema() const override { return compiled_.schema; }
  const CompiledFunction& compiled() const { return compiled_; }
  void run(c10::Stack& stack) override {
    normalize(compiled_.schema, stack, {});
    run_program(*compiled_.program, stack);
  }

 private:
  void place_arguments(c10::Stack& stack, const Kwargs& kwargs) override { normalize(compiled_.schema, stack, kwargs); }
  std::string qualname_;
  CompiledFunction compiled_;
};

}  // namespace

struct CompilationUnit::State {
  std::vector<std::unique_ptr<ScriptFunction>> functions;
  std::map<std::string, ScriptFunction*> by_name;
};

namespace {

// The functions of one source: compiled where they are called first, or in the end.
class Definitions final : public FunctionScope {
 public:
  using Known = std::map<std::string, ScriptFunction*>;
  Definitions(const Block& source, const Known& known, const std::string& prefix) : known_(known), prefix_(prefix) {
    for (const StmtPtr& node : source) {
      const auto* def = node->as<DefStmt>();
      if (def == nullptr) throw ErrorReport(node->range, "classes are not supported in programs");
      TORCH_CHECK(known_.count(prefix_ + def->name) == 0 && defs_.count(def->name) == 0, "method '", def->name,
                  "' already defined.");
      defs_[def->name] = def;
      order_.push_back(def->name);
    }
  }

  const CompiledFunction* function(const std::string& name, const SourceRange& call) override {
    if (const auto done = compiled_.find(name); done != compiled_.end()) return &done->second;
    const auto def = defs_.find(name);
    if (def == defs_.end()) {
      const auto before = known_.find(prefix_ + name);
      return before == known_.end() ? nullptr : &before->second->compiled();
    }
    if (std::find(open_.begin(), open_.end(), name) != open_.end())
      throw ErrorReport(call, " function '", name, "' is called recursively. Recursive calls are not supported");
    if (open_.size() >= kMostOpen) throw ErrorReport(call, "more than ", kMostOpen, " functions call each other");
    open_.push_back(name);
    CompiledFunction compiled = compile_function(*def->second, *this, operators_);
    open_.pop_back();
    return &compiled_.emplace(name, std::move(compiled)).first->second;
  }
  const std::vector<std::string>& order() const { return order_; }
  CompiledFunction take(const std::string& name) { return std::move(compiled_.at(name)); }

 private:
  static constexpr size_t kMostOpen = 100;
  const Known& known_;
  const std::string& prefix_;
  std::map<std::string, const DefStmt*> defs_;
  std::map<std::string, CompiledFunction> compiled_;
  std::vector<std::string> order_;
  std::vector<std::string> open_;
  OperatorTable operators_;
};

}  // namespace

CompilationUnit::CompilationUnit() : state_(std::make_unique<State>()) {}
CompilationUnit::CompilationUnit(const std::string& source) : CompilationUnit() {
  define(std::nullopt, source);
}
CompilationUnit::~CompilationUnit() = default;
CompilationUnit::CompilationUnit(CompilationUnit&&) noexcept = default;
CompilationUnit& CompilationUnit::operator=(CompilationUnit&&) noexcept = default;

std::vector<Function*> CompilationUnit::define(const std::optional<c10::QualifiedName>& prefix,
                                               const std::string& source) {
  at::registry::link_all_operators();
  const std::string before = prefix.has_value() ? prefix->qualifiedName() + "." : "";
  const Block tree = parse_program(std::make_shared<Source>(source));
  Definitions definitions(tree, state_->by_name, before);
  for (const std::string& name : definitions.order()) definitions.function(name, SourceRange());
  std::vector<Function*> made;
  for (const std::string& name : definitions.order()) {
    state_->functions.push_back(std::make_unique<ScriptFunction>(before + name, definitions.take(name)));
    state_->by_name[before + name] = state_->functions.back().get();
    made.push_back(state_->functions.back().get());
  }
  return made;
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
