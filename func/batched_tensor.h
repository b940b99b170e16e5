// Tensors inside vmap: each stands for one tensor a sample, which lie together in one tensor with a dimension more.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "aten/core/tensor.h"

namespace torch::func {

/// What random operators do inside vmap.
enum class Randomness {
  kError,      // they throw
  kDifferent,  // each sample has its own numbers
  kSame,       // all samples have the same
};
/// "error", "different" or "same"; throws c10::Error for any other.
Randomness randomness_of(std::string_view text);

/// One vmap that a thread is in. Levels lie on a stack; inner ones have higher numbers, which are never used again.
struct VmapLevel {
  int64_t id;
  int64_t batch_size;
  Randomness randomness;
  const VmapLevel* outer;  // null for the outermost
};

/// The innermost vmap whose samples the thread computes with; null outside of vmap, and where operators compute with
/// what lies behind batched tensors.
const VmapLevel* current_level();

/// Puts the thread at a level (null: outside of vmap) until the end of the scope.
class AtLevel {
 public:
  explicit AtLevel(const VmapLevel* level);
  ~AtLevel();
  AtLevel(const AtLevel&) = delete;
  AtLevel& operator=(const AtLevel&) = delete;

 private:
  const VmapLevel* before_;
  bool was_included_;
};

/// A new innermost level until the end of the scope.
class NewLevel {
 public:
  NewLevel(int64_t batch_size, Randomness randomness);
  const VmapLevel& level() const { return level_; }

 private:
  VmapLevel level_;
  AtLevel at_;
};

/// The tensor that operators see: sizes, strides and dtype of one sample, and no memory of its own. It stands above
/// autograd: gradients and tangents are those of the value, and the wrapper never requires one.
class BatchedTensorImpl final : public c10::TensorImpl {
 public:
  BatchedTensorImpl(at::Tensor value, int64_t batch_dim, int64_t level);

  /// All samples; itself batched at an outer level, or a plain tensor.
  const at::Tensor& value() const { return value_; }
  /// Which of its dimensions counts the samples.
  int64_t batch_dim() const { return batch_dim_; }
  int64_t level() const { return level_; }
  /// Becomes a tensor of other samples, as in-place forms of views make it.
  void replace(at::Tensor value, int64_t batch_dim);

  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override;
  void shallow_copy_from(const c10::TensorImpl& other) override;
  const char* kind() const override { return "BatchedTensor"; }

 private:
  at::Tensor value_;
  int64_t batch_dim_;
  int64_t level_;
};

/// The batched tensor behind a tensor; null for others.
BatchedTensorImpl* batched_of(const at::TensorBase& tensor);
/// The same where it is one of that level.
BatchedTensorImpl* batched_of(const at::TensorBase& tensor, const VmapLevel& level);

/// `value` as one tensor a sample of the level; its dimension `dim` (not negative) counts them.
at::Tensor make_batched(at::Tensor value, int64_t dim, const VmapLevel& level);

/// All samples of a tensor with the samples in dimension 0; of one that is not batched at the level, as it is.
at::Tensor samples_first(const at::Tensor& tensor, const VmapLevel& level);

/// A tensor that is batched at every level the thread is in, as it must be where it gets a gradient of its own for each
/// sample: samples that shared one tensor have a copy each. The same values.
at::Tensor batched_everywhere(const at::Tensor& tensor);

/// What lies behind all levels: the tensor in memory, which autograd records. Of a tensor that is not batched, itself.
at::Tensor physical_of(const at::Tensor& tensor);
/// `physical` in the place of what lies behind `like`: batched at the same levels, by the same dimensions.
at::Tensor batched_like(const at::Tensor& like, at::Tensor physical);

}  // namespace torch::func
