// Graphs as text, and back.
//
//   graph f(%x: Tensor<Float, cpu, [s0, 4], [4, 1]>, %n: int) {
//     where s0 in [2, 128]
//     %0: Tensor = aten::add.Tensor(%x, %x, 1)
//     %1: Tensor = if(%n) {
//       yield %0
//     } {
//       %2: Tensor = aten::view(%0, [{4*s0}])
//       yield %2
//     }
//     return %1
//   }
//
// A number may say what it is in terms of the sizes: %n: int {2*s0}.
//
// Operands: %value, constants (1, 1.5, True, "text", None, device("cpu"), (1, 2), int[]{1, 2}, Dict(str, int){"a": 1},
// @0 for a tensor), {expression} of sizes, [list of operands].
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/graph.h"

namespace torch::graph {

/// The tensors among the constants stand in `tensors` as @0, @1, ...; they are left out where it is null. What has no
/// text, such as an object, throws ValueError.
std::string print(const Graph& graph, std::vector<c10::IValue>* tensors = nullptr);
/// One line, without inner blocks; never throws.
std::string print_node(const Node& node);

/// What names in a text stand for.
struct TextNames {
  /// "aten::add.Tensor"
  std::function<std::optional<Callable>(std::string_view name)> callable;
  /// @0, @1, ...
  std::vector<c10::IValue> tensors;
};

/// Reads what print() writes. Throws ValueError that names line and column. The graph is verified.
std::unique_ptr<Graph> parse_graph(std::string_view text, const TextNames& names);

}  // namespace torch::graph
