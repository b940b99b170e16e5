// Convolutions and products with constant weights, and what follows them: nodes that one step computes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "aten/cpu/matrix/convolution.h"
#include "graph/ir/graph.h"

namespace torch::compiler {

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
/// What such a convolution is to at::matrix, of images whose channels lie side by side. `size` says how large the sizes
/// of its images are.
at::matrix::Convolution convolution_of(const graph::Node& node,
                                       const std::function<int64_t(const graph::IntExpr&)>& size);
/// What of at::matrix computes it.
enum class ConvolutionForm { kProduct, kDirect, kDepthwise, kWinograd };
ConvolutionForm form_of(const at::matrix::Convolution& c);

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

/// Whether it is a packable product of a value, or a packable convolution from and to images with their channels side
/// by side: what a group begins with.
bool is_layer(const graph::Node& node);

/// What a step does to each element of its result before it is stored: min(max(result + add, low), high).
struct Epilogue {
  const graph::Value* add = nullptr;  ///< a tensor that lies like the result, or null
  double low, high;                   ///< infinite where there is no limit
};
/// Of the nodes behind the first of a group.
Epilogue epilogue_of(const std::vector<const graph::Node*>& group);

/// What a group, or a layer alone, reads: its input, and the tensor that is added, where there is one.
std::vector<graph::Operand> inputs_of(const std::vector<const graph::Node*>& group);

}  // namespace torch::compiler
