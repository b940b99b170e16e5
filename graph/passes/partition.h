// Cuts graphs into parts that something else runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "c10/util/array_ref.h"
#include "graph/ir/graph.h"

namespace torch::graph {

struct PartitionOptions {
  /// Parts of fewer nodes stay in the graph.
  size_t min_nodes = 1;
  /// Parts are called this and their number.
  std::string name = "part";
  /// Whether a node may join a part of these nodes; null: any node any part.
  std::function<bool(c10::ArrayRef<const Node*> part, const Node& node)> joins;
};

/// Moves nodes for which `supports` holds into graphs of their own, as few and as large as it finds, and invokes those
/// (Node::Kind::kInvoke, by their names; Surroundings::function gives the interpreter what runs them). No part depends
/// on itself by way of nodes outside. Nodes that write memory, and those that touch it before and after, keep their
/// order; nodes that write, have effects or inner blocks are not asked for. Other nodes may move behind a part. No part
/// has nodes on both sides of a multiple of 4,096. Returns the parts in the order in which they run.
std::vector<std::unique_ptr<Graph>> partition(Graph& graph, const std::function<bool(const Node&)>& supports,
                                              const PartitionOptions& options = {});

}  // namespace torch::graph
