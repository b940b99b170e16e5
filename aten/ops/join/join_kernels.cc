// cat, stack and their relatives.
#include <algorithm>
#include <cstring>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/join/kernels.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/type_promotion.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

// A tensor of size [0] is joined with tensors of any rank, and counts for nothing.
bool is_skipped(const Tensor& t) { return t.dim() == 1 && t.sizes()[0] == 0; }

ScalarType joined_dtype(TensorList tensors) {
  TypePromotion promotion;
  for (const Tensor& t : tensors) {
    promotion.add_tensor(t.scalar_type(), static_cast<int>(t.dim()), t.unsafeGetTensorImpl()->is_wrapped_number());
  }
  return promotion.result();
}

constexpr int64_t kGrainBytes = 65536;

// Copies [outer][bytes] blocks of one dense tensor into rows of `pitch` bytes.
void copy_blocks(char* to, int64_t pitch, const char* from, int64_t outer, int64_t bytes) {
  if (outer == 1) {
    at::parallel_for(0, bytes, kGrainBytes * 4, [&](int64_t begin, int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
    });
    return;
  }
  at::parallel_for(0, outer, std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(bytes, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) std::memcpy(to + o * pitch, from + o * bytes, static_cast<size_t>(bytes));
  });
}

}  // namespace

TensorSpec cat_meta(TensorList tensors, int64_t dim) {
  TORCH_CHECK_VALUE(!tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  const Tensor* first = nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    TORCH_CHECK(tensors[i].defined(), "torch.cat(): tensor ", i, " is undefined");
    TORCH_CHECK(tensors[i].dim() > 0, "zero-dimensional tensor (at position ", i, ") cannot be concatenated");
    TORCH_CHECK(
        tensors[i].device() == tensors[0].device(), "torch.cat(): all input tensors must be on the same device. Received ",
        tensors[0].device().str(), " and ", tensors[i].device().str());
    if (!first && !is_skipped(tensors[i])) first = &tensors[i];
  }
  const ScalarType type = joined_dtype(tensors);
  if (!first) {
    maybe_wrap_dim(dim, 1);
    return {{0}, {}, type, tensors[0].device()};
  }
  dim = maybe_wrap_dim(dim, first->dim());
  DimVector sizes(first->sizes().begin(), first->sizes().end());
  int64_t total = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (is_skipped(t)) continue;
    TORCH_CHECK(
        t.dim() == first->dim(), "Tensors must have same number of dimensions: got ", first->dim(), " and ", t.dim());
    for (int64_t d = 0; d < t.dim(); ++d) {
      TORCH_CHECK(
          d == dim || t.sizes()[d] == sizes[static_cast<size_t>(d)], "Sizes of tensors must match except in dimension ", dim,
          ". Expected size ", sizes[static_cast<size_t>(d)], " but got size ", t.sizes()[d], " for tensor number ", i, " in the list.");
    }
    TORCH_CHECK(!__builtin_add_overflow(total, t.sizes()[dim], &total), "torch.cat(): the result is too large");
  }
  sizes[static_cast<size_t>(dim)] = total;
  return {std::move(sizes), {}, type, tensors[0].device()};
}

void cat_kernel(TensorList tensors, int64_t dim, Tensor& out) {
  if (out.numel() == 0) return;
  dim = maybe_wrap_dim(dim, out.dim());
  const auto item = static_cast<int64_t>(out.itemsize());
  const DimSplit whole = split_at_dim(out.sizes(), dim);
  const bool dense_out = out.is_cpu() && out.is_contiguous();
  int64_t start = 0;
  for (const Tensor& t : tensors) {
    if (is_skipped(t)) continue;
    const int64_t n = t.sizes()[dim];
    if (n == 0) continue;
    if (dense_out && t.scalar_type() == out.scalar_type() && t.is_contiguous()) {
      copy_blocks(
          static_cast<char*>(out.mutable_data_ptr()) + start * whole.inner * item, whole.size * whole.inner * item,
          static_cast<const char*>(t.const_data_ptr()), whole.outer, n * whole.inner * item);
    } else {
      Tensor part = at::narrow(out, dim, start, n);
      at::copy_(part, t);
    }
    start += n;
  }
}

TensorSpec stack_meta(TensorList tensors, int64_t dim) {
  TORCH_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  const IntArrayRef sizes = tensors[0].sizes();
  dim = maybe_wrap_dim(dim, tensors[0].dim() + 1);
  for (size_t i = 1; i < tensors.size(); ++i) {
    TORCH_CHECK(
        tensors[i].sizes() == sizes, "stack expects each tensor to be equal size, but got ", sizes, " at entry 0 and ",
        tensors[i].sizes(), " at entry ", i);
    TORCH_CHECK(tensors[i].device() == tensors[0].device(), "stack(): all input tensors must be on the same device");
  }
  DimVector result(sizes.begin(), sizes.end());
  result.insert(result.begin() + dim, static_cast<int64_t>(tensors.size()));
  return {std::move(result), {}, joined_dtype(tensors), tensors[0].device()};
}

void stack_kernel(TensorList tensors, int64_t dim, Tensor& out) {
  if (out.numel() == 0) return;
  dim = maybe_wrap_dim(dim, out.dim());
  const auto item = static_cast<int64_t>(out.itemsize());
  const DimSplit whole = split_at_dim(out.sizes(), dim);
  const bool dense_out = out.is_cpu() && out.is_contiguous();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (dense_out && t.scalar_type() == out.scalar_type() && t.is_contiguous()) {
      copy_blocks(
          static_cast<char*>(out.mutable_data_ptr()) + static_cast<int64_t>(i) * whole.inner * item, whole.size * whole.inner * item,
          static_cast<const char*>(t.const_data_ptr()), whole.outer, whole.inner * item);
    } else {
      Tensor part = at::select(out, dim, static_cast<int64_t>(i));
      at::copy_(part, t);
    }
  }
}

Tensor concat(TensorList tensors, int64_t dim) { return at::cat(tensors, dim); }

Tensor hstack(TensorList tensors) {
  TORCH_CHECK(!tensors.empty(), "hstack expects a non-empty TensorList");
  const std::vector<Tensor> t = at::atleast_1d(tensors);
  return at::cat(t, t[0].dim() == 1 ? 0 : 1);
}
Tensor vstack(TensorList tensors) {
  TORCH_CHECK(!tensors.empty(), "vstack expects a non-empty TensorList");
  return at::cat(at::atleast_2d(tensors), 0);
}
Tensor dstack(TensorList tensors) {
  TORCH_CHECK(!tensors.empty(), "dstack expects a non-empty TensorList");
  return at::cat(at::atleast_3d(tensors), 2);
}
Tensor column_stack(TensorList tensors) {
  TORCH_CHECK(!tensors.empty(), "column_stack expects a non-empty TensorList");
  std::vector<Tensor> columns;
  for (const Tensor& t : tensors) columns.push_back(t.dim() <= 1 ? at::reshape(t, {t.numel(), 1}) : t);
  return at::hstack(columns);
}

// Sequences of different lengths in one tensor, padded at the right or left end.
Tensor pad_sequence(TensorList sequences, bool batch_first, double padding_value, std::string_view padding_side) {
  TORCH_CHECK(!sequences.empty(), "received an empty list of sequences");
  TORCH_CHECK(
      padding_side == "right" || padding_side == "left", "Expected padding_side to be one of left or right, but got ", padding_side, ".");
  int64_t longest = 0;
  for (const Tensor& s : sequences) {
    TORCH_CHECK(s.dim() > 0, "pad_sequence(): expected sequences of at least one dimension");
    TORCH_CHECK(s.dim() == sequences[0].dim(), "pad_sequence(): all sequences must have the same number of dimensions, got ",
                sequences[0].sizes(), " and ", s.sizes());
    for (int64_t d = s.dim() - 1; d > 0; --d) {
      TORCH_CHECK(s.size(d) == sequences[0].size(d), "The size of tensor a (", sequences[0].size(d),
                  ") must match the size of tensor b (", s.size(d), ") at non-singleton dimension ", d,
                  ": pad_sequence() pads the first dimension only");
    }
    longest = std::max(longest, s.sizes()[0]);
  }
  std::vector<Tensor> rows;
  for (const Tensor& s : sequences) {
    if (s.sizes()[0] == longest) {
      rows.push_back(s);
      continue;
    }
    DimVector sizes(s.sizes().begin(), s.sizes().end());
    sizes[0] = longest - s.sizes()[0];
    Tensor padding = empty_contiguous(sizes, s.scalar_type(), s.device());
    at::fill_(padding, Scalar(padding_value));
    rows.push_back(padding_side == "right" ? at::cat({s, padding}, 0) : at::cat({padding, s}, 0));
  }
  return at::stack(rows, batch_first ? 0 : 1);
}

}  // namespace at::native
