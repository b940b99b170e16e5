// Which blocks of attention scores there are: masks as functions of indices, and the lists of blocks made of them.
//
//   namespace A = torch::nn::attention;
//   A::MaskMod causal = [](const auto&, const auto&, const auto& q_idx, const auto& kv_idx) { return q_idx >= kv_idx;
//   }; A::BlockMask mask = A::create_block_mask(causal, 1, 1, 4096, 4096); std::cout << mask;   // a picture of the
//   blocks, and how many of them are left out torch::Tensor y = A::flex_attention(q, k, v, {}, mask);
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/core/tensor_indexing.h"

namespace torch::nn::attention {

/// Whether a query sees a key, as a function of indices: `b` (batch), `h` (query head), `q_idx`, `kv_idx` to bool. It
/// is called with a block at a time: int64 tensors of sizes [B, 1, 1, 1], [1, H, 1, 1], [1, 1, Q, 1] and [1, 1, 1, K],
/// for which it returns a bool tensor that broadcasts to [B, H, Q, K]. Functions of PyTorch, which get scalars under
/// vmap, read the same: operators broadcast, and `document_of.index({q_idx})` looks up an element for each index.
using MaskMod = std::function<at::Tensor(const at::Tensor& b, const at::Tensor& h, const at::Tensor& q_idx,
                                         const at::Tensor& kv_idx)>;
/// The same for scores: the score, a tensor [B, H, Q, K] of float32 (float64 for such queries), and the indices to the
/// new score, which broadcasts to the same sizes.
using ScoreMod = std::function<at::Tensor(const at::Tensor& score, const at::Tensor& b, const at::Tensor& h,
                                          const at::Tensor& q_idx, const at::Tensor& kv_idx)>;

/// Rows (queries) and columns (keys) of a block, or of a mask. One number stands for both.
struct BlockSize {
  BlockSize(int64_t both) : query(both), key(both) {}
  BlockSize(int64_t query, int64_t key) : query(query), key(key) {}
  int64_t query, key;
};

/// A mask of blocks: for each block of BLOCK_SIZE.query queries the blocks of BLOCK_SIZE.key keys that some of them
/// see. Blocks that are in no list are skipped; in those of `kv_indices` mask_mod decides, in those of
/// `full_kv_indices` every query sees every key. Batch and heads of 1 stand for all.
///
/// Of the int32 tensors, kv_num_blocks [B, H, rows] counts the blocks of a row, and kv_indices [B, H, rows, columns]
/// begins with their numbers; full_kv_* are the same, or undefined. q_* and full_q_* are their transposes, the rows of
/// each column.
class BlockMask {
 public:
  /// Throws c10::Error for kv_indices of less than two dimensions and for one of a pair without the other.
  BlockMask(std::pair<int64_t, int64_t> seq_lengths, at::Tensor kv_num_blocks, at::Tensor kv_indices,
            at::Tensor full_kv_num_blocks, at::Tensor full_kv_indices, at::Tensor q_num_blocks, at::Tensor q_indices,
            at::Tensor full_q_num_blocks, at::Tensor full_q_indices, BlockSize BLOCK_SIZE = 128, MaskMod mask_mod = {});

  /// From lists of blocks. seq_lengths: queries and keys, all of the blocks unless given; mask_mod: noop_mask unless
  /// given. Without compute_q_blocks, q_* are undefined.
  static BlockMask from_kv_blocks(const at::Tensor& kv_num_blocks, const at::Tensor& kv_indices,
                                  const at::Tensor& full_kv_num_blocks = {}, const at::Tensor& full_kv_indices = {},
                                  BlockSize BLOCK_SIZE = 128, MaskMod mask_mod = {},
                                  std::optional<std::pair<int64_t, int64_t>> seq_lengths = std::nullopt,
                                  bool compute_q_blocks = true);

  /// The batch sizes, the number of queries, the number of keys.
  std::vector<int64_t> shape() const;
  /// Their product.
  int64_t numel() const;
  /// How many of a hundred blocks are skipped.
  double sparsity() const;
  /// 1 for each block that is not skipped: int32 [B, H, rows, columns].
  at::Tensor to_dense() const;
  /// Batch, head and row of blocks, integers (whose dimension stays, of size 1), slices or index tensors. The rows are
  /// packed: row i becomes row 0, so that mask_mod, which counts from there, must be given anew before the mask is used
  /// (else flex_attention throws). Throws IndexError for more than three.
  BlockMask index(std::initializer_list<at::indexing::TensorIndex> indices) const;
  /// Cut or widened to these numbers of queries and keys, from the upper left.
  BlockMask _adjust(int64_t new_q_len, int64_t new_kv_len) const;
  BlockMask to(at::Device device) const;

  /// A picture of at most `grid_size` rows and columns of each of the first `limit` masks of the batch: '█' where all
  /// blocks are, ' ' where none is, '░' between; -1 for a character a block.
  std::string to_string(BlockSize grid_size = 20, int64_t limit = 4) const;
  /// Shape, sparsity and picture.
  std::string str() const;
  /// Sizes of all tensors, as Python's repr.
  std::string repr() const;

  std::pair<int64_t, int64_t> seq_lengths;
  at::Tensor kv_num_blocks, kv_indices;
  at::Tensor full_kv_num_blocks, full_kv_indices;
  at::Tensor q_num_blocks, q_indices;
  at::Tensor full_q_num_blocks, full_q_indices;
  BlockSize BLOCK_SIZE;
  /// Empty after index(), until one is given.
  MaskMod mask_mod;
};

std::ostream& operator<<(std::ostream& out, const BlockMask& mask);

/// True everywhere.
at::Tensor noop_mask(const at::Tensor& b, const at::Tensor& h, const at::Tensor& q_idx, const at::Tensor& kv_idx);

/// True where all masks are, and where one is. Throw c10::Error for an empty function.
MaskMod and_masks(std::vector<MaskMod> mask_mods);
MaskMod or_masks(std::vector<MaskMod> mask_mods);

/// The mask as a tensor [B, H, Q_LEN, KV_LEN] of bool. B, H: 1 where not given.
at::Tensor create_mask(const MaskMod& mask_mod, std::optional<int64_t> B, std::optional<int64_t> H, int64_t Q_LEN,
                       int64_t KV_LEN, at::Device device = at::kCPU);
/// The same of a score function: false where it makes a score of 0 minus infinity.
at::Tensor create_mask(const ScoreMod& score_mod, std::optional<int64_t> B, std::optional<int64_t> H, int64_t Q_LEN,
                       int64_t KV_LEN, at::Device device = at::kCPU);

/// The blocks of a mask. It is evaluated a row of blocks at a time, never as a whole. With separate_full_blocks, blocks
/// that are true everywhere go to full_kv_*; one that reaches past the end never does. Throws ValueError for sizes
/// below 1.
BlockMask create_block_mask(const MaskMod& mask_mod, std::optional<int64_t> B, std::optional<int64_t> H, int64_t Q_LEN,
                            int64_t KV_LEN, at::Device device = at::kCPU, BlockSize BLOCK_SIZE = 128,
                            bool separate_full_blocks = true);

namespace detail {
/// begin, begin + 1 ... of int64, along dimension `dim` of four.
at::Tensor index_range(int64_t begin, int64_t count, int64_t dim, at::Device device);
/// mask_mod's answer for these indices, which is checked: TypeError where it is not of bool.
at::Tensor call_mask_mod(const MaskMod& mask_mod, const at::Tensor& b, const at::Tensor& h, const at::Tensor& q_idx,
                         const at::Tensor& kv_idx);
}  // namespace detail

}  // namespace torch::nn::attention
