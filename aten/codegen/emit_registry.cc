#include "aten/codegen/emit.h"

namespace kindling::codegen {

std::string emit_registry(const Table& table) {
  std::string out = file_header(table);
  out += "#include \"aten/core/boxing.h\"\n#include \"aten/ops/" + table.family +
         "/operators.h\"\n#include \"c10/dispatch/registry.h\"\n\nnamespace at {\nnamespace {\n\n"
         "const c10::RegisteredOperator kOperators[] = {\n";
  for (const Operator& op : table.operators) {
    for (const Variant* variant : op.variants()) {
      const std::string id = variant->identifier();
      out += "    {" + quoted(variant->schema.str()) + ", &operators::" + id + ", boxing::boxing_of(operators::" + id + ")},\n";
    }
  }
  // A reference to link_<family> brings this file into a program.
  return out + "};\n\nconst c10::OperatorRegistration registration(\"aten\", kOperators);\n\n}  // namespace\n\n" +
         "namespace registry {\nvoid link_" + table.family + "();\nvoid link_" + table.family + "() {}\n}  // namespace registry\n}  // namespace at\n";
}

}  // namespace kindling::codegen
