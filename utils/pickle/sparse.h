// Sparse tensors of a file: what kernels rely on is looked at first.
#pragma once

#include <optional>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/layout.h"
#include "utils/pickle/tree.h"

namespace torch::pickle {

// A tensor of these parts, (indices, values) of layout Sparse or (compressed indices, plain indices, values) of a
// compressed one. Fails through the tree at the node where sizes, dtypes or the indices themselves are none of such a
// tensor: PyTorch's invariants, with indices in range, in order where `coalesced` says so, and in order and each once
// within the rows of compressed tensors. Without `coalesced`, a tensor is that with fewer than two elements.
at::Tensor sparse_tensor(const Tree& tree, NodeId at, c10::Layout layout, const std::vector<at::Tensor>& parts,
                         const std::vector<int64_t>& sizes, std::optional<bool> coalesced);

}  // namespace torch::pickle
