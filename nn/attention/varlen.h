// Attention of sequences of different lengths, which lie one behind another in one tensor.
//
//   namespace V = torch::nn::attention::varlen;
//   torch::Tensor begins = torch::tensor({0, 3, 8}, torch::kInt);              // lengths 3 and 5
//   torch::Tensor y = V::varlen_attn(q, k, v, begins, begins, 5, 5, {.window_size = {-1, 0}});   // causal; q: [8, H,
//   D]
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "aten/core/tensor.h"

namespace torch::nn::attention::varlen {

/// What varlen_attn returns besides the result.
struct AuxRequest {
  bool lse = false;
};

struct VarlenAttnOptions {
  /// 1 / sqrt(D) unless given.
  std::optional<double> scale{};
  /// How many keys before and after its own place a query sees; -1: all. The last query of a sequence has the place of
  /// the last key. (-1, 0) is causal, (W, 0) causal within a window.
  std::pair<int64_t, int64_t> window_size{-1, -1};
  /// Hq / Hkv query heads in a row share a key and a value head.
  bool enable_gqa = false;
  /// [N] integers: of each sequence of keys the first so many count. Without gradients.
  at::Tensor seqused_k{};
  /// [N, pages of a sequence] int32: key and value are pools of pages [pages, page size, Hkv, D], and sequence i has
  /// the pages of row i, of which seqused_k, which must be given, says how many keys count. Without gradients.
  at::Tensor block_table{};
  /// Changes nothing: the order of summation is always that of one sequence by itself.
  std::optional<int64_t> num_splits{};
};

/// softmax(scale * query key^T) value for each of N sequences by itself: query [Tq, Hq, D], key [Tk, Hkv, D] and value
/// [Tk, Hkv, Dv] of a floating dtype to [Tq, Hq, Dv]. Sequence i has the rows cu_seq[i] to cu_seq[i + 1] (not
/// included): cu_seq_q and cu_seq_k are [N + 1] int32 or int64, from 0 on, and do not fall; cu_seq_k is not read where
/// there are pages. max_q and max_k are at least the longest lengths. Rows behind the last sequence, and queries that
/// see no key, give zeros. Blocks of scores are computed as by flex_attention, with its memory and its derivatives.
///
/// Throws ValueError for heads, lengths and scales that do not fit, TypeError for lengths that are not integers, and
/// c10::Error where seqused_k or block_table meet a gradient.
at::Tensor varlen_attn(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                       const at::Tensor& cu_seq_q, const at::Tensor& cu_seq_k, int64_t max_q, int64_t max_k,
                       const VarlenAttnOptions& options = {});
/// And lse, undefined unless asked for: [Hq, Tq], log(sum over keys of exp(score)), minus infinity where there is no
/// key.
std::tuple<at::Tensor, at::Tensor> varlen_attn(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                               const at::Tensor& cu_seq_q, const at::Tensor& cu_seq_k, int64_t max_q,
                                               int64_t max_k, const AuxRequest& return_aux,
                                               const VarlenAttnOptions& options = {});
/// The same written into `out`, of the result's sizes and dtype. ValueError where it has others.
std::tuple<at::Tensor, at::Tensor> varlen_attn_out(at::Tensor& out, const at::Tensor& query, const at::Tensor& key,
                                                   const at::Tensor& value, const at::Tensor& cu_seq_q,
                                                   const at::Tensor& cu_seq_k, int64_t max_q, int64_t max_k,
                                                   const AuxRequest& return_aux = {},
                                                   const VarlenAttnOptions& options = {});

}  // namespace torch::nn::attention::varlen
