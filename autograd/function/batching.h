#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "aten/core/tensor.h"

namespace torch::autograd {

/// What the vmap of a Function is told of the vmap that called it.
struct VmapInfo {
  int64_t batch_size = 0;
  std::string_view randomness;  // "error", "different" or "same", as torch::func::vmap was given it
};

/// A dimension for each of several things: that of the samples, nullopt where there is none.
using VmapDims = std::vector<std::optional<int64_t>>;

namespace detail {

/// What nodes of Functions need of vmap, which lies above them: they record tensors in memory, and call a Function's
/// methods with the tensors of a sample. //func:batched implements it.
class Batching {
 public:
  /// Holds the thread at some levels as long as it lives.
  class Scope {
   public:
    Scope() = default;
    virtual ~Scope() = default;
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };

  virtual ~Batching() = default;
  /// The levels that the thread is at, outermost first.
  virtual std::vector<VmapInfo> levels() const = 0;
  /// Puts the thread at the innermost of them at which one of the tensors is batched; outside of all where none is.
  virtual std::unique_ptr<Scope> at_level_of(at::TensorList tensors) const = 0;
  /// New levels inside of those that the thread is at.
  virtual std::unique_ptr<Scope> enter(const std::vector<VmapInfo>& levels) const = 0;
  /// Outside of the innermost level.
  virtual std::unique_ptr<Scope> outside() const = 0;

  /// The dimension of the samples at each level, outermost first, of the tensor that is there.
  virtual VmapDims dims_of(const at::Tensor& t) const = 0;
  /// The tensor in memory.
  virtual at::Tensor physical(const at::Tensor& t) const = 0;
  /// `physical` batched at the innermost dims.size() levels.
  virtual at::Tensor batched(at::Tensor physical, const VmapDims& dims) const = 0;
  /// The inverse. Samples are summed where `t` is batched and `dims` has none, and expanded the other way round.
  virtual at::Tensor summed_to(const at::Tensor& t, const VmapDims& dims) const = 0;
  /// Batched at every level.
  virtual at::Tensor batched_everywhere(const at::Tensor& t) const = 0;
  /// What lies behind a tensor at the innermost level: itself where it is not batched there.
  virtual at::Tensor behind(const at::Tensor& t) const = 0;
};

void set_batching(const Batching* batching);
/// Null where the thread is in no vmap.
const Batching* active_batching();
/// That of the program, which an object that it made can rely on.
const Batching& batching();

}  // namespace detail
}  // namespace torch::autograd
