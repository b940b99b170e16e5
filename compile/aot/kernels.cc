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

bool may_compute_in_place(const graph::Node& node) {
  const kindling::KernelName* kernel = find_kernel(functional_name(node));
  return kernel != nullptr && kernel->call == kindling::KernelCall::kFills && kernel->element_wise;
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
