#include "graph/passes/operands.h"

#include "aten/core/tensor.h"

namespace torch::graph {

bool is_none(const Operand& operand) {
  return operand.is_constant() && operand.constant().isNone();
}
bool is_constant_tensor(const Operand& operand) {
  return operand.is_constant() && operand.constant().isTensor() && operand.constant().toTensor().defined();
}
bool is_one(const Operand& operand) {
  if (!operand.is_constant()) return false;
  const c10::IValue& v = operand.constant();
  return (v.isInt() && v.toInt() == 1) || (v.isDouble() && v.toDouble() == 1);
}
bool is_false(const Operand& operand) {
  return operand.is_constant() && operand.constant().isBool() && !operand.constant().toBool();
}

std::optional<std::vector<int64_t>> constant_ints(const Operand& operand) {
  if (operand.is_constant() && operand.constant().isIntList()) return operand.constant().toIntVector();
  if (!operand.is_list()) return std::nullopt;
  std::vector<int64_t> all;
  for (const Operand& part : operand.list()) {
    if (!part.is_constant() || !part.constant().isInt()) return std::nullopt;
    all.push_back(part.constant().toInt());
  }
  return all;
}

}  // namespace torch::graph
