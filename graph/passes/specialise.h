// Graphs for sizes that are known.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "graph/ir/graph.h"

namespace torch::graph {

/// The graph where its symbols have those values: expressions in operands, infos and numbers become integers. Symbols
/// that are not named stay. What generalise() undoes.
std::unique_ptr<Graph> specialise(const Graph& graph, const std::map<std::string, int64_t>& symbols);

}  // namespace torch::graph
