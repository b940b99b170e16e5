// Random graphs of what fused groups take.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "c10/value/stack.h"
#include "graph/ir/graph.h"

namespace torch::compiler::testing {

struct RandomGroupOptions {
  int nodes = 12;
  bool rows = false;          ///< softmax, layer_norm
  bool dense_inputs = false;  ///< strided tensors are views that the graph takes, not inputs
};

struct RandomGroup {
  std::unique_ptr<graph::Graph> graph;
  c10::Stack inputs;
};

/// Operators of all dtypes on tensors of these sizes and what broadcasts to them, strided, permuted or dense, with
/// infinities and NaN; every value that nothing reads is an output.
RandomGroup random_group(unsigned seed, const std::vector<int64_t>& sizes, const RandomGroupOptions& options = {});

/// Sizes with special cases: none, one, zero, tails.
const std::vector<std::vector<int64_t>>& shapes();

/// An operator: "add.Tensor".
graph::Callable find(const std::string& name);

}  // namespace torch::compiler::testing
