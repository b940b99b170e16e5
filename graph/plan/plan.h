// Where the tensors of a run lie in one block of memory, decided before it.
//
//   const Plan plan = plan_memory(graph);        // after propagate_shapes
//   plan.layout.bytes;                           // of the arena; plan.layout.lower_bound: no layout has less
//   plan.layout.offsets[plan.buffers_of(value)[0]];
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "c10/util/array_ref.h"
#include "graph/ir/graph.h"

namespace torch::graph {

/// Memory that is needed from the step `first` to the step `last`, both included.
struct Buffer {
  int64_t bytes = 0;
  int64_t first = 0, last = 0;
};

struct Layout {
  std::vector<int64_t> offsets;  ///< one a buffer, multiples of the alignment
  int64_t bytes = 0;             ///< that the arena has
  int64_t lower_bound = 0;       ///< the most that is needed in one step, which no layout can do with less than
};

/// Places the buffers so that no two that are needed in one step overlap: the largest first, each into the smallest gap
/// that holds it. Deterministic. Throws ValueError for negative bytes, a buffer that ends before it begins, an
/// alignment that is no power of two, and sums beyond 64 bits.
Layout lay_out(c10::ArrayRef<Buffer> buffers, int64_t alignment = 64);

struct PlanOptions {
  int64_t alignment = 64;
  /// Whether what is returned lies in the arena, too; else the caller owns it.
  bool outputs = true;
  /// Nodes that are computed in one step with a later one, by what is fused: their operands are needed until then, and
  /// their results, which only nodes of that step read, have no memory.
  std::map<const Node*, const Node*> runs_with;
  /// Of the sizes that have any.
  std::map<std::string, int64_t> symbols;
  /// Whether a node's new tensors lie in the arena; others have buffers of no bytes. Null: all do. Where it is there,
  /// graphs may invoke functions, of which is taken that they give new tensors, of the infos that their results have.
  std::function<bool(const Node&)> places;
  /// Whether a node may compute a result in the memory of an operand, a tensor of the same sizes, strides and element
  /// size that nothing reads later. Null: none may.
  std::function<bool(const Node& node, size_t result, size_t operand)> may_replace;
};

struct Plan {
  std::vector<Buffer> buffers;  ///< steps are the nodes of the graph in order; the end is one more
  Layout layout;
  int64_t unshared_bytes = 0;  ///< what the buffers would need one beside the other
  /// The numbers of the buffers that a value is in: one for a tensor, several for a list, none for inputs, constants
  /// and numbers. Views, and what calls in place return, are in their base's.
  std::map<const Value*, std::vector<size_t>> values;
  const std::vector<size_t>& buffers_of(const Value* value) const;
};

/// Lifetimes and places of all tensors that a graph makes. Which results are views of which arguments is asked of the
/// operators' rules for tensors on meta. Of graphs without control flow whose tensors have infos (propagate_shapes);
/// others throw ValueError that names the node.
Plan plan_memory(const Graph& graph, const PlanOptions& options = {});

}  // namespace torch::graph
