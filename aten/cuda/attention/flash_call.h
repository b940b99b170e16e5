// Attention of CUDA tensors block by block: what its kernels get.
#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

namespace at::cuda {

/// The widest head that the kernels take.
inline constexpr int64_t kWidestHead = 256;

/// [batch, head, row, column] with contiguous columns; strides in elements.
struct HeadRows {
  char* data;
  int64_t batch, head, row;
  bool wide;  // eight columns at once: every row begins at a multiple of 16 bytes
};

struct FlashCall {
  ScalarType dtype;  // half and bfloat16 are computed in float
  int batches, heads, key_heads, queries, keys, width, value_width;
  HeadRows query, key, value, out;
  void* sums;  // [batch, head, query], dense, in the compute type: the logarithms of sums of exponentials
  struct {
    const char* data;  // null: there is none
    bool allows;       // of bool: true lets a query see a key; else of `dtype`, added
    int64_t batch, head, row, column;
  } mask;
  bool causal;
  double scale;
  struct {
    uint64_t bound;  // a draw below it drops a weight (aten/cpu/matrix/attention_dropout.h); 0: nothing is dropped
    double factor;   // of what is kept
    uint64_t seed;
    const int64_t* device_seed;  // null, or in place of `seed`
  } dropout;
};

struct FlashGradientCall {
  FlashCall forward;
  HeadRows grad_out, grad_query, grad_key, grad_value;
  void* changes;  // as `sums`: of each query, what the kernel for queries leaves to that for keys
};

/// softmax(scale * query key^T + mask) value. A query that sees no key gives zeros, and +infinity in `sums`.
void launch_flash(const FlashCall& call);

/// The gradients of query, key and value.
void launch_flash_backward(const FlashGradientCall& call);

/// The same of T, Half or BFloat16, by matrix instructions: what the above call for these.
template <class T>
void launch_flash_matrix(const FlashCall& call);
template <class T>
void launch_flash_matrix_backward(const FlashGradientCall& call);

/// to[batch, head, query, key] = what the dropout multiplies each weight with; dense, of the call's dtype. Of the call
/// sizes, dtype and dropout count.
void launch_flash_dropout(const FlashCall& call, void* to);

}  // namespace at::cuda
