// Removes what nothing reads and nobody sees.
#pragma once

#include "graph/ir/graph.h"
#include "graph/passes/pass.h"

namespace torch::graph {

/// Erases the nodes whose results nothing reads that stays. What stays: what has effects (effects.h: raising, storing
/// attributes, checks, random numbers), writes to memory that comes from outside, is returned or is read by a node that
/// stays, and nodes around such ones. Results and carried values of control flow stay with it. A call that would have
/// failed may be gone. `changes`: nodes erased, those in erased blocks not counted.
///
///   // %0 = aten::neg(%x); %1 = aten::exp(%x); return %1    ->    %0 = aten::exp(%x); return %0
PassResult eliminate_dead_code(Graph& graph);

}  // namespace torch::graph
