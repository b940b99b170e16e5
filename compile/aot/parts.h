// Control flow: what a node runs becomes programs of their own, which it invokes.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace torch::aot {

struct PreparedProgram;

/// A comparison of numbers that follow from the sizes.
struct SizeCondition {
  const char* comparison;  ///< of C++
  graph::IntExpr left, right;
};

/// What an invocation in a prepared graph computes. Its operands are dense, row-major tensors: the condition of kIf, if
/// it is a tensor, what is carried from turn to turn, what is sliced along dimension 0, and what bodies read besides.
/// Its results are what is carried, then what is stacked; of kIf those of the body that ran.
struct ProgramPart {
  struct Body {
    std::shared_ptr<PreparedProgram> program;
    std::vector<size_t> operands;  ///< of each of its inputs the operand
  };
  graph::Node::Kind kind;                  ///< kIf, kWhile, or kScan, which stands for kMap and kLoop, too
  std::optional<SizeCondition> condition;  ///< of kIf: instead of a tensor
  size_t carried = 0, sliced = 0;
  graph::IntExpr turns = 0;  ///< of kScan
  std::vector<Body> bodies;  ///< of kIf those of true and false, of kWhile the condition and what is done
};

/// Whether the node becomes an invocation, which gives tensors of its own.
bool is_part(const graph::Node& node);

/// Copies what nodes of control flow carry, slice and give, where it does not lie dense, row-major and from its
/// storage's beginning on: as outlined parts have it. Infos hold after the next propagation.
void lay_out_parts(graph::Graph& graph);

/// Makes a program of a graph whose inputs are dense, row-major tensors.
using PreparePart = std::function<std::shared_ptr<PreparedProgram>(std::unique_ptr<graph::Graph>)>;

/// Replaces the control flow in the graph's own block, laid out, by invocations of parts, by their names. Where a
/// condition is constant, the branch stands in its place. Throws ValueError for what has no such form: numbers that
/// depend on elements, branches with results of different sizes, turns that change the sizes of what they carry.
std::map<std::string, ProgramPart> outline_parts(graph::Graph& graph, const PreparePart& prepare_part);

}  // namespace torch::aot
