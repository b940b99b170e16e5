// Which operators fused groups take, and what they are made of: the one table that says so.
#pragma once

#include <optional>
#include <vector>

#include "compile/group/group.h"
#include "graph/ir/graph.h"

namespace torch::compiler {

/// What one call computes of an element, or of a row. Ref{kInput, i} is the node's operand i; the last operation, or
/// the row, gives the result.
struct Lowered {
  std::vector<GroupConstant> constants;
  std::vector<Operation> operations;
  std::optional<RowOperation> row;
};

/// Nothing for a node that groups do not take: another operator; a tensor of which nothing is known, that lies
/// elsewhere than the result, on a device whose groups nothing compiles (group_compiler.h), or has a dtype without
/// register_type(); arguments with which the operator may fail when it runs (integers divided) or does not look at
/// elements alone. A number that stands as a CPU tensor beside tensors of a device is taken as a number.
///
/// A result's sizes are those of the group. Gives what the operator's kernel of that device gives, bit for bit.
std::optional<Lowered> lower(const graph::Node& node);

/// What is known of a tensor operand: a value's info, or that of a constant tensor. Nothing for other operands.
std::optional<graph::TensorInfo> tensor_info(const graph::Operand& operand);

}  // namespace torch::compiler
