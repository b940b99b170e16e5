// Pictures of graphs.
#pragma once

#include <string>

#include "graph/ir/graph.h"

namespace torch::graph {

struct DrawOptions {
  /// Graphs with more nodes throw ValueError.
  size_t max_nodes = 20000;
};

/// The graph as an SVG file of its own: a box a node, in layers from the inputs down, with a line for each operand.
/// Boxes have the node's name and its results' sizes; the whole line of text shows where the mouse is over one. Nodes
/// of inner blocks stand between their owner and what uses its results.
std::string draw(const Graph& graph, const DrawOptions& options = {});

}  // namespace torch::graph
