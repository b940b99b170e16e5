// Batch norms that only scale and shift, into the weights before them.
#pragma once

#include "c10/value/ivalue.h"
#include "graph/ir/graph.h"
#include "graph/passes/pass.h"

namespace torch::graph {

/// Makes an input of the graph the constant `value`, which stands in its place everywhere: weights, before those passes
/// that compute with constants. The input is gone. Throws IndexError where there is none of that number.
void bind_input(Graph& graph, size_t input, const c10::IValue& value);

/// Folds batch norms in evaluation (batch_norm with training=False, _native_batch_norm_legit_no_training) into the
/// convolution, or the linear call on a matrix, that they follow and that nothing else reads. Weights and statistics
/// are constants (bind_input). Of conv1d, conv2d, conv3d and convolution without transposition; of linear where its
/// info says that its result has two dimensions. The results are as exact, but not the same bits. `changes`: norms
/// folded.
PassResult fold_batch_norm(Graph& graph);

}  // namespace torch::graph
