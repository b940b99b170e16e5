// Computes what depends on constants alone.
#pragma once

#include <cstdint>

#include "graph/ir/graph.h"
#include "graph/passes/pass.h"

namespace torch::graph {

struct ConstantFoldingOptions {
  /// Tensors that are computed may have so many bytes in all; nodes that would need more stay.
  int64_t max_bytes = int64_t{256} << 20;
};

/// Runs the calls whose operands are constants, once, and puts their results in their places. How large these will be
/// is asked on meta tensors first. Never of calls that draw random numbers or have effects, of uninitialised memory
/// (empty), of results that are written to or returned (each run has its own), of constants that require gradients, or
/// in scopes. `changes`: nodes replaced. `notes`: what was too large, or failed.
///
///   // %0 = aten::t(@0); %1 = aten::mm(%x, %0)    ->    %0 = aten::mm(%x, @0')
PassResult fold_constants(Graph& graph, const ConstantFoldingOptions& options = {});

}  // namespace torch::graph
