// One graph from several of one program at other sizes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace torch::graph {

/// The graph that all of these are, made of one program where the symbols of its sizes have those values
/// (sample_points): each integer that differs between them becomes an expression of the symbols (fit), in operands and
/// in infos, and the graph has the ranges of its symbols.
///
/// An expression holds at the points and, one may hope, elsewhere: a program whose integers agree with it at all points
/// and not between them is not found out. Throws ValueError, naming the node and what differs, where the graphs call
/// other operators, differ in something other than integers, or in integers that no expression gives.
std::unique_ptr<Graph> generalise(const std::vector<const Graph*>& graphs,
                                  const std::vector<std::map<std::string, int64_t>>& points,
                                  const std::map<std::string, IntRange>& ranges);

}  // namespace torch::graph
