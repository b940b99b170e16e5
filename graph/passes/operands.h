// What operands of calls are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/ir/graph.h"

namespace torch::graph {

bool is_none(const Operand& operand);
/// A defined tensor.
bool is_constant_tensor(const Operand& operand);
/// The number 1, whole or not.
bool is_one(const Operand& operand);
/// False, not a value that may be.
bool is_false(const Operand& operand);
/// The integers of a list that is constant.
std::optional<std::vector<int64_t>> constant_ints(const Operand& operand);

}  // namespace torch::graph
