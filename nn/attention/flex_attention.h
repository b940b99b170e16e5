// Attention with scores and masks that are functions of the program.
#pragma once

#include <optional>
#include <tuple>

#include "aten/core/tensor.h"
#include "nn/attention/block_mask.h"

namespace torch::nn::attention {

/// What flex_attention returns besides the result.
struct AuxRequest {
  bool lse = false;
  bool max_scores = false;
};
/// Undefined where not asked for. [B, Hq, L], of float32, or float64 for such queries: log(sum over keys of
/// exp(score)), minus infinity where a query sees no key, with a gradient; and the largest score, without.
struct AuxOutput {
  at::Tensor lse;
  at::Tensor max_scores;
};

/// softmax(score_mod(scale * query key^T)) value of query [B, Hq, L, E], key [B, Hkv, S, E] and value [B, Hkv, S, Ev],
/// in query's dtype: [B, Hq, L, Ev]. scale: 1 / sqrt(E). A query that sees no key gives zeros. With enable_gqa, Hq /
/// Hkv query heads in a row share a key and a value head. Batch 1 of key and value stands for all where block_mask has
/// query's batch.
///
/// The L x S scores are never stored as a whole: they are computed in blocks (softmax over blocks: Milakov & Gimelshein
/// 2018, Dao et al. 2022) in float32, or float64 for float64 queries. score_mod is called for each block (block_mask.h
/// has the sizes of its arguments), mask_mod for each block of kv_indices, and blocks that block_mask skips are not
/// computed. Backward computes the blocks again, from which score_mod is differentiated by autograd: gradients go to
/// query, key, value, and to the tensors that score_mod captured, which must hold the same values then. Both functions
/// are kept until backward, so what they refer to must live until then (capture tensors by value), give the same for
/// the same arguments and do not change them. Memory beside the results and gradients is that of some blocks.
///
/// Gradients that are differentiated again (create_graph), arguments or captured tensors with tangents, and samples of
/// vmap are computed by recorded operators, block by block, which keep the scores of all blocks that are not skipped.
///
///   torch::Tensor slope = torch::ones({8}).requires_grad_();
///   auto alibi = [=](auto& score, auto&, auto& h, auto& q_idx, auto& kv_idx) {
///     return score + slope.index({h}) * (kv_idx - q_idx);
///   };
///   auto y = torch::nn::attention::flex_attention(q, k, v, alibi, mask);
///
/// Jagged tensors [B, Hq, j1, E], [B, Hkv, j2, E] and [B, Hkv, j2, Ev] give one [B, Hq, j1, Ev], without padding. Their
/// block_mask is one of create_nested_block_mask; without one every query sees all keys of its part.
///
/// Throws ValueError for sizes, layouts and devices that do not fit, NotImplementedError for nested tensors beside
/// dense ones and tensors not of four dimensions, TypeError for a mask_mod whose result is not bool, and c10::Error for
/// a mask made for other lengths or devices.
at::Tensor flex_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                          const ScoreMod& score_mod = {}, const std::optional<BlockMask>& block_mask = std::nullopt,
                          std::optional<double> scale = std::nullopt, bool enable_gqa = false);
std::tuple<at::Tensor, AuxOutput> flex_attention(const at::Tensor& query, const at::Tensor& key,
                                                 const at::Tensor& value, const ScoreMod& score_mod,
                                                 const std::optional<BlockMask>& block_mask,
                                                 std::optional<double> scale, bool enable_gqa,
                                                 const AuxRequest& return_aux);
/// The result and lse, which is undefined unless return_lse. Older form of the one before.
std::tuple<at::Tensor, at::Tensor> flex_attention(const at::Tensor& query, const at::Tensor& key,
                                                  const at::Tensor& value, const ScoreMod& score_mod,
                                                  const std::optional<BlockMask>& block_mask,
                                                  std::optional<double> scale, bool enable_gqa, bool return_lse);

/// The block mask of jagged tensors (autograd/nested.h), for their values, in which the parts lie one behind the other:
/// a query sees keys of its own part where mask_mod says so, whose indices `b`, `q_idx` and `kv_idx` are the part and
/// places in it. kv_nt: q_nt where not given. Throws ValueError for tensors of other layouts, with holes, or of
/// different numbers of parts.
BlockMask create_nested_block_mask(const MaskMod& mask_mod, std::optional<int64_t> B, std::optional<int64_t> H,
                                   const at::Tensor& q_nt, const at::Tensor& kv_nt = {}, BlockSize BLOCK_SIZE = 128);

}  // namespace torch::nn::attention
