// The steps of groups.
#include <string>
#include <vector>

#include "compile/aot/printer.h"
#include "compile/aot/printing.h"
#include "compile/aot/runtime/groups.h"
#include "graph/ir/text.h"

namespace torch::aot {

using c10::ScalarType;
using compiler::Group;
using compiler::RowFunction;
using graph::IntExpr;
using graph::Node;
using graph::Operand;

namespace {

std::string array(const char* name, const std::vector<IntExpr>& numbers) {
  bool fixed = true;
  for (const IntExpr& e : numbers) fixed = fixed && e.is_constant();
  return std::string(fixed ? "static constexpr" : "const") + " int64_t " + name + "[] = " + print(numbers) + ";";
}

std::string row_function(const compiler::RowOperation& row) {
  const std::string type = row.dtype == ScalarType::Double ? "<double>" : "<float>";
  switch (row.function) {
    case RowFunction::kSoftmax:
      return "torch::aot::softmax_of_rows" + type;
    case RowFunction::kLogSoftmax:
      return "torch::aot::log_softmax_of_rows" + type;
    case RowFunction::kLayerNorm:
      return "torch::aot::layer_norm_of_rows" + type;
  }
  return "";
}

}  // namespace

void Printer::group_step(const Node& invoke) {
  const ProgramGroup& one = *groups_.at(invoke.name());
  const Group& group = one.part.group;
  const Nest& nest = one.plan.nest;
  const size_t outputs = group.outputs.size(), count = outputs + group.inputs.size();
  include("compile/aot/runtime/groups.h");
  std::vector<const Node*> nodes;
  for (const Node* node : one.part.graph->block()) nodes.push_back(node);
  for (const Node* node : nodes) line("// " + graph::print_node(*node));
  std::vector<std::string> data;
  for (size_t i = 0; i < outputs; ++i) data.push_back(pointer(invoke.result(i)));
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    const bool given = i < invoke.operands().size();
    data.push_back("const_cast<char*>(" + pointer(given ? invoke.operand(i) : Operand(group.inputs[i].constant)) + ")");
  }
  std::vector<IntExpr> strides;
  bool is_dense = nest.sizes.size() == 1;
  for (const std::vector<IntExpr>& along : nest.strides) {
    for (size_t k = 0; k < count; ++k) {
      is_dense = is_dense && (along[k] == IntExpr(1) || along[k] == IntExpr(0));
      strides.push_back(along[k] * static_cast<int64_t>(c10::elementSize(operand_info(group, k).dtype)));
    }
  }
  const std::string space = kernels_name() + "::";
  line("{");
  line("  char* const data[] = " + braces(data) + ";");
  IntExpr elements = 1;
  for (const IntExpr& size : nest.sizes) elements = elements * size;
  operations_ = elements * static_cast<int64_t>(nodes.size());
  if (!group.row.has_value() && is_dense && largest(elements) <= kFewElements) {
    line("  " + space + kernels_.of_elements(one) + ".get()(data, nullptr, " + print(elements) + ");");
    line("}");
    return report(nodes, invoke);
  }
  line("  " + array("sizes", nest.sizes));
  line("  " + array("strides", strides));
  const std::string nest_text =
      braces({print(static_cast<int64_t>(nest.sizes.size())), print(static_cast<int64_t>(count)), "sizes", "strides"});
  if (!group.row.has_value()) {
    const char* const run = largest(elements) <= kFewElements ? "run_group_alone(" : "run_group(";
    line(std::string("  torch::aot::") + run + space + kernels_.of_elements(one) + ", data, " + nest_text + ");");
    line("}");
    return report(nodes, invoke);
  }
  std::string context = "nullptr";
  if (group.row->function == RowFunction::kLayerNorm) {
    const auto part = [&](const std::optional<compiler::Ref>& ref) {
      return ref.has_value() ? "data[" + std::to_string(outputs + ref->index) + "]" : std::string("nullptr");
    };
    line("  const torch::aot::NormContext context" +
         braces({part(group.row->weight), part(group.row->bias), print_double(group.row->eps)}) + ";");
    context = "&context";
  }
  const std::string before = kernels_.before_row(one), after = kernels_.after_row(one);
  const auto address = [&](const std::string& name) { return name.empty() ? "nullptr" : "&" + space + name; };
  const size_t source = one.plan.source.value_or(one.plan.target);
  const char* const run = largest(elements) <= kFewElementsOfRows ? "run_rows_alone(" : "run_rows(";
  line(std::string("  torch::aot::") + run +
       braces({address(before), row_function(*group.row), context, address(after), print(static_cast<int64_t>(source)),
               print(static_cast<int64_t>(one.plan.target)), print(one.plan.row)}) +
       ", data, " + nest_text + ");");
  line("}");
  report(nodes, invoke);
}

}  // namespace torch::aot
