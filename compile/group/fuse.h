// Finds what can be computed together: pointwise operators, and functions of rows between them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compile/group/group.h"
#include "graph/ir/graph.h"

namespace torch::compiler {

struct FuseOptions {
  size_t min_nodes = 2;      ///< smaller groups stay in the graph
  size_t max_nodes = 64;     ///< of a group
  size_t max_operands = 24;  ///< tensors that a group reads and writes
  bool rows = true;          ///< whether functions of rows are taken
  std::string name = "fused";
  std::function<bool(const graph::Node&)> allows = nullptr;  ///< which nodes may be taken; null: all
};

/// A part of a graph that is one group. The graph invokes it (Node::Kind::kInvoke) by the name that `graph` has, with
/// the inputs of `graph`, and has its outputs.
struct FusedPart {
  std::unique_ptr<graph::Graph> graph;  ///< the nodes as they were: what the group is compared with
  Group group;                          ///< inputs as those of the graph, then constants
};

/// Moves nodes that lower() takes into parts, as few and as large as it finds: nodes whose results have the same sizes,
/// of one device, each of which reads another's result, or a tensor that another reads. Memory that a graph writes to is
/// left alone: functionalize() goes first. The infos of values (propagate_shapes) say what has which sizes.
std::vector<FusedPart> fuse(graph::Graph& graph, const FuseOptions& options = {});

/// The group that a graph of such nodes is. Throws ValueError that names the node for one that lower() does not take,
/// whose result has other sizes than the outputs, or that is a second function of rows.
Group describe(const graph::Graph& graph);

}  // namespace torch::compiler
