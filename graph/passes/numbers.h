// Whole numbers that depend on sizes alone.
#pragma once

#include "graph/ir/graph.h"
#include "graph/passes/pass.h"

namespace torch::graph {

/// Puts expressions of sizes in the place of the numbers that calls compute from them: sizes, strides and element
/// counts of tensors with infos (propagate_shapes), sums, products, quotients, and comparisons whose answer the
/// symbols' ranges leave no doubt of. Assertions of what is then true are erased. Calls whose results nothing reads any
/// more are left for eliminate_dead_code(). `changes`: numbers replaced and assertions erased.
///
///   // %0 = aten::sym_size.int(%x, 0); %1 = _operator::mul(%0, 2); aten::view(%x, [%1])    ->    aten::view(%x,
///   [{2*s0}])
PassResult resolve_numbers(Graph& graph);

}  // namespace torch::graph
