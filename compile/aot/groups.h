// Element-wise operators and functions of rows that one step of a program computes.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compile/group/fuse.h"
#include "graph/ir/graph.h"

namespace torch::aot {

/// How elements are gone through: outermost dimension first, as few as the strides allow.
struct Nest {
  std::vector<graph::IntExpr> sizes;
  std::vector<std::vector<graph::IntExpr>> strides;  ///< in elements, by dimension, then operand

  const graph::IntExpr& run() const { return sizes.back(); }
  /// Of an operand along the last dimension.
  const graph::IntExpr& step(size_t operand) const { return strides.back()[operand]; }
};

/// A group as it is printed. Operands are its outputs, then its inputs.
struct GroupPlan {
  Nest nest;
  // Of groups with rows.
  graph::IntExpr row = 0;        ///< elements of a row
  std::optional<size_t> source;  ///< the operand that the row is read from, where nothing is computed before it
  size_t target = 0;             ///< the output that rows are computed in
};

/// What one element of an operand that is read is to another's.
graph::TensorInfo operand_info(const compiler::Group& group, size_t operand);

/// How the group is printed; nothing, and why, where it cannot be.
std::optional<GroupPlan> plan_group(const compiler::Group& group, std::string& why);

/// Whether output `result` may be computed in the memory of input `operand`, whose elements lie as its own.
bool may_replace(const compiler::Group& group, const GroupPlan& plan, size_t result, size_t operand);

/// The operations that an output or the row depends on, in order; of what is computed behind the row, not those of it.
struct Needed {
  std::vector<size_t> operations, inputs;
  bool row = false;
};
Needed needed_by(const compiler::Group& group, const std::vector<compiler::Ref>& values, bool to_row);

struct ProgramGroup {
  compiler::FusedPart part;
  GroupPlan plan;
};

struct FoundGroups {
  std::vector<ProgramGroup> groups;  ///< invoked in the graph by their names
  std::vector<std::string> refused;  ///< "mul, relu: why", of what stays call by call
};

/// Moves nodes into groups (compiler::fuse), but for those of `taken`.
FoundGroups find_groups(graph::Graph& graph, const std::set<const graph::Node*>& taken);

/// "mul.Tensor, add.Tensor, gelu".
std::string operators_of(const graph::Graph& part);

}  // namespace torch::aot
