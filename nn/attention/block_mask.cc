#include "nn/attention/block_mask.h"

#include <algorithm>
#include <ostream>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace torch::nn::attention {
namespace {

using at::Tensor;
using at::indexing::Slice;
using at::indexing::TensorIndex;

// What a row of blocks is evaluated in: so many elements of the mask at a time.
constexpr int64_t kMaskElements = int64_t{1} << 20;

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// How many blocks each row of a mask of blocks has, and their numbers first.
std::pair<Tensor, Tensor> ordered(const Tensor& dense) {
  const Tensor numbers = at::_to_copy(dense, at::TensorOptions().dtype(at::kInt));
  const Tensor order = at::argsort(numbers, /*stable=*/true, -1, /*descending=*/true);
  const at::TensorOptions int32 = at::TensorOptions().dtype(at::kInt);
  return {at::contiguous(at::_to_copy(at::sum(numbers, at::IntArrayRef{-1}), int32)),
          at::contiguous(at::_to_copy(order, int32))};
}

// The reverse; numbers after those of a row mean nothing.
Tensor dense_of(const Tensor& counts, const Tensor& indices, int64_t columns) {
  const Tensor place = at::arange(0, indices.size(-1), 1, at::TensorOptions(at::kInt).device(indices.device()));
  const Tensor listed = at::lt(place, at::unsqueeze(counts, -1));
  // What is not listed goes to a column of its own.
  const Tensor target =
      at::masked_fill(at::_to_copy(indices, at::TensorOptions().dtype(at::kLong)), at::logical_not(listed), columns);
  std::vector<int64_t> sizes = indices.sizes().vec();
  sizes.back() = columns + 1;
  Tensor dense = at::zeros(sizes, at::TensorOptions(at::kInt).device(indices.device()));
  at::scatter_(dense, -1, target, 1);
  return at::contiguous(at::slice(dense, -1, 0, columns));
}

std::pair<Tensor, Tensor> transposed(const Tensor& counts, const Tensor& indices, int64_t columns) {
  return ordered(at::transpose(dense_of(counts, indices, columns), -2, -1));
}

// Python's text of a tuple.
template <class T>
std::string tuple_text(const T& values) {
  std::string text = "(";
  for (size_t i = 0; i < values.size(); ++i) text += c10::str(i > 0 ? ", " : "", values[i]);
  return text + (values.size() == 1 ? ",)" : ")");
}

std::string percent(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

// Queries in the chosen rows of blocks, of which the last of all may be shorter.
int64_t chosen_queries(const TensorIndex& rows, int64_t chosen, const BlockMask& mask) {
  const int64_t size = mask.BLOCK_SIZE.query, all = mask.kv_num_blocks.size(-1);
  if (!rows.is_slice()) return chosen * size;
  const int64_t step = rows.slice().step();
  int64_t start = rows.slice().start();
  if (start < 0) start += all;
  start = std::clamp<int64_t>(start, 0, all);
  const bool has_last = chosen > 0 && start + (chosen - 1) * step == all - 1;
  const int64_t missing = has_last ? all * size - mask.seq_lengths.first : 0;
  return chosen * size - std::max<int64_t>(missing, 0);
}

void check_functions(const std::vector<MaskMod>& mask_mods) {
  for (const MaskMod& f : mask_mods) {
    TORCH_CHECK(f != nullptr, "All inputs should be callable mask_mods, but one is empty");
  }
}

std::pair<int64_t, int64_t> batch_and_heads(std::optional<int64_t> B, std::optional<int64_t> H) {
  return {B.value_or(1), H.value_or(1)};
}

void check_sizes(const char* name, int64_t b, int64_t h, int64_t q, int64_t kv) {
  TORCH_CHECK_VALUE(b >= 0 && h >= 0 && q >= 0 && kv >= 0, name,
                    ": expected sizes that are not negative, but got B=", b, ", H=", h, ", Q_LEN=", q, ", KV_LEN=", kv);
}

}  // namespace

namespace detail {

Tensor index_range(int64_t begin, int64_t count, int64_t dim, at::Device device) {
  int64_t sizes[4] = {1, 1, 1, 1};
  sizes[dim] = count;
  return at::view(at::arange(begin, begin + count, 1, at::TensorOptions(at::kLong).device(device)), sizes);
}

Tensor call_mask_mod(const MaskMod& mask_mod, const Tensor& b, const Tensor& h, const Tensor& q_idx,
                     const Tensor& kv_idx) {
  Tensor mask = mask_mod(b, h, q_idx, kv_idx);
  TORCH_CHECK_TYPE(mask.defined() && mask.scalar_type() == at::kBool, "mask_mod: expected a result of bool, but got ",
                   mask.defined() ? c10::toString(mask.scalar_type()) : "an undefined tensor");
  return mask;
}

}  // namespace detail

BlockMask::BlockMask(std::pair<int64_t, int64_t> lengths, Tensor kv_num, Tensor kv, Tensor full_kv_num, Tensor full_kv,
                     Tensor q_num, Tensor q, Tensor full_q_num, Tensor full_q, BlockSize block_size, MaskMod mod)
    : seq_lengths(lengths),
      kv_num_blocks(std::move(kv_num)),
      kv_indices(std::move(kv)),
      full_kv_num_blocks(std::move(full_kv_num)),
      full_kv_indices(std::move(full_kv)),
      q_num_blocks(std::move(q_num)),
      q_indices(std::move(q)),
      full_q_num_blocks(std::move(full_q_num)),
      full_q_indices(std::move(full_q)),
      BLOCK_SIZE(block_size),
      mask_mod(std::move(mod)) {
  TORCH_CHECK(kv_num_blocks.defined(), "kv_num_blocks must be provided");
  TORCH_CHECK(kv_indices.defined(), "kv_indices must be provided");
  TORCH_CHECK(kv_indices.dim() >= 2, "BlockMask must have at least 2 dimensions");
  TORCH_CHECK(full_kv_num_blocks.defined() == full_kv_indices.defined(),
              "full_kv_num_blocks and full_kv_indices must be both provided or omitted");
  TORCH_CHECK(full_q_num_blocks.defined() == full_q_indices.defined(),
              "full_q_num_blocks and full_q_indices must be both provided or omitted");
  TORCH_CHECK_VALUE(BLOCK_SIZE.query > 0 && BLOCK_SIZE.key > 0, "BLOCK_SIZE must be positive, but got (",
                    BLOCK_SIZE.query, ", ", BLOCK_SIZE.key, ")");
}

BlockMask BlockMask::from_kv_blocks(const Tensor& kv_num_blocks, const Tensor& kv_indices,
                                    const Tensor& full_kv_num_blocks, const Tensor& full_kv_indices,
                                    BlockSize BLOCK_SIZE, MaskMod mask_mod,
                                    std::optional<std::pair<int64_t, int64_t>> seq_lengths, bool compute_q_blocks) {
  TORCH_CHECK(kv_indices.defined() && kv_indices.dim() >= 2, "BlockMask must have at least 2 dimensions");
  if (!seq_lengths.has_value()) {
    seq_lengths.emplace(kv_indices.size(-2) * BLOCK_SIZE.query, kv_indices.size(-1) * BLOCK_SIZE.key);
  }
  BlockMask mask(*seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, {}, {}, {}, {},
                 BLOCK_SIZE, mask_mod ? std::move(mask_mod) : MaskMod(noop_mask));
  if (compute_q_blocks) {
    const int64_t columns = ceil_div(seq_lengths->second, BLOCK_SIZE.key);
    std::tie(mask.q_num_blocks, mask.q_indices) = transposed(kv_num_blocks, kv_indices, columns);
    if (full_kv_indices.defined()) {
      std::tie(mask.full_q_num_blocks, mask.full_q_indices) = transposed(full_kv_num_blocks, full_kv_indices, columns);
    }
  }
  return mask;
}

std::vector<int64_t> BlockMask::shape() const {
  std::vector<int64_t> sizes = kv_indices.sizes().vec();
  sizes[sizes.size() - 2] = seq_lengths.first;
  sizes[sizes.size() - 1] = seq_lengths.second;
  return sizes;
}

int64_t BlockMask::numel() const {
  int64_t product = 1;
  for (const int64_t size : shape()) product *= size;
  return product;
}

double BlockMask::sparsity() const {
  double all = static_cast<double>(ceil_div(seq_lengths.first, BLOCK_SIZE.query)) *
               static_cast<double>(ceil_div(seq_lengths.second, BLOCK_SIZE.key));
  for (int64_t d = 0; d + 1 < kv_num_blocks.dim(); ++d) all *= static_cast<double>(kv_num_blocks.size(d));
  double computed = at::sum(kv_num_blocks).item<double>();
  if (full_kv_num_blocks.defined()) computed += at::sum(full_kv_num_blocks).item<double>();
  return 100 * (1 - computed / all);
}

Tensor BlockMask::to_dense() const {
  const Tensor partial = dense_of(kv_num_blocks, kv_indices, kv_indices.size(-1));
  if (!full_kv_indices.defined()) return partial;
  return at::bitwise_or(partial, dense_of(full_kv_num_blocks, full_kv_indices, full_kv_indices.size(-1)));
}

BlockMask BlockMask::index(std::initializer_list<TensorIndex> indices) const {
  TORCH_CHECK_INDEX(indices.size() <= 3, "BlockMask indexing supports batch, head, and Q-block dimensions");
  std::vector<TensorIndex> chosen(indices);
  chosen.resize(3, Slice());
  for (size_t d = 0; d < 3; ++d) {
    if (!chosen[d].is_integer()) continue;
    int64_t i = chosen[d].integer();
    if (i < 0) i += kv_num_blocks.size(static_cast<int64_t>(d));
    chosen[d] = Slice(std::max<int64_t>(i, 0), std::max<int64_t>(i + 1, 0));
  }
  const auto of = [&](const Tensor& t) { return t.defined() ? at::indexing::get_item(t, chosen) : t; };
  const Tensor rows = of(kv_indices);
  BlockMask mask = from_kv_blocks(of(kv_num_blocks), rows, of(full_kv_num_blocks), of(full_kv_indices), BLOCK_SIZE, {},
                                  std::pair(chosen_queries(chosen[2], rows.size(-2), *this), seq_lengths.second),
                                  q_indices.defined());
  mask.mask_mod = nullptr;
  return mask;
}

BlockMask BlockMask::_adjust(int64_t new_q_len, int64_t new_kv_len) const {
  const int64_t rows = ceil_div(new_q_len, BLOCK_SIZE.query), columns = ceil_div(new_kv_len, BLOCK_SIZE.key);
  const auto cropped = [&](const Tensor& counts, const Tensor& indices) -> std::pair<Tensor, Tensor> {
    if (!indices.defined()) return {};
    const Tensor kept = at::slice(at::slice(indices, -2, 0, rows), -1, 0, columns);
    const Tensor place = at::arange(0, kept.size(-1), 1, at::TensorOptions(at::kInt).device(kept.device()));
    const Tensor listed = at::lt(place, at::unsqueeze(at::slice(counts, -1, 0, rows), -1));
    const Tensor number = at::sum(at::logical_and(listed, at::lt(kept, columns)), at::IntArrayRef{-1});
    return {at::_to_copy(number, at::TensorOptions().dtype(at::kInt)), kept};
  };
  const auto [partial_counts, partial] = cropped(kv_num_blocks, kv_indices);
  const auto [full_counts, full] = cropped(full_kv_num_blocks, full_kv_indices);
  return from_kv_blocks(partial_counts, partial, full_counts, full, BLOCK_SIZE, mask_mod,
                        std::pair(new_q_len, new_kv_len), q_indices.defined());
}

BlockMask BlockMask::to(at::Device device) const {
  BlockMask mask = *this;
  for (Tensor* t : {&mask.kv_num_blocks, &mask.kv_indices, &mask.full_kv_num_blocks, &mask.full_kv_indices,
                    &mask.q_num_blocks, &mask.q_indices, &mask.full_q_num_blocks, &mask.full_q_indices}) {
    if (t->defined()) *t = t->to(device);
  }
  return mask;
}

std::string BlockMask::to_string(BlockSize grid_size, int64_t limit) const {
  const Tensor dense = at::contiguous(to_dense().to(at::kCPU));
  const int64_t rows = dense.size(-2), columns = dense.size(-1);
  const auto step_of = [](int64_t size, int64_t most) {
    return most > 0 ? std::max<int64_t>(1, ceil_div(size, most)) : 1;
  };
  const int64_t row_step = step_of(rows, grid_size.query), column_step = step_of(columns, grid_size.key);
  const at::IntArrayRef batch = dense.sizes().slice(0, static_cast<size_t>(dense.dim()) - 2);
  const int64_t masks = rows * columns > 0 ? dense.numel() / (rows * columns) : 0;
  std::string text;
  for (int64_t m = 0; m < masks; ++m) {
    if (m > 0) text += '\n';
    if (m == limit) {
      return text +
             "...\nTo print out more, set BlockMask.to_string(limit=N)\nYou can also index (BlockMask[batch, head]) to "
             "choose "
             "a specific batch or head";
    }
    std::vector<int64_t> place(batch.size());
    for (int64_t d = static_cast<int64_t>(batch.size()) - 1, rest = m; d >= 0; --d) {
      place[static_cast<size_t>(d)] = rest % batch[static_cast<size_t>(d)];
      rest /= batch[static_cast<size_t>(d)];
    }
    text += tuple_text(place) + "\n";
    const int32_t* blocks = dense.data_ptr<int32_t>() + m * rows * columns;
    for (int64_t r = 0; r < rows; r += row_step) {
      for (int64_t c = 0; c < columns; c += column_step) {
        int64_t found = 0, all = 0;
        for (int64_t i = r; i < std::min(r + row_step, rows); ++i) {
          for (int64_t j = c; j < std::min(c + column_step, columns); ++j, ++all) found += blocks[i * columns + j];
        }
        const char* character = found == all ? "█" : found == 0 ? " " : "░";
        text.append(character).append(character);
      }
      text += '\n';
    }
  }
  return text;
}

std::string BlockMask::str() const {
  std::string picture = to_string();
  while (!picture.empty() && (picture.back() == '\n' || picture.back() == ' ')) picture.pop_back();
  return c10::str("BlockMask(shape=", tuple_text(shape()), ", sparsity=", percent(sparsity()), "%, \n", picture, "\n)");
}

std::string BlockMask::repr() const {
  std::string text = "BlockMask(\n";
  const auto line = [&](const char* name, const Tensor& t) {
    text += c10::str("    ", name, "=");
    t.defined() ? text += c10::str("torch.Size(", t.sizes(), "),\n") : text += "None,\n";
  };
  line("kv_num_blocks", kv_num_blocks);
  line("kv_indices", kv_indices);
  line("full_kv_num_blocks", full_kv_num_blocks);
  line("full_kv_indices", full_kv_indices);
  line("q_num_blocks", q_num_blocks);
  line("q_indices", q_indices);
  line("full_q_num_blocks", full_q_num_blocks);
  line("full_q_indices", full_q_indices);
  return text + c10::str("    BLOCK_SIZE=(", BLOCK_SIZE.query, ", ", BLOCK_SIZE.key,
                         "),\n    shape=", tuple_text(shape()), ",\n    sparsity=", percent(sparsity()), "%\n)");
}

std::ostream& operator<<(std::ostream& out, const BlockMask& mask) {
  return out << mask.str();
}

Tensor noop_mask(const Tensor& b, const Tensor&, const Tensor&, const Tensor&) {
  return at::ones({}, at::TensorOptions(at::kBool).device(b.device()));
}

MaskMod and_masks(std::vector<MaskMod> mask_mods) {
  check_functions(mask_mods);
  return [mods = std::move(mask_mods)](const Tensor& b, const Tensor& h, const Tensor& q, const Tensor& kv) {
    Tensor all = noop_mask(b, h, q, kv);
    for (const MaskMod& f : mods) all = at::logical_and(all, f(b, h, q, kv));
    return all;
  };
}

MaskMod or_masks(std::vector<MaskMod> mask_mods) {
  check_functions(mask_mods);
  return [mods = std::move(mask_mods)](const Tensor& b, const Tensor& h, const Tensor& q, const Tensor& kv) {
    Tensor any = at::logical_not(noop_mask(b, h, q, kv));
    for (const MaskMod& f : mods) any = at::logical_or(any, f(b, h, q, kv));
    return any;
  };
}

Tensor create_mask(const MaskMod& mask_mod, std::optional<int64_t> B, std::optional<int64_t> H, int64_t Q_LEN,
                   int64_t KV_LEN, at::Device device) {
  const auto [b, h] = batch_and_heads(B, H);
  check_sizes("create_mask", b, h, Q_LEN, KV_LEN);
  const c10::NoGradGuard no_grad;
  const Tensor mask =
      detail::call_mask_mod(mask_mod, detail::index_range(0, b, 0, device), detail::index_range(0, h, 1, device),
                            detail::index_range(0, Q_LEN, 2, device), detail::index_range(0, KV_LEN, 3, device));
  return at::contiguous(at::expand(mask, {b, h, Q_LEN, KV_LEN}));
}

Tensor create_mask(const ScoreMod& score_mod, std::optional<int64_t> B, std::optional<int64_t> H, int64_t Q_LEN,
                   int64_t KV_LEN, at::Device device) {
  const auto [b, h] = batch_and_heads(B, H);
  check_sizes("create_mask", b, h, Q_LEN, KV_LEN);
  const c10::NoGradGuard no_grad;
  const Tensor score = score_mod(at::zeros({b, h, Q_LEN, KV_LEN}, at::TensorOptions(at::kFloat).device(device)),
                                 detail::index_range(0, b, 0, device), detail::index_range(0, h, 1, device),
                                 detail::index_range(0, Q_LEN, 2, device), detail::index_range(0, KV_LEN, 3, device));
  return at::contiguous(at::expand(at::logical_not(at::isneginf(score)), {b, h, Q_LEN, KV_LEN}));
}

BlockMask create_block_mask(const MaskMod& mask_mod, std::optional<int64_t> B, std::optional<int64_t> H, int64_t Q_LEN,
                            int64_t KV_LEN, at::Device device, BlockSize BLOCK_SIZE, bool separate_full_blocks) {
  const auto [batch, heads] = batch_and_heads(B, H);
  check_sizes("create_block_mask", batch, heads, Q_LEN, KV_LEN);
  TORCH_CHECK_VALUE(BLOCK_SIZE.query > 0 && BLOCK_SIZE.key > 0,
                    "create_block_mask: expected a BLOCK_SIZE above 0, but got (", BLOCK_SIZE.query, ", ",
                    BLOCK_SIZE.key, ")");
  TORCH_CHECK(mask_mod != nullptr, "create_block_mask requires a mask_mod function");
  const c10::NoGradGuard no_grad;
  const int64_t rows = ceil_div(Q_LEN, BLOCK_SIZE.query), columns = ceil_div(KV_LEN, BLOCK_SIZE.key);
  const Tensor b = detail::index_range(0, batch, 0, device), h = detail::index_range(0, heads, 1, device);
  // Elements that are true in each block.
  Tensor counts = at::zeros({batch, heads, rows, columns}, at::TensorOptions(at::kLong).device(device));
  const int64_t row_elements = std::max<int64_t>(1, batch * heads * BLOCK_SIZE.query * BLOCK_SIZE.key);
  const int64_t at_once = std::max<int64_t>(1, kMaskElements / row_elements);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t first = r * BLOCK_SIZE.query, queries = std::min(BLOCK_SIZE.query, Q_LEN - first);
    const Tensor q_idx = detail::index_range(first, queries, 2, device);
    for (int64_t c = 0; c < columns; c += at_once) {
      const int64_t blocks = std::min(at_once, columns - c), begin = c * BLOCK_SIZE.key;
      const int64_t keys = std::min(blocks * BLOCK_SIZE.key, KV_LEN - begin);
      Tensor mask = detail::call_mask_mod(mask_mod, b, h, q_idx, detail::index_range(begin, keys, 3, device));
      while (mask.dim() < 4) mask = at::unsqueeze(mask, 0);
      mask = at::expand(mask, {mask.size(0), mask.size(1), queries, keys});
      mask = at::constant_pad_nd(mask, {0, blocks * BLOCK_SIZE.key - keys}, 0);
      mask = at::reshape(mask, {mask.size(0), mask.size(1), queries, blocks, BLOCK_SIZE.key});
      Tensor of_row = at::slice(at::select(counts, 2, r), -1, c, c + blocks);
      at::copy_(of_row, at::sum(mask, at::IntArrayRef{2, 4}));
    }
  }
  Tensor partial = at::gt(counts, 0), full_counts, full_indices;
  if (separate_full_blocks) {
    const Tensor full = at::eq(counts, BLOCK_SIZE.query * BLOCK_SIZE.key);
    partial = at::logical_and(partial, at::logical_not(full));
    std::tie(full_counts, full_indices) = ordered(full);
  }
  const auto [partial_counts, partial_indices] = ordered(partial);
  return BlockMask::from_kv_blocks(partial_counts, partial_indices, full_counts, full_indices, BLOCK_SIZE, mask_mod,
                                   std::pair(Q_LEN, KV_LEN));
}

}  // namespace torch::nn::attention
