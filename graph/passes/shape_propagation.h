// What is known of every tensor in a graph before it runs, by the rules that operators have for tensors on meta.
#pragma once

#include <optional>

#include "c10/util/array_ref.h"
#include "c10/value/stack.h"
#include "graph/ir/graph.h"
#include "graph/passes/pass.h"

namespace torch::graph {

/// Sets Value::info() of all values for which it can be found: dtype, device, sizes, strides, offset. Inputs are those
/// of `examples` (tensors on any device, numbers; their elements are not read), or where it is empty those that the
/// inputs' own infos describe. Nothing is computed but sizes.
///
/// Where the inputs' sizes have symbols, the graph is gone through at several values of each, and every size is fitted:
/// a number, a multiple of a product of symbols plus a number (`4*s0*s1 + 1`), or the quotient of a symbol, shifted, by
/// a number, rounded down (`(s0 + 1)//2`). A fit holds at points that it was not made from. A size that no such
/// expression gives leaves its tensor without info.
///
/// Values have no info where an operator refuses tensors on meta (its result's size depends on elements: nonzero), and
/// what is computed from them; carried values of loops neither where a turn changes their size. `changes`: the values
/// that have one now. `notes`: the nodes that stopped it.
///
/// Throws ValueError where `examples` are not as many as the inputs.
PassResult propagate_shapes(Graph& graph, c10::ArrayRef<c10::IValue> examples = {});

/// What one call gives for arguments on meta (constant tensors are put there, devices replaced); nothing where it
/// refuses. Arguments in the schema's order.
std::optional<c10::Stack> call_on_meta(const Callable& callable, c10::Stack arguments);

}  // namespace torch::graph
