// Nodes that one step of a program computes.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "graph/ir/graph.h"

namespace torch::aot {

struct Fusions {
  /// All but the last of each group, with the last.
  std::map<const graph::Node*, const graph::Node*> runs_with;
  /// By the last node: the group in order.
  std::map<const graph::Node*, std::vector<const graph::Node*>> groups;
};

/// Finds convolutions and products with constant weights, with what follows them (sum with a tensor of the same layout,
/// relu, hardtanh), and puts the nodes of a group side by side.
Fusions find_fusions(graph::Graph& graph);

/// Whether it is a convolution for the packed ones of at::matrix, but for the layout of its input.
bool is_packable_convolution(const graph::Node& node);

/// x w + bias, w[k, n], or x w^T where `transposed`.
struct ConstantProduct {
  graph::Operand x, weight;
  bool transposed;
  const graph::Operand* bias;  ///< of the node; null where there is none
};
/// What linear, mm and addmm multiply, where `weight` is a constant matrix, x and the result are dense, and all are of
/// one floating type.
std::optional<ConstantProduct> constant_product(const graph::Node& node);
/// Whether it is one for at::matrix::PackedProduct.
bool is_packable_product(const graph::Node& node);

}  // namespace torch::aot
