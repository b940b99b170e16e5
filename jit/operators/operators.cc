#include "jit/operators/operators.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace torch::jit {
namespace {

struct Builtins {
  // Never moved: callables refer to schemas.
  std::vector<std::pair<c10::FunctionSchema, Callable::Function>> all;
  std::unordered_map<std::string, std::vector<size_t>> by_name;
};

const Builtins& builtins() {
  static const Builtins& made = *[] {
    detail::BuiltinOperators operators;
    detail::add_number_operators(operators);
    detail::add_container_operators(operators);
    detail::add_string_operators(operators);
    detail::add_tensor_operators(operators);
    detail::add_language_operators(operators);
    auto* result = new Builtins;
    for (const detail::BuiltinOperator& op : operators) {
      c10::FunctionSchema schema = c10::parse_schema(op.schema);
      result->by_name[schema.name()].push_back(result->all.size());
      result->all.emplace_back(std::move(schema), op.call);
    }
    return result;
  }();
  return made;
}

// The overloads of each name that the dispatcher has now.
class OverloadNames final : public c10::OpRegistrationListener {
 public:
  static OverloadNames& instance() {
    struct Listening {
      OverloadNames* names = new OverloadNames;
      c10::RegistrationHandleRAII handle =
          c10::Dispatcher::singleton().addRegistrationListener(std::unique_ptr<OverloadNames>(names));
    };
    // For the life of the program.
    static Listening& listening = *new Listening;
    return *listening.names;
  }
  // In alphabetical order.
  std::vector<std::string> of(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(name);
    if (found == names_.end()) return {};
    std::vector<std::string> names = found->second;
    std::sort(names.begin(), names.end());
    return names;
  }
  void onOperatorRegistered(const c10::OperatorHandle& op) override {
    const std::lock_guard lock(mutex_);
    names_[op.schema().name()].push_back(op.schema().overload_name());
  }
  void onOperatorDeregistered(const c10::OperatorHandle& op) override {
    const std::lock_guard lock(mutex_);
    std::erase(names_[op.schema().name()], op.schema().overload_name());
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::vector<std::string>> names_;
};

}  // namespace

const std::vector<Callable>& OperatorTable::overloads(const std::string& name) {
  const auto [entry, is_new] = found_.try_emplace(name);
  std::vector<Callable>& result = entry->second;
  if (!is_new) return result;
  if (const auto own = builtins().by_name.find(name); own != builtins().by_name.end()) {
    for (const size_t i : own->second) result.emplace_back(builtins().all[i].first, builtins().all[i].second);
  }
  const size_t own = result.size();
  if (!graph::opens_files(name)) {
    for (const std::string& overload : OverloadNames::instance().of(name)) {
      if (const auto op = c10::Dispatcher::singleton().findSchema(name, overload)) result.emplace_back(*op);
    }
  }
  std::stable_sort(
      result.begin() + static_cast<std::ptrdiff_t>(own), result.end(),
      [](const Callable& a, const Callable& b) { return a.schema().is_mutable() < b.schema().is_mutable(); });
  return result;
}

}  // namespace torch::jit
