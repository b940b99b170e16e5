#include "aten/codegen/emit.h"

// The kernels of layouts that are not strided, one constant an operator.
namespace kindling::codegen {
namespace {

std::vector<const char*> key_names(Kernel::Key key) {
  if (key == Kernel::SPARSE_CPU) return {"SparseCPU", "SparseCsrCPU"};
  if (key == Kernel::SPARSE_CUDA) return {"SparseCUDA", "SparseCsrCUDA"};
  if (key == Kernel::NESTED_CPU) return {"NestedTensorCPU", "NestedTensorCUDA"};
  if (key == Kernel::QUANTIZED_CPU) return {"QuantizedCPU"};
  if (key == Kernel::QUANTIZED_CUDA) return {"QuantizedCUDA"};
  return {"NestedTensorCPU", "NestedTensorCUDA", "AutogradNestedTensor"};
}

// A weak declaration of a function of that type.
std::string declaration(const char* space, const std::string& function, const Variant& variant) {
  return print("namespace $space$ {\n[[gnu::weak]] $result$ $function$($types$);\n}\n",
               {{"space", space},
                {"result", variant.signature.result},
                {"function", function},
                {"types", variant.signature.types()}});
}

}  // namespace

std::string emit_layers(const Table& table) {
  std::string declarations, objects;
  for (const Operator& op : table.operators) {
    for (const Variant* variant : op.variants()) {
      if (!op.has_layers(*variant)) continue;
      std::string set;
      const auto add = [&](const char* space, const std::string& function, const std::vector<const char*>& keys) {
        declarations += declaration(space, function, *variant);
        for (const char* key : keys) {
          set += std::string("\n    .set(c10::DispatchKey::") + key + ", &" + space + "::" + function + ")";
        }
      };
      for (const Kernel& kernel : variant->layout_kernels) {
        add("at::native", kernel.function(), key_names(kernel.key()));
      }
      if (op.element_wise_for_nested(*variant)) {
        const Kernel::Key key = variant->form == Form::kInplace ? Kernel::NESTED_CPU : Kernel::NESTED_COMPOSITE;
        add("at::nested_kernels", variant->identifier(), key_names(key));
      }
      if (variant == &op.main && has_autocast_kernel(op)) {
        const std::string id = variant->identifier();
        if (!op.entry.autocast().cpu().empty()) add("at::autocast_kernels", id + "_cpu", {"AutocastCPU"});
        if (!op.entry.autocast().cuda().empty()) add("at::autocast_kernels", id + "_cuda", {"AutocastCUDA"});
      }
      objects += print(
          "extern c10::detail::TypedKernels<$result$ (*)($types$)> $id$;\n"
          "constinit c10::detail::TypedKernels<$result$ (*)($types$)> $id$ = c10::detail::TypedKernels<$result$ (*)($types$)>()$set$;\n",
          {{"result", variant->signature.result},
           {"types", variant->signature.types()},
           {"id", variant->identifier()},
           {"set", set}});
    }
  }
  return file_header(table) +
         "#include <array>\n#include <tuple>\n#include <vector>\n\n#include \"aten/core/tensor.h\"\n"
         "#include \"c10/dispatch/more_kernels.h\"\n" +
         list_header(declarations + objects) + "\n" + declarations +
         "\nnamespace at::layer_kernels {\n\n" +
         objects + "\n}  // namespace at::layer_kernels\n";
}

std::string emit_nested(const Table& table) {
  std::string declarations, kernels;
  for (const Operator& op : table.operators) {
    for (const Variant* variant : op.variants()) {
      if (!op.element_wise_for_nested(*variant)) continue;
      const Values values{{"id", variant->identifier()},
                          {"result", variant->signature.result},
                          {"types", variant->signature.types()},
                          {"parameters", variant->signature.parameters()},
                          {"arguments", variant->signature.arguments()},
                          {"function", variant->form == Form::kInplace ? "element_wise_in_place" : "element_wise"}};
      declarations += print("[[gnu::weak]] extern c10::Operator<$result$($types$)> $id$;\n", values);
      kernels += print(
          "$result$ $id$($parameters$);\n"
          "$result$ $id$($parameters$) {\n  return nested::$function$(operators::$id$, $arguments$);\n}\n",
          values);
    }
  }
  return file_header(table) + "#include <tuple>\n\n#include \"aten/nested/element_wise.h\"\n" +
         "\nnamespace at::operators {\n" + declarations + "}  // namespace at::operators\n" +
         "\nnamespace at::nested_kernels {\n" + kernels + "}  // namespace at::nested_kernels\n";
}

}  // namespace kindling::codegen
