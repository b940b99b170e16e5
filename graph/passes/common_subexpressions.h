// Computes what is equal once.
#pragma once

#include "graph/ir/graph.h"
#include "graph/passes/pass.h"

namespace torch::graph {

/// Replaces the results of a node by those of one before it, in its block or one around it, that calls the same with
/// equal operands, constants being equal by their bits and tensors by identity. Never of calls that draw random
/// numbers, write or have other effects; not where the operands may be written between the two, or a new result
/// anywhere; not across a scope's border (autocast); and not where both results may be returned, which would then be
/// one tensor. `changes`: nodes erased.
///
///   // %0 = aten::exp(%x); %1 = aten::exp(%x); %2 = aten::add.Tensor(%0, %1, 1)    ->    add.Tensor(%0, %0, 1)
PassResult eliminate_common_subexpressions(Graph& graph);

}  // namespace torch::graph
