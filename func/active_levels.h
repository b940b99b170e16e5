#pragma once

#include <cstdint>
#include <vector>

#include "aten/core/tensor.h"
#include "func/batched_tensor.h"

namespace torch::func::detail {

/// The vmap levels that a thread is in where a transform takes derivatives, outermost first. Autograd and forward mode lie below
/// vmap and see the tensors behind batched ones; physical() and batched() go from one to the other.
class ActiveLevels {
 public:
  /// Those of this thread, now.
  ActiveLevels();

  /// Whether `t` is batched by one of the levels.
  bool batch(const at::Tensor& t) const;
  /// `t` with a dimension for each level in front, expanded where it is not batched by it. It stays batched by levels that were
  /// entered later.
  at::Tensor physical(const at::Tensor& t) const;
  /// The inverse: the first dimensions of `t` become the batch dimensions of the levels.
  at::Tensor batched(const at::Tensor& t) const;

 private:
  bool is_later(int64_t id) const;
  static VmapLevel level_of(const BatchedTensorImpl& b);

  std::vector<VmapLevel> levels_;
};

}  // namespace torch::func::detail
