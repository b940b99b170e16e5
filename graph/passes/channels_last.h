// Images with their channels side by side, where convolutions want them so.
#pragma once

#include <functional>

#include "graph/ir/graph.h"
#include "graph/passes/pass.h"

namespace torch::graph {

/// Gives convolutions of images (tensors of four dimensions) for which `wanted` holds inputs in the channels-last
/// format, in which their results are then, too, and so on through the calls behind them that take any format: element
/// by element, pooling, joining along channels. Calls that do not, and who gets the outputs, see what they saw before:
/// copies are put where the format changes. Infos are known before and afterwards (propagate_shapes). The results are
/// as exact; sums may be of another order. `changes`: copies inserted.
PassResult use_channels_last(Graph& graph, const std::function<bool(const Node&)>& wanted);

}  // namespace torch::graph
