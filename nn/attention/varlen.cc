#include "nn/attention/varlen.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "nn/attention/flex_attention.h"

namespace torch::nn::attention::varlen {
namespace {

using at::Tensor;

// The integers of a tensor of one dimension, on the host.
std::vector<int64_t> numbers(const char* name, const Tensor& t) {
  TORCH_CHECK_VALUE(t.defined() && t.dim() == 1, "varlen_attn: expected ", name, " with one dimension");
  TORCH_CHECK_TYPE(t.scalar_type() == at::kInt || t.scalar_type() == at::kLong, "varlen_attn: expected ", name,
                   " of int32 or int64, but got ", t.scalar_type());
  const Tensor host = at::contiguous(at::to(t.to(at::kCPU), at::kLong));
  return {host.data_ptr<int64_t>(), host.data_ptr<int64_t>() + host.numel()};
}

// The rows [begin, begin + length) of each sequence.
struct Rows {
  std::vector<int64_t> begin, length;
};

Rows rows_of(const char* name, const Tensor& cumulative, int64_t total, const char* longest_name, int64_t longest) {
  const std::vector<int64_t> ends = numbers(name, cumulative);
  TORCH_CHECK_VALUE(!ends.empty() && ends.front() == 0 && ends.back() <= total, "varlen_attn: expected ", name,
                    " to go from 0 to at most ", total, ", the number of rows");
  Rows rows;
  for (size_t i = 0; i + 1 < ends.size(); ++i) {
    rows.begin.push_back(ends[i]);
    rows.length.push_back(ends[i + 1] - ends[i]);
    TORCH_CHECK_VALUE(rows.length[i] >= 0, "varlen_attn: ", name, " falls after its entry ", i);
    TORCH_CHECK_VALUE(rows.length[i] <= longest, "varlen_attn: a sequence of ", rows.length[i], " rows, but ",
                      longest_name, " is ", longest);
  }
  return rows;
}

void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value, const VarlenAttnOptions& options) {
  const int64_t dims = options.block_table.defined() ? 4 : 3;
  TORCH_CHECK_VALUE(query.dim() == 3 && key.dim() == dims && value.dim() == dims,
                    "varlen_attn: expected query of 3 dimensions, key and value of ", dims, ", but got ", query.sizes(),
                    ", ", key.sizes(), " and ", value.sizes());
  TORCH_CHECK_VALUE(key.sizes().slice(0, dims - 1) == value.sizes().slice(0, dims - 1),
                    "varlen_attn: expected key and value with the same rows and heads, but got ", key.sizes(), " and ",
                    value.sizes());
  const int64_t heads = query.size(1), key_heads = key.size(-2);
  TORCH_CHECK_VALUE(options.enable_gqa || heads == key_heads,
                    "Expect query and key/value to have the same number of heads but got Hq=", heads,
                    " and Hkv=", key_heads, ". Try setting enable_gqa=True for GQA.");
  TORCH_CHECK_VALUE(heads == key_heads || (key_heads > 0 && heads % key_heads == 0),
                    "Expect number of query heads to be a multiple of kv heads for GQA but got Hq=", heads,
                    " and Hkv=", key_heads, ".");
  TORCH_CHECK_VALUE(!options.scale.has_value() || *options.scale > 0, "scale must be greater than 0, got ",
                    *options.scale);
  TORCH_CHECK_VALUE(options.window_size.first >= -1 && options.window_size.second >= -1,
                    "varlen_attn: expected a window_size of at least -1, but got ", options.window_size.first, " and ",
                    options.window_size.second);
  const bool recorded =
      c10::GradMode::is_enabled() && (query.requires_grad() || key.requires_grad() || value.requires_grad());
  TORCH_CHECK(!recorded || !options.seqused_k.defined(), "seqused_k is an inference-only parameter.");
  TORCH_CHECK(!recorded || !options.block_table.defined(), "block_table is an inference-only parameter.");
  TORCH_CHECK_VALUE(!options.block_table.defined() || options.seqused_k.defined(),
                    "varlen_attn: block_table requires seqused_k");
}

// The keys of each sequence.
Rows keys_of(const Tensor& key, const Tensor& cu_seq_k, int64_t max_k, size_t count, const VarlenAttnOptions& options) {
  const bool paged = options.block_table.defined();
  Rows rows;
  if (paged) {
    const Tensor& table = options.block_table;
    TORCH_CHECK_VALUE(table.dim() == 2 && table.size(0) == static_cast<int64_t>(count),
                      "varlen_attn: expected a row of block_table for each of ", count, " sequences, but got ",
                      table.sizes());
    TORCH_CHECK_TYPE(table.scalar_type() == at::kInt, "varlen_attn: expected block_table of int32, but got ",
                     table.scalar_type());
    rows.begin.assign(count, 0);
    rows.length.assign(count, table.size(1) * key.size(1));
  } else {
    rows = rows_of("cu_seq_k", cu_seq_k, key.size(0), "max_k", max_k);
    TORCH_CHECK_VALUE(rows.length.size() == count, "varlen_attn: cu_seq_k is of ", rows.length.size(),
                      " sequences and cu_seq_q of ", count);
  }
  if (!options.seqused_k.defined()) return rows;
  const std::vector<int64_t> used = numbers("seqused_k", options.seqused_k);
  TORCH_CHECK_VALUE(used.size() == count, "varlen_attn: seqused_k is of ", used.size(), " sequences and cu_seq_q of ",
                    count);
  for (size_t i = 0; i < count; ++i) {
    TORCH_CHECK_VALUE(used[i] >= 0 && used[i] <= rows.length[i], "varlen_attn: seqused_k is ", used[i],
                      " for a sequence with room for ", rows.length[i], " keys");
    rows.length[i] = used[i];
  }
  return rows;
}

// Keys or values of sequence i: [1, heads, length, width].
Tensor part_of(const Tensor& all, const Tensor& block_table, const Rows& rows, size_t i) {
  Tensor part = all;
  if (block_table.defined()) {
    const int64_t pages = (rows.length[i] + all.size(1) - 1) / std::max<int64_t>(all.size(1), 1);
    const Tensor chosen = at::slice(at::select(block_table, 0, static_cast<int64_t>(i)), 0, 0, pages);
    part = at::flatten(at::index_select(all, 0, chosen), 0, 1);
  }
  return at::unsqueeze(at::transpose(at::slice(part, 0, rows.begin[i], rows.begin[i] + rows.length[i]), 0, 1), 0);
}

std::optional<BlockMask> window_mask(std::pair<int64_t, int64_t> window, int64_t queries, int64_t keys,
                                     at::Device device) {
  if (queries == 0 || keys == 0 || window == std::pair<int64_t, int64_t>(-1, -1)) return std::nullopt;
  const auto [left, right] = window;
  const int64_t more = keys - queries;
  const MaskMod sees = [=](const Tensor&, const Tensor&, const Tensor& q_idx, const Tensor& kv_idx) {
    const Tensor after = at::sub(kv_idx, at::add(q_idx, more));
    if (left < 0) return at::le(after, right);
    if (right < 0) return at::ge(after, -left);
    return at::logical_and(at::le(after, right), at::ge(after, -left));
  };
  return create_block_mask(sees, 1, 1, queries, keys, device);
}

}  // namespace

std::tuple<Tensor, Tensor> varlen_attn(const Tensor& query, const Tensor& key, const Tensor& value,
                                       const Tensor& cu_seq_q, const Tensor& cu_seq_k, int64_t max_q, int64_t max_k,
                                       const AuxRequest& return_aux, const VarlenAttnOptions& options) {
  check_inputs(query, key, value, options);
  const Rows queries = rows_of("cu_seq_q", cu_seq_q, query.size(0), "max_q", max_q);
  const size_t count = queries.length.size();
  const Rows keys = keys_of(key, cu_seq_k, max_k, count, options);
  std::vector<Tensor> outs, lses;
  for (size_t i = 0; i < count; ++i) {
    const auto mask = window_mask(options.window_size, queries.length[i], keys.length[i], query.device());
    auto [out, aux] = flex_attention(part_of(query, {}, queries, i), part_of(key, options.block_table, keys, i),
                                     part_of(value, options.block_table, keys, i), {}, mask, options.scale,
                                     options.enable_gqa, attention::AuxRequest{.lse = return_aux.lse});
    outs.push_back(at::transpose(at::squeeze(out, 0), 0, 1));
    if (return_aux.lse) lses.push_back(at::squeeze(aux.lse, 0));
  }
  const int64_t rest = query.size(0) - (count == 0 ? 0 : queries.begin.back() + queries.length.back());
  const at::TensorOptions dtype = query.options().requires_grad(false);
  if (rest > 0 || count == 0) {
    outs.push_back(at::zeros({rest, query.size(1), value.size(-1)}, outs.empty() ? dtype : outs[0].options()));
    const at::ScalarType work = query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    lses.push_back(at::full({query.size(1), rest}, -std::numeric_limits<double>::infinity(), dtype.dtype(work)));
  }
  return {at::cat(outs, 0), return_aux.lse ? at::cat(lses, 1) : Tensor()};
}

Tensor varlen_attn(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& cu_seq_q,
                   const Tensor& cu_seq_k, int64_t max_q, int64_t max_k, const VarlenAttnOptions& options) {
  return std::get<0>(varlen_attn(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, AuxRequest(), options));
}

std::tuple<Tensor, Tensor> varlen_attn_out(Tensor& out, const Tensor& query, const Tensor& key, const Tensor& value,
                                           const Tensor& cu_seq_q, const Tensor& cu_seq_k, int64_t max_q, int64_t max_k,
                                           const AuxRequest& return_aux, const VarlenAttnOptions& options) {
  auto [result, lse] = varlen_attn(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, return_aux, options);
  TORCH_CHECK_VALUE(out.sizes() == result.sizes() && out.scalar_type() == result.scalar_type(),
                    "varlen_attn_out: expected out of sizes ", result.sizes(), " and dtype ", result.scalar_type(),
                    ", but got ", out.sizes(), " and ", out.scalar_type());
  at::copy_(out, result);
  return {out, lse};
}

}  // namespace torch::nn::attention::varlen
