// Attention over sequences whose parts lie on several ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "distributed/tensor/device_mesh.h"

namespace torch::distributed::tensor::experimental {

namespace detail {
struct SequenceLayout;
}

/// How ranks get the keys and values of the others. kAllGather: all at once, before the first product. kAllToAll:
/// around a ring, each from the one before, while products are computed; two parts are in memory at a time.
enum class RotateMethod : uint8_t { kAllGather, kAllToAll };

/// For later calls of attention on this rank: "allgather", which it is at first, or "alltoall". Throws
/// NotImplementedError for others.
void set_rotate_method(const std::string& rotate_method);
RotateMethod get_rotate_method();

/// How a sequence lies on P ranks, for context_parallel() guards that begin later on this rank. Balanced, as it is at
/// first: it is cut into 2 P pieces, of which rank r has number r and number 2 P - 1 - r, so that all ranks have as
/// much to do where attention is causal. Otherwise rank r has the r-th of P pieces.
void set_load_balance(bool enable);

/// While it lasts, on this thread, torch::scaled_dot_product_attention of [batch, heads, sequence, channels] takes its
/// arguments to be this rank's part of the sequence, and gives this rank's part of the result, over the whole sequence:
/// an exact attention, whose partial results are merged by their log-sum-exp in float32 (float64 where the arguments
/// are). `buffers`, which is what depends on the places of the sequence (tokens, targets, positions), are cut in place
/// to this rank's part along `buffer_seq_dims`, and have at the end the content they had, but for those that are among
/// `no_restore_buffers` too.
///
///   {
///     const auto guard = context_parallel(mesh, {tokens, targets, positions}, {1, 1, 0}, {tokens, targets});
///     loss(net(tokens, positions), targets).backward();
///   }
///   // Gradients are those of this rank's part: DistributedDataParallel over mesh.get_group() gives their mean.
///
/// An `attn_mask` is of this rank's queries and of the keys of the whole sequence, in their order: sizes that broadcast
/// to [batch, heads, this rank's queries, ranks times its keys]. One of [sequence, sequence] becomes that where it is
/// among `buffers`, with its first dimension; one that is the same for all queries, [batch, 1, 1, sequence], is that.
///
/// All ranks of `mesh`, which has one dimension, make the same calls. Gradients may be computed after the guard.
/// Dropout drops other weights than on one device, on each rank others. A mask that requires a gradient throws
/// NotImplementedError; attention cannot be differentiated twice. The constructor throws ValueError, with nothing
/// changed, for a mesh of several dimensions, where there are not as many dimensions as buffers, for a buffer that
/// requires a gradient, whose sequence is no multiple of the number of pieces, or that does not have the dimension, and
/// for a member of `no_restore_buffers` that is no buffer.
class ContextParallel {
 public:
  explicit ContextParallel(const DeviceMesh& mesh, std::vector<at::Tensor> buffers = {},
                           const std::vector<int64_t>& buffer_seq_dims = {},
                           const std::vector<at::Tensor>& no_restore_buffers = {});
  ~ContextParallel();
  ContextParallel(const ContextParallel&) = delete;
  ContextParallel& operator=(const ContextParallel&) = delete;

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> restored_;  // a buffer, and what it was
  std::shared_ptr<const detail::SequenceLayout> before_;
};

[[nodiscard]] inline ContextParallel context_parallel(const DeviceMesh& mesh, std::vector<at::Tensor> buffers = {},
                                                      const std::vector<int64_t>& buffer_seq_dims = {},
                                                      const std::vector<at::Tensor>& no_restore_buffers = {}) {
  return ContextParallel(mesh, std::move(buffers), buffer_seq_dims, no_restore_buffers);
}

/// The whole of tensors of which each rank has the part that context_parallel() gave it along `seq_dims`, on every
/// rank. Without gradients. Throws ValueError where there are not as many dimensions as tensors.
std::vector<at::Tensor> context_parallel_unshard(const DeviceMesh& mesh, const std::vector<at::Tensor>& buffers,
                                                 const std::vector<int64_t>& seq_dims);

}  // namespace torch::distributed::tensor::experimental
