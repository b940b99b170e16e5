// Nodes that one step of a program computes.
#pragma once

#include <map>
#include <vector>

#include "graph/ir/graph.h"

namespace torch::aot {

struct Fusions {
  /// All but the last of each group, with the last.
  std::map<const graph::Node*, const graph::Node*> runs_with;
  /// By the last node: the group in order.
  std::map<const graph::Node*, std::vector<const graph::Node*>> groups;
};

/// Finds convolutions with what follows them (sum with a tensor of the same layout, relu, hardtanh) and puts the nodes
/// of a group side by side.
Fusions find_fusions(graph::Graph& graph);

/// Whether it is a convolution for at::matrix::PackedConvolution, but for the layout of its input.
bool is_packable_convolution(const graph::Node& node);

}  // namespace torch::aot
