// Finds parts of graphs that look like a pattern, and replaces them.
//
//   // gelu(x + y) by a call that does both
//   const auto pattern = parse_graph("graph p(%x: Tensor, %y: Tensor) { ... return %1 }", names);
//   replace_pattern(graph, *pattern, *replacement);
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/text.h"
#include "graph/passes/pass.h"

namespace torch::graph {

/// For patterns as text: the operators of the dispatcher by their names.
TextNames dispatcher_names();

/// A part of a graph that looks like a pattern.
class Match {
 public:
  /// What stands for the pattern's input of that name, or number.
  const Operand& hole(std::string_view name) const;
  const Operand& hole(size_t i) const { return holes_.at(i); }
  /// The node that gives what the pattern returns.
  Node* anchor() const { return nodes_.front(); }
  /// All nodes of it, users before what they use.
  c10::ArrayRef<Node*> nodes() const { return nodes_; }

 private:
  friend class Matcher;
  const Graph* pattern_ = nullptr;
  std::vector<Operand> holes_;
  std::vector<Node*> nodes_;
};

/// Whether `anchor` and what it is computed from look like the pattern, a graph that returns one result and has no
/// blocks: text, or what capture() made of a C++ function. Its inputs are holes, which any value, constant or list may
/// fill, the same at each place. Nodes call the same, or are of the same kind, with operands that match; constants are
/// equal.
///
/// The nodes lie in one block, write nothing and draw no random numbers; nothing between them writes to what they read;
/// and nothing outside uses what only the pattern's inside gives. Throws ValueError for a pattern of another form.
std::optional<Match> match(const Graph& pattern, Node* anchor);

/// Replaces the parts that match by what `make` returns, which may insert nodes before the anchor; nothing where the
/// part shall stay. `changes`: parts replaced.
PassResult rewrite(Graph& graph, const Graph& pattern, const std::function<std::optional<Operand>(const Match&)>& make);

/// The same with a copy of `replacement`, whose inputs are some of the pattern's by their names, or, where it has as
/// many and none has a name, by their order. `where` may be null. Throws ValueError for an input that the pattern does
/// not have.
PassResult replace_pattern(Graph& graph, const Graph& pattern, const Graph& replacement,
                           const std::function<bool(const Match&)>& where = nullptr);

}  // namespace torch::graph
