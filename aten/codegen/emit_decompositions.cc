#include "aten/codegen/emit.h"

// What computes the same as an operator from core operators.
namespace kindling::codegen {
namespace {

// As the function of the entry is written: of a form that writes, one that returns the new value.
Signature value_signature(const Operator& op) {
  Signature signature;
  signature.result = op.main.signature.result;
  for (size_t at = 0; (at = signature.result.find('&', at)) != std::string::npos;) signature.result.erase(at, 1);
  for (Param param : op.main.signature.params) {
    if (param.is_out) continue;
    if (param.type == "Tensor&") param.type = "const Tensor&";
    signature.params.push_back(std::move(param));
  }
  return signature;
}

Values values_of(const Operator& op) {
  const Signature signature = value_signature(op);
  return {{"result", signature.result},
          {"types", signature.types()},
          {"list", joined({signature.result, signature.types()})},
          {"parameters", signature.parameters()},
          {"arguments", signature.arguments()},
          {"function", op.entry.decomposition()},
          {"meta", op.entry.meta()},
          {"id", op.main.identifier()}};
}

// The kernel for all backends, where that is made of other operators already: "native::eye"; or the COMPOSITE one
// beside one for the CPU.
bool is_kernel(const Operator& op) {
  return op.entry.decomposition().rfind("native::", 0) == 0;
}

bool decomposes(const Operator& op) {
  return !op.entry.decomposition().empty() && op.has_kernel();
}

const char* const kIncludes =
    "#include <array>\n#include <optional>\n#include <string_view>\n#include <tuple>\n#include <vector>\n\n";

}  // namespace

DecompositionName decomposition_of(const Operator& op, const Variant& variant) {
  if (!decomposes(op)) return {};
  // A view that changes its tensor's sizes in place has no value to be copied there.
  const auto& returns = op.main.schema.returns();
  const bool view = op.main.form == Form::kFunctional && !returns.empty() && !returns[0].alias().empty();
  if (view && variant.form == Form::kInplace) return {};
  return {print("c10::TypedDecomposition<$list$>", values_of(op)), op.main.identifier()};
}

std::string emit_decomposition_declarations(const Table& table) {
  std::string functions;
  for (const Operator& op : table.operators) {
    if (decomposes(op) && !is_kernel(op)) functions += print("$result$ $function$($parameters$);\n", values_of(op));
  }
  return file_header(table) + "#pragma once\n\n" + kIncludes + "#include \"aten/core/tensor.h\"\n" +
         list_header(functions) + "\nnamespace at::decompositions {\n\n" + functions +
         "\n}  // namespace at::decompositions\n";
}

std::string emit_decompositions(const Table& table) {
  std::string kernels, functions, constants;
  for (const Operator& op : table.operators) {
    if (!decomposes(op)) continue;
    Values values = values_of(op);
    const std::string function = op.entry.decomposition();
    values["callee"] = is_kernel(op) ? function : "decompositions::" + function;
    values["rule"] = values["as_composed"] = "";
    if (is_kernel(op)) values["function"] = function.substr(function.find("::") + 2);
    // One function for the CPU and for all else learns that it is called as the latter.
    const bool knows_key = is_kernel(op) && op.main.kernel_knows_key();
    if (knows_key) values["as_composed"] = ", false";
    values["more"] = knows_key ? ", bool" : "";
    (is_kernel(op) ? kernels : functions) += print("$result$ $function$($types$$more$);\n", values);
    if (op.structured()) {
      const size_t results = op.main.schema.returns().size();
      values["spec"] = results == 1 ? "TensorSpec" : "std::array<TensorSpec, " + std::to_string(results) + ">";
      kernels += print("$spec$ $meta$($types$);\n", values);
      // Bad arguments throw as they do without a decomposition.
      values["rule"] = print("  native::$meta$($arguments$);\n", values);
    }
    constants += print(
        "static $result$ $id$_parts($parameters$) {\n$rule$  return $callee$($arguments$$as_composed$);\n}\n"
        "extern const c10::TypedDecomposition<$list$> $id$;\n"
        "constinit const c10::TypedDecomposition<$list$> $id$ = boxing::decomposition_of(operators::$id$, "
        "$id$_parts);\n",
        values);
  }
  if (constants.empty()) return "";
  return file_header(table) + kIncludes + "#include \"aten/core/boxing.h\"\n#include \"aten/core/tensor_spec.h\"\n" +
         "#include \"aten/ops/" + table.family + "/operators.h\"\n" + list_header(kernels + functions) +
         "\nnamespace at::native {\n" + kernels + "}  // namespace at::native\n" +
         "\nnamespace at::decompositions {\n" + functions + "}  // namespace at::decompositions\n" +
         "\nnamespace at::decomposition_constants {\n" + constants + "}  // namespace at::decomposition_constants\n";
}

}  // namespace kindling::codegen
