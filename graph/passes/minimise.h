// Small graphs that still show an error.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "c10/value/stack.h"
#include "graph/ir/graph.h"

namespace torch::graph {

struct Minimised {
  /// Nodes of the graph from one to the first that shows the error, with all their results as outputs.
  std::unique_ptr<Graph> graph;
  c10::Stack inputs;
  /// The first node of the given graph that shows it.
  const Node* node = nullptr;
};

/// Looks for the first node with which `fails(graph, inputs)` holds, by halving: the graph is cut off behind a node,
/// and what it computed so far is what it gives. Then cuts off as much of the beginning as it can, whose values, as the
/// interpreter finds them, become inputs. Nothing where the whole does not fail. Nodes with blocks stay as they are.
///
/// `fails` compares, say, a compiled graph with the interpreter; exceptions that it lets through count as failures.
/// Takes as many calls as the logarithm of the nodes, twice, where a graph that is cut off later also fails.
///
///   const auto small = minimise(graph, inputs, [](const Graph& g, const c10::Stack& in) { return differs(g, in); });
///   print(*small->graph);                         // to make a test of
std::optional<Minimised> minimise(const Graph& graph, const c10::Stack& inputs,
                                  const std::function<bool(const Graph&, const c10::Stack&)>& fails);

}  // namespace torch::graph
