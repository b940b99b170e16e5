#include "jit/operators/operators.h"

#include <algorithm>
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

}  // namespace

OperatorTable::OperatorTable() {
  for (const std::string& full : c10::Dispatcher::singleton().getAllOpNames()) {
    const size_t dot = full.find('.');
    std::string base = full.substr(0, dot);
    if (graph::opens_files(base)) continue;
    overload_names_[std::move(base)].push_back(dot == std::string::npos ? "" : full.substr(dot + 1));
  }
}

const std::vector<Callable>& OperatorTable::overloads(const std::string& name) {
  const auto [entry, is_new] = found_.try_emplace(name);
  std::vector<Callable>& result = entry->second;
  if (!is_new) return result;
  if (const auto own = builtins().by_name.find(name); own != builtins().by_name.end()) {
    for (const size_t i : own->second) result.emplace_back(builtins().all[i].first, builtins().all[i].second);
  }
  const size_t own = result.size();
  if (const auto names = overload_names_.find(name); names != overload_names_.end()) {
    for (const std::string& overload : names->second) {
      if (const auto op = c10::Dispatcher::singleton().findSchema(name, overload)) result.emplace_back(*op);
    }
  }
  std::stable_sort(
      result.begin() + static_cast<std::ptrdiff_t>(own), result.end(),
      [](const Callable& a, const Callable& b) { return a.schema().is_mutable() < b.schema().is_mutable(); });
  return result;
}

}  // namespace torch::jit
