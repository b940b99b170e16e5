// Operators as what they are made of.
#pragma once

#include <functional>

#include "c10/dispatch/registry.h"
#include "graph/ir/graph.h"
#include "graph/passes/pass.h"

namespace torch::graph {

/// Whether an operator is made of others: its table names a decomposition, or it is composed.
bool is_decomposable(const c10::OperatorHandle& op);

/// Whether it is decomposable, and not of the core ATen set (core_operators.h). Not of recurrent layers (lstm, gru):
/// they are made of an operator that others do not know.
bool is_decomposed_to_core(const c10::OperatorHandle& op);

/// Does by other calls what the operator does, on the stack; false where nothing is known that does. For
/// Recorder::Options and CaptureOptions::expand.
bool expand_operator(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack& stack);

/// Replaces calls of operators for which `wanted` holds by the calls that they are made of, and those among these
/// again, until none is left that is decomposable. The infos of the operands (propagate_shapes) say for which sizes;
/// where these have symbols, the decomposition is looked at for several values of each, and is one for all
/// (generalise). Calls whose operands have no infos are left, as are those whose decomposition reads elements or
/// differs by sizes. Results are as exact as those of the operators, but not the same bits. `changes`: calls replaced;
/// `notes`: calls left.
PassResult decompose(Graph& graph,
                     const std::function<bool(const c10::OperatorHandle&)>& wanted = is_decomposed_to_core);

}  // namespace torch::graph
