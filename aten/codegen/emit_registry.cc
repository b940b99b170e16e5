#include "aten/codegen/emit.h"

namespace kindling::codegen {

std::string emit_registry(const Table& table) {
  std::string operators, decompositions;
  for (const Operator& op : table.operators) {
    for (const Variant* variant : op.variants()) {
      const std::string id = variant->identifier();
      const DecompositionName decomposition = decomposition_of(op, *variant);
      operators += "    {" + quoted(variant->schema.str()) + ", &operators::" + id;
      operators += ", boxing::boxing_of(operators::" + id + ")";
      if (!decomposition.id.empty()) {
        operators += ", &decomposition_constants::" + decomposition.id;
        const std::string declared = decomposition.type + " " + decomposition.id + ";\n";
        if (variant == &op.main) decompositions += "[[gnu::weak]] extern const " + declared;
      }
      operators += "},\n";
    }
  }
  std::string out = file_header(table);
  out += "#include \"aten/core/boxing.h\"\n#include \"aten/ops/" + table.family +
         "/operators.h\"\n#include \"c10/dispatch/registry.h\"\n\nnamespace at {\n";
  if (!decompositions.empty()) out += "namespace decomposition_constants {\n" + decompositions + "}\n";
  out += "namespace {\n\nconst c10::RegisteredOperator kOperators[] = {\n" + operators;
  // A reference to link_<family> brings this file into a program.
  return out + "};\n\nconst c10::OperatorRegistration registration(\"aten\", kOperators);\n\n}  // namespace\n\n" +
         "namespace registry {\nvoid link_" + table.family + "();\nvoid link_" + table.family + "() {}\n}  // namespace registry\n}  // namespace at\n";
}

}  // namespace kindling::codegen
