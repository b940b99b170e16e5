// What graphs say of tensors, and tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "aten/core/tensor.h"
#include "graph/ir/graph.h"

namespace torch::graph {

/// What is known of a tensor that exists. Of a nested one neither sizes nor strides.
TensorInfo info_of(const at::Tensor& tensor);

/// Whether the strides are those of elements side by side in the dimensions' order, by their expressions; those of sizes
/// that are 1 do not count.
bool is_row_major(const TensorInfo& info);
/// The same of the channels-last format, of four dimensions.
bool is_channels_last(const TensorInfo& info);

/// A tensor of the info's sizes and strides on meta, where the symbols have those values. Throws ValueError for a
/// layout that is not strided, and what IntExpr::evaluate throws.
at::Tensor meta_tensor(const TensorInfo& info, const std::map<std::string, int64_t>& symbols);

}  // namespace torch::graph
