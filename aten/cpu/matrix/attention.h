#pragma once

#include <cstdint>

#include "aten/cpu/matrix/gemm.h"

// Scaled dot-product attention on raw memory, block by block with an online softmax: the matrix of attention weights never
// exists as a whole (M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018; T. Dao et al.,
// "FlashAttention", 2022). Memory beyond the arguments is O((queries + keys) * width) a thread.
//
//   out = softmax(scale * query * key^T + mask) * value

namespace at::matrix {

/// A tensor of [batch, head, row, column] by its strides, in elements; any strides.
struct HeadTensor {
  void* data = nullptr;
  int64_t batch = 0, head = 0, row = 0, col = 1;
};

enum class MaskKind : uint8_t { kNone, kBoolean, kAdditive };

struct Attention {
  Type type = Type::kFloat32;  // float32, float64, float16 or bfloat16; the latter two compute in float32
  int64_t batch = 0, heads = 0;
  int64_t key_heads = 0;  // divides `heads`: query head h uses key head h / (heads / key_heads)
  int64_t queries = 0, keys = 0, width = 0, value_width = 0;
  HeadTensor query, key, value;
  MaskKind mask_kind = MaskKind::kNone;
  HeadTensor mask;      // [batch, heads, queries, keys], broadcast by zero strides; boolean: true takes part
  bool causal = false;  // query i sees the keys up to i
  double scale = 1;
  double dropout = 0;  // each weight is dropped with this probability, the rest divided by 1 - dropout
  uint64_t seed = 0;   // of the dropout: the same seed drops the same weights
};

/// Writes `out` [batch, heads, queries, value_width] and, for the backward pass, `log_sum` [batch, heads, queries], dense:
/// the logarithm of the sum of exponentials of each query, double for float64 and float otherwise. A query that sees no key
/// gives zeros, and +infinity in log_sum.
void attention_forward(const Attention& a, const HeadTensor& out, void* log_sum);

/// The gradients of query, key and value, from what attention_forward wrote. Key and value heads shared by several query
/// heads get the sum.
void attention_backward(const Attention& a, const HeadTensor& grad_out, const HeadTensor& out, const void* log_sum,
                        const HeadTensor& grad_query, const HeadTensor& grad_key, const HeadTensor& grad_value);

/// Whether the dropout keeps the weight of (head number b * heads + h, query, key).
bool attention_keeps(uint64_t seed, double dropout, int64_t head, int64_t query, int64_t key);

}  // namespace at::matrix
