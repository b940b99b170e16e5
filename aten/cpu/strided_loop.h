#pragma once

#include <cstdint>

// The one strided-loop driver of the CPU kernels. It knows nothing of element types: given up to kMaxOperands operands
// (base address, sizes, strides, item size) it drops and merges dimensions, orders the rest so that operand 0 is walked
// in memory order, splits the work over the thread pool and calls an inner loop on one-dimensional runs.

namespace at::cpu {

inline constexpr int kMaxOperands = 8;
inline constexpr int kMaxLoopDims = 64;
/// Elements a thread should have at least for cheap pointwise work.
inline constexpr int64_t kPointwiseGrain = 32768;

/// One operand. Its sizes are aligned at the last dimension with operand 0's; a size of one is repeated.
struct Operand {
  char* data;
  const int64_t* sizes;
  const int64_t* strides;  // in elements
  int64_t dim;
  int64_t item_size;  // bytes
};

/// Calls on `n` elements; `byte_strides[k]` is operand k's step.
using InnerLoop = void (*)(char** data, const int64_t* byte_strides, int64_t n, const void* context);

/// The merged loop nest of some operands: dimension 0 is the innermost.
class LoopNest {
 public:
  /// The shape is operand 0's. Every other operand must broadcast to it (checked). Throws beyond kMaxLoopDims
  /// dimensions that cannot be merged away.
  LoopNest(const Operand* operands, int count);

  int dim() const { return dim_; }
  int operands() const { return count_; }
  int64_t numel() const { return numel_; }
  int64_t size(int d) const { return sizes_[d]; }
  int64_t byte_stride(int operand, int d) const { return strides_[d][operand]; }
  /// All operands' steps in dimension d.
  const int64_t* byte_strides(int d) const { return strides_[d]; }
  char* data(int operand) const { return data_[operand]; }

  /// Calls `loop` on runs of dimension 0 that cover the elements [begin, end) of the nest, in the calling thread.
  void run_range(int64_t begin, int64_t end, InnerLoop loop, const void* context) const;
  /// Covers all elements, in parallel where there are more than `grain`.
  void run(InnerLoop loop, const void* context, int64_t grain = kPointwiseGrain) const;

 private:
  int count_;
  int dim_;
  int64_t numel_;
  char* data_[kMaxOperands];
  int64_t sizes_[kMaxLoopDims];
  int64_t strides_[kMaxLoopDims][kMaxOperands];
};

/// A position in a LoopNest that moves by whole or partial runs of dimension 0.
class LoopCursor {
 public:
  LoopCursor(const LoopNest& nest, int64_t linear_index);
  /// Elements left in the current run.
  int64_t run_length() const { return nest_.size(0) - index_[0]; }
  char* data(int operand) const { return data_[operand]; }
  char** data() { return data_; }
  /// Moves on by n <= run_length() elements.
  void advance(int64_t n);

 private:
  const LoopNest& nest_;
  char* data_[kMaxOperands];
  int64_t index_[kMaxLoopDims];
};

}  // namespace at::cpu
