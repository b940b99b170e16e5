// Batches in parts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aten/core/tensor.h"

namespace torch::distributed::pipelining {

using Tensors = std::vector<at::Tensor>;

/// How a tensor becomes parts, and parts a tensor.
struct TensorChunkSpec {
  TensorChunkSpec() = default;
  TensorChunkSpec(int64_t split_dim) : split_dim(split_dim) {}
  /// Every microbatch gets the whole tensor.
  static TensorChunkSpec replicate() {
    TensorChunkSpec spec;
    spec.split_dim.reset();
    return spec;
  }

  std::optional<int64_t> split_dim = 0;
};

/// The arguments of each of `chunks` microbatches: views, cut along dimension 0 or as the specs say, one a tensor.
/// Sizes that `chunks` does not divide give the first parts an element more. Throws ValueError, naming the argument,
/// where it has fewer elements in that dimension than there are to be parts, and where there are specs, but not one an
/// argument.
std::vector<Tensors> split_args_into_chunks(const Tensors& args, int64_t chunks,
                                            const std::vector<TensorChunkSpec>& args_chunk_spec = {});

/// The tensors that the parts are of, side by side along dimension 0 or as the specs say; of those that were replicated
/// the first. Throws ValueError where parts are not of equally many tensors.
Tensors merge_chunks(const std::vector<Tensors>& chunks, const std::vector<TensorChunkSpec>& chunk_spec = {});

}  // namespace torch::distributed::pipelining
