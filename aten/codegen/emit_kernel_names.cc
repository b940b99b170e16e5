#include "aten/codegen/emit.h"

// What the functions are called that compute operators on the CPU, for programs that call them without the operators.
namespace kindling::codegen {

std::string emit_kernel_names(const std::vector<Table>& tables) {
  std::string out =
      "// Generated from the operator tables by aten/codegen: one line a form with a kernel of its own.\n";
  for (const Table& table : tables) {
    for (const Operator& op : table.operators) {
      for (const Variant* variant : op.variants()) {
        const Kernel* kernel = variant->kernel(Kernel::CPU);
        const char* how = op.structured() && variant == &op.main ? "kFills" : "kReturns";
        if (kernel == nullptr && (kernel = variant->kernel(Kernel::ANY)) != nullptr) how = "kReturns";
        if (kernel == nullptr) continue;
        if (variant->kernel_knows_key()) how = "kReturnsOnCpu";
        out += "{" + quoted(variant->schema.qualified_name()) + ", " + quoted(table.family) + ", " +
               quoted(kernel->function()) + ", KernelCall::" + how + ", " +
               (op.entry.element_wise() ? "true" : "false") + "},\n";
      }
    }
  }
  return out;
}

}  // namespace kindling::codegen
