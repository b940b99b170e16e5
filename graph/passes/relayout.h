// Tensors with other strides.
#pragma once

#include "graph/ir/graph.h"

namespace torch::graph {

/// The value with the strides of `wanted`, which has its sizes: a copy by clone, between permutes where the dimensions
/// lie in another order, before the node `place`. The value itself where it has these strides by its info, and where
/// they are not those of elements side by side, which no copy can have.
Value* with_strides(Value* value, const TensorInfo& wanted, Node* place);

}  // namespace torch::graph
