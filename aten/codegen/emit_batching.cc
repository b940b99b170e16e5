#include <algorithm>

#include "aten/codegen/emit.h"

namespace kindling::codegen {
namespace {

std::string name_of(const Variant& variant) {
  const std::string& overload = variant.schema.overload_name();
  return variant.schema.name() + (overload.empty() ? "" : "." + overload);
}

bool starts_with(const std::string& text, const char* beginning) {
  return text.rfind(beginning, 0) == 0;
}

// The same facts, said of parts of tensors: what an operator does with parts it does with samples.
std::string from_sharding(const std::string& sharding) {
  const std::string word = sharding.substr(0, sharding.find(' '));
  const std::string parameters = word.find('(') == std::string::npos ? "" : word.substr(word.find('('));
  // A tensor that has to be whole is not one of those that go element by element.
  const bool whole = sharding.find("whole(") != std::string::npos;
  if (word == "element_wise" || word == "auto_element_wise") return whole ? "" : "auto_element_wise";
  if (starts_with(word, "view_")) return "auto_view";
  if (starts_with(word, "along(")) return (whole ? "index_along" : "along") + parameters;
  if (starts_with(word, "reduce")) return "reduce";
  // So many dimensions an operator takes at least; of samples there is one more.
  if (starts_with(word, "batch(")) return "samples(" + std::to_string(std::stoi(parameters.substr(1)) + 1) + ")";
  if (starts_with(word, "samples(")) return "samples(" + std::to_string(std::stoi(parameters.substr(1)) - 1) + ")";
  for (const char* same : {"like", "fresh", "loss", "compose"}) {
    if (word == same) return same;
  }
  return "";
}

}  // namespace

std::string batching_words(const Operator& op) {
  if (op.alias() || op.copies()) return "";
  if (!op.entry.batch().empty()) return op.entry.batch();
  if (op.entry.element_wise()) return "auto_element_wise";
  return from_sharding(op.entry.sharding());
}

std::vector<std::string> looped_operators(const std::vector<Table>& tables) {
  std::vector<std::string> names;
  for (const Table& table : tables) {
    // Of tensors that vmap does not take.
    if (table.family == "sparse" || table.family == "nested" || table.family == "quantized") continue;
    for (const Operator& op : table.operators) {
      const std::string words = batching_words(op);
      const auto& arguments = op.main.schema.arguments();
      const bool takes_tensors = std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& argument) {
        return is_tensor_like(argument.shape());
      });
      const bool parts = op.composite() || op.main.kernel(Kernel::ANY) != nullptr || !op.entry.decomposition().empty();
      const bool without = words.empty() && op.main.kernel(Kernel::CPU) != nullptr && !parts;
      if (takes_tensors && (words == "loop" || words == "random_loop" || without)) {
        names.push_back(op.main.schema.qualified_name());
      }
    }
  }
  return names;
}

std::string emit_batching(const std::vector<Table>& tables) {
  std::string entries;
  for (const Table& table : tables) {
    for (const Operator& op : table.operators) {
      const std::string words = batching_words(op);
      for (const Variant* variant : op.variants()) {
        const bool writes = variant->form != Form::kFunctional && variant != &op.main;
        if (words.empty() && !(writes && op.has_kernel())) continue;
        const std::string functional = writes ? "aten::" + name_of(op.main) : "";
        entries += "{" + quoted(name_of(*variant)) + ", " + quoted(words) + ", " + quoted(functional) + "},\n";
      }
    }
  }
  return entries;
}

}  // namespace kindling::codegen
