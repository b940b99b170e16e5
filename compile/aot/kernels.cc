#include "compile/aot/kernels.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "compile/aot/steps.h"
#include "graph/passes/effects.h"

namespace torch::aot {

const kindling::KernelName* find_kernel(std::string_view op) {
  static const auto* const by_name = [] {
    auto* all = new std::map<std::string_view, const kindling::KernelName*>();
    for (const kindling::KernelName& kernel : kindling::kKernelNames) all->emplace(kernel.op, &kernel);
    return all;
  }();
  const auto found = by_name->find(op);
  return found == by_name->end() ? nullptr : found->second;
}

const kindling::KernelName* find_filling_kernel(std::string_view op) {
  if (op == "max_pool2d") return find_kernel("max_pool2d_with_indices");
  if (op == "max_pool3d") return find_kernel("max_pool3d_with_indices");
  return nullptr;
}

std::string functional_name(const graph::Node& node) {
  const c10::FunctionSchema& schema = node.callable().schema();
  if (schema.name().rfind("aten::", 0) != 0) return "";
  std::string name = schema.qualified_name();
  if (graph::written_operands(node).empty()) return name;
  const size_t dot = std::min(name.find('.'), name.size());
  if (dot > 0 && name[dot - 1] == '_') name.erase(dot - 1, 1);
  return name;
}

namespace {

// What a tensor is a view of, after all.
const graph::Value* base_of(const graph::Value* value) {
  while (value->node() != nullptr && graph::is_view(*value->node()) && value->node()->operand(0).is_value()) {
    value = value->node()->operand(0).value();
  }
  return value;
}

// Steps that write where their first operand is or was copied to (steps.cc).
bool is_changing_step(std::string_view op) {
  return op == "copy" || op == "slice_scatter" || op == "select_scatter";
}

}  // namespace

const kindling::KernelName* find_changing_kernel(const graph::Node& node) {
  std::string name = functional_name(node);
  if (name.empty() || node.result_count() != 1 || node.operands().empty() || !node.operand(0).is_value()) {
    return nullptr;
  }
  const graph::TensorInfo *const info = node.result()->info(), *const changed = node.operand(0).value()->info();
  if (info == nullptr || changed == nullptr || changed->dtype != info->dtype || !(changed->sizes == info->sizes)) {
    return nullptr;
  }
  name.insert(std::min(name.find('.'), name.size()), "_");
  const kindling::KernelName* const found = find_kernel(name);
  const bool changes = found != nullptr && std::string_view(found->family) == "index";
  return changes && found->call == kindling::KernelCall::kReturns ? found : nullptr;
}

bool may_compute_in_place(const graph::Node& node) {
  const std::string name = functional_name(node);
  const kindling::KernelName* kernel = find_kernel(name);
  if (kernel != nullptr && kernel->call == kindling::KernelCall::kFills && kernel->element_wise) return true;
  if (!is_changing_step(name) && find_changing_kernel(node) == nullptr) return false;
  if (!node.operand(0).is_value()) return false;
  // What is read elsewhere must not be what is being changed.
  const graph::Value* const changed = base_of(node.operand(0).value());
  size_t reads = 0;
  for (const graph::Operand& operand : node.operands()) {
    operand.for_values([&](const graph::Value* value) { reads += base_of(value) == changed; });
  }
  return reads == 1;
}

bool is_printed_whole(const c10::FunctionSchema& op) {
  if (op.name().rfind("aten::", 0) != 0) return false;
  const std::string name = op.qualified_name();
  // What groups compute of elements, though it has parts.
  static constexpr std::string_view kElements[] = {"relu", "hardtanh", "silu", "hardswish", "hardsigmoid", "gelu"};
  if (std::find(std::begin(kElements), std::end(kElements), name) != std::end(kElements)) return true;
  if (find_step(name) != nullptr) return true;
  const kindling::KernelName* kernel = find_kernel(name);
  return kernel != nullptr && kernel->call == kindling::KernelCall::kFills;
}

}  // namespace torch::aot
