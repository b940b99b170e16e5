#include <set>

#include "aten/codegen/emit.h"

namespace kindling::codegen {
namespace {

const Param* options_of(const Signature& signature) {
  for (const Param& param : signature.params) {
    if (param.is_options) return &param;
  }
  return nullptr;
}

}  // namespace

std::string emit_factories(const std::vector<Table>& tables) {
  std::string out = "// Generated from the operator tables by aten/codegen: functions that make tensors, with requires_grad.\n"
                    "#pragma once\n\n";
  std::set<std::string> names;
  for (const Table& table : tables) {
    bool used = false;
    for (const Operator& op : table.operators) {
      const bool is_public = op.main.schema.name().front() != '_';
      if (is_public && op.main.function && options_of(op.main.signature) != nullptr) {
        names.insert(op.main.schema.name());
        used = true;
      }
    }
    if (used) out += "#include \"aten/ops/" + table.family + "/ops.h\"\n";
  }
  out += "#include \"autograd/leaf.h\"\n\nnamespace torch {\n\n";
  for (const Table& table : tables) {
    for (const Operator& op : table.operators) {
      const Signature& signature = op.main.signature;
      // Overloads without options would be hidden by those of the same name that have them.
      if (!op.main.function || op.main.form == Form::kOut || names.count(op.main.schema.name()) == 0) continue;
      const std::string name = op.main.schema.name();
      const Param* options = options_of(signature);
      std::string call = "at::" + name + "(";
      for (size_t i = 0; i < signature.params.size(); ++i) {
        call += (i == 0 ? "" : ", ") + signature.params[i].name;
        if (signature.params[i].is_options) call += ".requires_grad(std::nullopt)";
      }
      call += ")";
      if (options != nullptr) call = "autograd::detail::leaf(" + call + ", " + options->name + ")";
      out += "inline " + signature.result + " " + name + "(" + signature.declaration(false) + ") {\n  return " + call + ";\n}\n";
    }
  }
  return out + "\n}  // namespace torch\n";
}

}  // namespace kindling::codegen
