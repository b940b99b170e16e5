#include "jit/api/script_function.h"

#include <atomic>
#include <vector>

#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "jit/api/jit_exception.h"

namespace torch::jit {
namespace {

// Functions and methods in functions. A program that calls deeper has no end, or none that a stack of this thread
// holds.
constexpr int kMostCalls = 200;
thread_local int calls = 0;

// On its way out of the functions, each of which adds its place.
struct Failure {
  std::string message;
  std::string python_class;  // of what the program raised
  bool raised = false;
  std::vector<std::pair<SourceRange, std::string>> places;  // innermost first
};

// The innermost node that an exception passes.
struct Place final : graph::RunListener {
  bool wants_results() const override { return false; }
  void failed(const graph::Node& node) override {
    if (found) return;
    found = true;
    if (const auto* place = dynamic_cast<const SourcePlace*>(node.source().get())) range = place->range();
  }
  bool found = false;
  SourceRange range;
};

[[noreturn]] void report(const Failure& failure) {
  std::string text =
      "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent call "
      "last):\n";
  for (auto place = failure.places.rbegin(); place != failure.places.rend(); ++place) {
    std::string shown = place->first.str();
    const size_t line_end = shown.find('\n');
    if (line_end != std::string::npos) shown.insert(line_end, ", in " + place->second);
    text += shown;
  }
  text += (failure.python_class.empty() ? "RuntimeError" : failure.python_class) + ": " + failure.message + "\n";
  if (!failure.raised) throw std::runtime_error(text);
  throw JITException(text, failure.python_class.empty() ? std::optional<std::string>() : failure.python_class,
                     failure.message);
}

}  // namespace

void place_arguments(const c10::FunctionSchema& schema, c10::Stack& stack, const Kwargs& kwargs) {
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

ScriptFunction::ScriptFunction(std::string qualname, CompiledFunction compiled)
    : qualname_(std::move(qualname)), schema_(compiled.schema), compiled_(std::move(compiled)) {}
ScriptFunction::ScriptFunction(std::string qualname, c10::FunctionSchema schema,
                               std::function<CompiledFunction()> compile)
    : qualname_(std::move(qualname)), schema_(std::move(schema)), compile_(std::move(compile)) {}

const CompiledFunction& ScriptFunction::compiled() {
  const std::lock_guard lock(mutex_);
  if (!compiled_.has_value()) {
    compiled_ = compile_();
    compile_ = nullptr;
  }
  return *compiled_;
}

const graph::Interpreter& ScriptFunction::interpreter() {
  if (const graph::Interpreter* ready = ready_.load(std::memory_order_acquire)) return *ready;
  const std::lock_guard lock(mutex_);
  if (!interpreter_.has_value()) {
    const CompiledFunction& own = compiled();
    graph::Surroundings surroundings;
    surroundings.function = [&](const graph::Node& node) -> std::function<void(c10::Stack&)> {
      Function* function = own.functions.at(node.name());
      if (auto* script = dynamic_cast<ScriptFunction*>(function)) return [script](c10::Stack& s) { script->call(s); };
      return [function](c10::Stack& s) {
        function->run(s);
        if (s.empty()) s.emplace_back();
      };
    };
    interpreter_.emplace(*own.graph, surroundings);
    ready_.store(&*interpreter_, std::memory_order_release);
  }
  return *interpreter_;
}

void ScriptFunction::call(c10::Stack& stack) {
  struct Level {
    Level() { ++calls; }
    ~Level() { --calls; }
  } const level;
  Place place;
  try {
    TORCH_CHECK(calls <= kMostCalls, "more than ", kMostCalls, " functions call each other");
    interpreter()(stack, &place);
  } catch (Failure& failure) {
    failure.places.emplace_back(place.range, name());
    throw;
  } catch (const graph::Raised& raised) {
    throw Failure{raised.what(), raised.exception_class(), true, {{place.range, name()}}};
  } catch (const c10::Error& error) {
    throw Failure{error.msg(), "", false, {{place.range, name()}}};
  } catch (const std::exception& error) {
    throw Failure{error.what(), "", false, {{place.range, name()}}};
  }
}

void ScriptFunction::run(c10::Stack& stack) {
  torch::jit::place_arguments(schema_, stack, {});
  const bool grad_mode = c10::GradMode::is_enabled();
  try {
    call(stack);
  } catch (const Failure& failure) {
    // The program may have changed it.
    c10::GradMode::set_enabled(grad_mode);
    report(failure);
  }
}

void ScriptFunction::place_arguments(c10::Stack& stack, const Kwargs& kwargs) {
  torch::jit::place_arguments(schema_, stack, kwargs);
}

}  // namespace torch::jit
