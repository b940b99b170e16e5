#include "aten/codegen/emit.h"

namespace kindling::codegen {
namespace {

std::string name_of(const Variant& variant) {
  const std::string& overload = variant.schema.overload_name();
  return variant.schema.name() + (overload.empty() ? "" : "." + overload);
}

// Empty where nothing is said.
std::string words_of(const Operator& op, const Variant& variant) {
  if (op.alias() || op.copies()) return "";
  if (!op.entry.sharding().empty()) return op.entry.sharding();
  if (op.entry.element_wise()) return "auto_element_wise";
  const Variant& composed = variant.composite() ? variant : op.main;
  return composed.composite() && composed.kernel(Kernel::CPU) != nullptr ? "compose" : "";
}

}  // namespace

std::string emit_sharding(const std::vector<Table>& tables) {
  std::string entries;
  for (const Table& table : tables) {
    for (const Operator& op : table.operators) {
      for (const Variant* variant : op.variants()) {
        const std::string words = words_of(op, *variant);
        if (words.empty()) continue;
        const std::string functional = variant->form == Form::kOut ? "aten::" + name_of(op.main) : "";
        entries += "{" + quoted(name_of(*variant)) + ", " + quoted(words) + ", " + quoted(functional) + "},\n";
      }
    }
  }
  return entries;
}

}  // namespace kindling::codegen
