// Tensors packed one after the other: as a vector, by chunks, as rows of lengths of their own.
#include <vector>

#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/composite/kernels.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

// The offsets of rows of one jagged dimension, as int64.
Tensor offsets_of(const char* op, TensorList offsets) {
  TORCH_CHECK(offsets.size() == 1, op, ": only one jagged dimension is supported, but got offsets for ",
              offsets.size());
  TORCH_CHECK(offsets[0].dim() == 1 && offsets[0].numel() >= 1, op,
              ": expected offsets that are a vector with elements, but got sizes ", offsets[0].sizes());
  TORCH_CHECK(offsets[0].scalar_type() == kLong || offsets[0].scalar_type() == kInt, op,
              ": expected offsets of dtype Long or Int, but got ", offsets[0].scalar_type());
  return at::to(offsets[0], kLong);
}

// `mask` with dimensions of size 1 behind, to fill a tensor of `rank` dimensions.
Tensor trailing(Tensor mask, int64_t rank) {
  while (mask.dim() < rank) mask = at::unsqueeze(mask, -1);
  return mask;
}

}  // namespace

Tensor addmm_activation(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                        const Scalar& alpha, bool use_gelu) {
  const Tensor sum = at::addmm(self, mat1, mat2, beta, alpha);
  return use_gelu ? at::gelu(sum) : at::relu(sum);
}

// Each tensor with zeros behind along `dim`, cut into chunks, each flattened from `dim` on; side by side.
Tensor chunk_cat(TensorList tensors, int64_t dim, int64_t num_chunks) {
  TORCH_CHECK(!tensors.empty(), "_chunk_cat expects a non-empty input tensor list");
  TORCH_CHECK(num_chunks >= 1, "_chunk_cat expects positive num_chunks, but got ", num_chunks);
  const Tensor& first = tensors[0];
  TORCH_CHECK(first.numel() > 0, "_chunk_cat expects non-empty tensors");
  const int64_t at = maybe_wrap_dim(dim, first.dim());
  std::vector<Tensor> chunks;
  for (const Tensor& t : tensors) {
    TORCH_CHECK(t.numel() > 0, "_chunk_cat expects non-empty tensors");
    TORCH_CHECK(t.scalar_type() == first.scalar_type(),
                "_chunk_cat expects all input tensors with the same dtype, but got ", first.scalar_type(), " and ",
                t.scalar_type());
    TORCH_CHECK(t.device() == first.device(), "_chunk_cat expects all input tensors on the same device, but got ",
                first.device(), " and ", t.device());
    TORCH_CHECK(at < t.dim() && maybe_wrap_dim(dim, t.dim()) == at &&
                    t.sizes().slice(0, static_cast<size_t>(at)) == first.sizes().slice(0, static_cast<size_t>(at)),
                "_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors, but got ", first.sizes(),
                " and ", t.sizes());
    DimVector sizes(t.sizes().begin(), t.sizes().end());
    const int64_t chunk = sizes[at] / num_chunks + (sizes[at] % num_chunks != 0);
    sizes[at] = chunk * num_chunks - sizes[at];
    const Tensor whole = sizes[at] == 0 ? t : at::cat({t, at::zeros(sizes, t.options())}, at);
    sizes.resize(static_cast<size_t>(at));
    sizes.push_back(num_chunks);
    sizes.push_back(-1);
    chunks.push_back(at::reshape(whole, sizes));
  }
  return at::cat(chunks, at + 1);
}

Tensor flatten_dense_tensors(TensorList tensors) {
  TORCH_CHECK(!tensors.empty(), "flatten_dense_tensors: expected a list that is not empty");
  std::vector<Tensor> flat;
  for (const Tensor& t : tensors) flat.push_back(at::reshape(t, {-1}));
  return at::cat(flat);
}

std::vector<Tensor> unflatten_dense_tensors(const Tensor& flat, TensorList tensors) {
  TORCH_CHECK(flat.dim() == 1, "unflatten_dense_tensors: expected a vector, but got sizes ", flat.sizes());
  std::vector<Tensor> parts;
  int64_t offset = 0;
  for (const Tensor& t : tensors) {
    if (t.numel() == 0) {
      parts.push_back(at::empty({0}, flat.options()));
      continue;
    }
    parts.push_back(at::view(at::narrow(flat, 0, offset, t.numel()), t.sizes()));
    offset += t.numel();
  }
  return parts;
}

// values [total, ...], row i from offsets[i] to the next, as [rows, longest, ...]; what is longer is cut off.
Tensor jagged_to_padded_dense(const Tensor& values, TensorList offsets, IntArrayRef max_lengths, double padding_value) {
  constexpr const char* kOp = "_jagged_to_padded_dense_forward";
  const Tensor bounds = offsets_of(kOp, offsets);
  TORCH_CHECK(max_lengths.size() == 1 && max_lengths[0] >= 0, kOp,
              ": expected one length that is not negative, but got ", max_lengths);
  TORCH_CHECK(values.dim() >= 1, kOp, ": expected values of at least one dimension");
  const int64_t rows = bounds.numel() - 1, longest = max_lengths[0];
  DimVector sizes(values.sizes().begin(), values.sizes().end());
  sizes[0] = rows;
  sizes.insert(sizes.begin() + 1, longest);
  if (values.numel() == 0 || rows * longest == 0) return at::full(sizes, Scalar(padding_value), values.options());
  const Tensor place = at::arange(Scalar(longest), bounds.options());
  const Tensor begin = at::unsqueeze(at::narrow(bounds, 0, 0, rows), 1),
               end = at::unsqueeze(at::narrow(bounds, 0, 1, rows), 1);
  const Tensor from = at::add(begin, place);
  const Tensor outside = at::ge(from, end);
  const Tensor taken = at::index_select(values, 0, at::reshape(at::masked_fill(from, outside, Scalar(0)), {-1}));
  return at::masked_fill(at::reshape(taken, sizes), trailing(outside, static_cast<int64_t>(sizes.size())),
                         Scalar(padding_value));
}

// The other way round. Rows that are longer than dense has room get zeros.
Tensor padded_dense_to_jagged(const Tensor& dense, TensorList offsets, std::optional<int64_t> total_L) {
  constexpr const char* kOp = "_padded_dense_to_jagged_forward";
  const Tensor bounds = offsets_of(kOp, offsets);
  TORCH_CHECK(dense.dim() >= 2, kOp, ": expected a dense tensor of at least two dimensions, but got ", dense.sizes());
  const int64_t rows = bounds.numel() - 1, longest = dense.size(1);
  TORCH_CHECK(rows == dense.size(0), kOp, ": expected offsets of ", dense.size(0), " rows, but got ", rows);
  const int64_t total = total_L.has_value() ? *total_L : at::item(at::select(bounds, 0, rows)).toLong();
  TORCH_CHECK(total >= 0, kOp, ": expected a total length that is not negative, but got ", total);
  DimVector sizes(dense.sizes().begin() + 1, dense.sizes().end());
  sizes[0] = total;
  if (dense.numel() == 0 || total == 0) return at::zeros(sizes, dense.options());
  const Tensor place = at::arange(Scalar(total), bounds.options());
  const Tensor row = at::clamp_max(
      at::searchsorted(at::contiguous(at::narrow(bounds, 0, 1, rows)), place, false, /*right=*/true), Scalar(rows - 1));
  const Tensor at_row = at::sub(place, at::index_select(bounds, 0, row));
  const Tensor outside = at::ge(at_row, Scalar(longest));
  const Tensor from = at::masked_fill(at::add(at::mul(row, Scalar(longest)), at_row), outside, Scalar(0));
  return at::masked_fill(at::index_select(at::flatten(dense, 0, 1), 0, from), trailing(outside, dense.dim() - 1),
                         Scalar(0));
}

}  // namespace at::native
