#include "aten/codegen/emit.h"

namespace kindling::codegen {

std::string emit_documentation(const std::vector<Table>& tables) {
  std::string out = "# Operators\n";
  for (const Table& table : tables) out += table.family;
  return out;
}

}  // namespace kindling::codegen
