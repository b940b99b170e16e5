// How a distributed tensor lies on the ranks, as text.
#pragma once

#include <string>

#include "distributed/tensor/dtensor.h"

namespace torch::distributed::tensor::debug {

/// A table of the parts of a tensor of one or two dimensions, and of the ranks that have each; empty for one without
/// elements. The same on all ranks; nothing is sent.
///
///   visualize_sharding(distribute_tensor(torch::zeros({4, 6}), mesh, {Shard(1)}), "weight");
///
///   weight
///             Col 0-2  Col 3-5
///   Row 0-3   cpu:0    cpu:1
///
/// Throws ValueError for other numbers of dimensions, and NotImplementedError for a StridedShard, whose parts are no
/// blocks.
std::string visualize_sharding(const DTensor& tensor, const std::string& header = "");

}  // namespace torch::distributed::tensor::debug
