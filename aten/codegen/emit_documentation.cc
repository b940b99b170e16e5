#include "aten/codegen/emit.h"

namespace kindling::codegen {
namespace {

// How a form of an operator is differentiated.
enum class Gradient { kNoKernel, kNone, kNondifferentiable, kComposed, kDerivative };

Gradient gradient_of(const Operator& op, const Variant& variant) {
  if (!op.has_kernel() && variant.kernels.empty()) return Gradient::kNoKernel;
  if (op.entry.nondifferentiable() || variant.nondifferentiable) return Gradient::kNondifferentiable;
  if (op.composite() || variant.composite()) return Gradient::kComposed;
  if (!op.differentiable(variant)) return Gradient::kNondifferentiable;
  return op.entry.derivative_size() > 0 ? Gradient::kDerivative : Gradient::kNone;
}

// The same in forward mode.
Gradient forward_of(const Operator& op, const Variant& variant) {
  const Gradient gradient = gradient_of(op, variant);
  if (gradient != Gradient::kDerivative && gradient != Gradient::kNone) return gradient;
  return op.entry.forward_size() > 0 ? Gradient::kDerivative : Gradient::kNone;
}

const char* enumerator(Gradient gradient) {
  switch (gradient) {
    case Gradient::kNoKernel: return "kNoKernel";
    case Gradient::kNone: return "kNone";
    case Gradient::kNondifferentiable: return "kNondifferentiable";
    case Gradient::kComposed: return "kComposed";
    case Gradient::kDerivative: return "kDerivative";
  }
  return "";
}

const char* words(Gradient gradient) {
  switch (gradient) {
    case Gradient::kNoKernel: return "";
    case Gradient::kNone: return "none yet: backward throws";
    case Gradient::kNondifferentiable: return "not differentiable";
    case Gradient::kComposed: return "of its parts";
    case Gradient::kDerivative: return "yes";
  }
  return "";
}

const char* forward_words(Gradient gradient) {
  return gradient == Gradient::kNone ? "none yet: a tangent throws" : words(gradient);
}

std::string kernel_words(const Operator& op) {
  if (!op.has_kernel()) return "";
  if (op.alias()) return "is `" + op.alias_name() + "`";
  if (op.changes_copy()) return "`" + op.entry.copy_of() + "` of a copy";
  if (op.copies()) return "copies `" + op.entry.copy_of() + "`";
  if (op.composite()) return op.main.kernel(Kernel::CPU) != nullptr ? "CPU, else composed" : "composed";
  if (op.main.kernel(Kernel::ANY) != nullptr) return "any device";
  std::string text;
  for (const Kernel& kernel : op.main.kernels) text += (text.empty() ? "" : ", ") + Kernel::Key_Name(kernel.key());
  return op.structured() ? text + ", META" : text;
}

std::string forms(const Operator& op) {
  std::string text;
  if (op.inplace) text += "`" + op.inplace->schema.qualified_name() + "`";
  if (op.out) text += (text.empty() ? "" : " ") + ("`" + op.out->schema.qualified_name() + "`");
  return text;
}

}  // namespace

std::string emit_facts(const std::vector<Table>& tables) {
  std::string out = "// Generated from the operator tables by aten/codegen: one line a functional or in-place form.\n";
  for (const Table& table : tables) {
    for (const Operator& op : table.operators) {
      for (const Variant* variant : op.variants()) {
        if (variant->form == Form::kOut) continue;
        const bool main = variant == &op.main;
        out += "{" + quoted(variant->schema.qualified_name()) + ", " + quoted(table.family) +
               ", Gradient::" + enumerator(gradient_of(op, *variant)) +
               ", Gradient::" + enumerator(forward_of(op, *variant)) + ", " +
               quoted(main ? op.entry.autocast().cpu() : "") + ", " + quoted(main ? op.entry.autocast().cuda() : "") +
               "},\n";
      }
    }
  }
  return out;
}

std::string emit_documentation(const std::vector<Table>& tables, const Evidence& evidence) {
  size_t all = 0;
  size_t with_kernel = 0;
  std::string body;
  for (const Table& table : tables) {
    std::string rows;
    std::string missing;
    for (const Operator& op : table.operators) {
      const size_t count = op.variants().size();
      all += count;
      if (!op.has_kernel()) {
        missing += (missing.empty() ? "`" : " `") + op.main.schema.qualified_name() + "`";
        continue;
      }
      with_kernel += count;
      rows += "| `" + op.main.schema.qualified_name() + "` | " + forms(op) + " | " + kernel_words(op) + " | " +
              evidence.dtypes(op) + " | " + words(gradient_of(op, op.main)) + " | " + forward_words(forward_of(op, op.main)) + " | " +
              evidence.tests(op) + " | " + evidence.benchmarks(op) + " |\n";
    }
    body += "\n## " + table.family + "\n`//aten/ops/" + table.family + "`, `#include \"aten/ops/" + table.family + "/ops.h\"`\n";
    if (!rows.empty()) body += "\n| operator | other forms | kernels | dtypes | derivative | forward derivative | tests | benchmarks |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n" + rows;
    if (!missing.empty()) body += "\nWithout a kernel (a call throws NotImplementedError): " + missing + "\n";
  }
  std::string looped;
  for (const std::string& name : looped_operators(tables)) looped += " `" + name + "`";
  return "# Operators\n\nGenerated from the tables `aten/ops/*/ops.textproto` by `bazel build //aten/codegen:operators_md`. " +
         std::to_string(with_kernel) + " of " + std::to_string(all) +
         " operators have a kernel. A name is `operator.overload`; its schema stands in the table. Dtypes are those that generated calls "
         "gave a result for; tests are the tables of cases and the test files that name the operator.\n\n"
         "Inside vmap (func/vmap.h), whose tensors are strided, all samples are computed at once, but for these operators, "
         "which are called for one sample after the other:" + looped + ".\n" + body;
}

}  // namespace kindling::codegen
