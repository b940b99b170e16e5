#include "autograd/derivatives/view_functions.h"

#include <algorithm>
#include <utility>

#include "aten/core/view.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/engine/grad_ops.h"
#include "c10/core/grad_mode.h"
#include "c10/core/memory_format.h"

namespace torch::autograd::generated {

Tensor as_strided_grad(
    const Tensor& grad,
    IntArrayRef self_sizes,
    IntArrayRef self_strides,
    int64_t self_offset,
    IntArrayRef size,
    IntArrayRef stride,
    std::optional<int64_t> storage_offset) {
  grad_ops::Geometry input, view;
  input.sizes.assign(self_sizes.begin(), self_sizes.end());
  input.strides.assign(self_strides.begin(), self_strides.end());
  input.offset = self_offset;
  view.sizes.assign(size.begin(), size.end());
  view.strides.assign(stride.begin(), stride.end());
  view.offset = storage_offset.value_or(self_offset);
  return grad_ops::as_strided_backward(grad, input, view);
}

Tensor reshape_grad(const Tensor& grad, IntArrayRef sizes) {
  return at::reshape(grad, sizes);
}

Tensor permute_grad(const Tensor& grad, IntArrayRef dims) {
  DimVector inverse(dims.size(), 0);
  for (size_t d = 0; d < dims.size(); ++d) {
    inverse[static_cast<size_t>(maybe_wrap_dim(dims[d], static_cast<int64_t>(dims.size())))] = static_cast<int64_t>(d);
  }
  return at::permute(grad, inverse);
}

namespace {
// Parts of sparse tensors share no memory with them, and a distributed tensor of zeros, to be written to, would be all
// there on each rank.
bool is_padded(const Tensor& grad) {
  return grad.layout() != kStrided || grad.key_set().has(c10::DispatchKey::Wrapper);
}

// The tensor of `sizes` that has `part` from `start` on along `dim`, and nothing else.
Tensor placed(const Tensor& part, IntArrayRef sizes, int64_t dim, int64_t start) {
  DimVector pad(static_cast<size_t>(2 * (part.dim() - dim)), 0);
  pad[pad.size() - 2] = start;
  pad[pad.size() - 1] = sizes[dim] - start - part.size(dim);
  return at::constant_pad_nd(part, pad, 0);
}
}  // namespace

Tensor select_grad(const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t index) {
  if (C10_UNLIKELY(is_padded(grad))) {
    dim = maybe_wrap_dim(dim, static_cast<int64_t>(sizes.size()));
    const int64_t place = index < 0 ? index + sizes[dim] : index;
    return placed(at::unsqueeze(grad, dim), sizes, dim, place);
  }
  Tensor zeros = at::new_zeros(grad, sizes);
  if (GradMode::is_enabled()) return at::select_scatter(zeros, grad, dim, index);
  Tensor part = at::select(zeros, dim, index);
  at::copy_(part, grad);
  return zeros;
}

Tensor slice_grad(
    const Tensor& grad,
    IntArrayRef sizes,
    int64_t dim,
    std::optional<int64_t> start,
    std::optional<int64_t> end,
    int64_t step) {
  if (C10_UNLIKELY(is_padded(grad) && (step == 1 || grad.layout() != kStrided))) {
    TORCH_CHECK_NOT_IMPLEMENTED(step == 1, "slice: a sparse gradient needs a step of 1, but got ", step);
    dim = maybe_wrap_dim(dim, static_cast<int64_t>(sizes.size()));
    const int64_t first = start.value_or(0), from = first < 0 ? first + sizes[dim] : first;
    return placed(grad, sizes, dim, std::clamp<int64_t>(from, 0, sizes[dim]));
  }
  Tensor zeros = at::new_zeros(grad, sizes);
  if (GradMode::is_enabled()) return at::slice_scatter(zeros, grad, dim, start, end, step);
  Tensor part = at::slice(zeros, dim, start, end, step);
  at::copy_(part, grad);
  return zeros;
}

Tensor diagonal_grad(const Tensor& grad, IntArrayRef sizes, int64_t offset, int64_t dim1, int64_t dim2) {
  Tensor zeros = at::new_zeros(grad, sizes);
  if (GradMode::is_enabled()) return at::diagonal_scatter(zeros, grad, offset, dim1, dim2);
  Tensor part = at::diagonal(zeros, offset, dim1, dim2);
  at::copy_(part, grad);
  return zeros;
}

namespace {

// What `parts` are the slices of along `dim`, where their memory is a contiguous tensor's and nobody else's; undefined
// where it is not. Each is held by the caller's list, too.
Tensor whole_of(const std::vector<Tensor>& parts, IntArrayRef sizes, int64_t dim) {
  if (GradMode::is_enabled() || parts.size() < 2 || !parts[0].has_storage()) return {};
  DimVector strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    step *= sizes[d];
  }
  int64_t offset = parts[0].storage_offset();
  for (const Tensor& part : parts) {
    const bool fits = part.layout() == kStrided && part.numel() > 0 && part.is_alias_of(parts[0]) &&
                      part.scalar_type() == parts[0].scalar_type() && part.strides() == IntArrayRef(strides) &&
                      part.storage_offset() == offset && !part.requires_grad() && part.use_count() == 2;
    if (!fits) return {};
    offset += part.size(dim) * strides[static_cast<size_t>(dim)];
  }
  // They may be views of a tensor that only they keep.
  const c10::TensorImpl& first = *parts[0].unsafeGetTensorImpl();
  const size_t holders = parts.size() + (first.is_view() ? 1 : 0);
  if (first.storage().use_count() != holders) return {};
  if (first.is_view() && first.base().use_count() != parts.size()) return {};
  return at::as_strided(parts[0], sizes, strides, parts[0].storage_offset());
}

Tensor join_parts(
    const Tensor* grads, IntArrayRef sizes, const DimVector& lengths, int64_t dim, const TensorOptions& options) {
  std::vector<Tensor> parts;
  parts.reserve(lengths.size());
  DimVector part_sizes(sizes.begin(), sizes.end());
  const Tensor* given = std::find_if(grads, grads + lengths.size(), [](const Tensor& grad) { return grad.defined(); });
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (grads[i].defined()) {
      parts.push_back(grads[i]);
    } else {
      part_sizes[static_cast<size_t>(dim)] = lengths[i];
      const bool any = given != grads + lengths.size();
      parts.push_back(any ? at::new_zeros(*given, part_sizes, options) : at::zeros(part_sizes, options));
    }
  }
  Tensor whole = whole_of(parts, sizes, dim);
  return whole.defined() ? whole : at::cat(parts, dim);
}

}  // namespace

Tensor split_grad(
    const Tensor* grads, IntArrayRef sizes, int64_t split_size, int64_t dim, const TensorOptions& options) {
  dim = maybe_wrap_dim(dim, static_cast<int64_t>(sizes.size()));
  const int64_t length = sizes[static_cast<size_t>(dim)];
  DimVector lengths;
  for (int64_t start = 0; start < length; start += split_size) lengths.push_back(std::min(split_size, length - start));
  if (lengths.empty()) lengths.push_back(0);
  return join_parts(grads, sizes, lengths, dim, options);
}

Tensor split_with_sizes_grad(
    const Tensor* grads, IntArrayRef sizes, IntArrayRef split_sizes, int64_t dim, const TensorOptions& options) {
  dim = maybe_wrap_dim(dim, static_cast<int64_t>(sizes.size()));
  return join_parts(grads, sizes, DimVector(split_sizes.begin(), split_sizes.end()), dim, options);
}

Tensor unbind_grad(const std::vector<Tensor>& grads, int64_t dim) {
  const auto sparse = std::find_if(grads.begin(), grads.end(), [](const Tensor& t) { return t.layout() == kSparse; });
  if (C10_LIKELY(sparse == grads.end())) return at::stack(grads, dim);
  // Those of slices that took no part are dense zeros.
  std::vector<Tensor> all = grads;
  for (Tensor& t : all) {
    if (t.layout() == kStrided) t = at::zeros_like(*sparse);
  }
  return at::stack(all, dim);
}

Tensor repeat_grad(const Tensor& grad, IntArrayRef repeats, IntArrayRef sizes) {
  // Each dimension of the result is (repeat, size): the repeats are summed.
  const size_t lead = repeats.size() - sizes.size();
  for (int64_t repeat : repeats) {
    if (repeat == 0) return at::new_zeros(grad, sizes);
  }
  DimVector split, dims;
  for (size_t d = 0; d < repeats.size(); ++d) {
    dims.push_back(static_cast<int64_t>(split.size()));
    split.push_back(repeats[d]);
    if (d >= lead) split.push_back(sizes[d - lead]);
  }
  if (dims.empty()) return grad;
  return at::sum(at::reshape(grad, split), dims);
}

Tensor view_as_complex_grad(const Tensor& grad) {
  return at::view_as_real(grad.is_complex() ? grad : at::complex(grad, at::zeros_like(grad)));
}

Tensor view_as_real_grad(const Tensor& grad) {
  return at::view_as_complex(at::contiguous(grad));
}

Tensor constant_pad_grad(const Tensor& grad, IntArrayRef pad) {
  DimVector back;
  for (int64_t width : pad) back.push_back(-width);
  return at::constant_pad_nd(grad, back, Scalar(0));
}

Tensor dropout_grad(const Tensor& grad, const Tensor& mask, double p, std::optional<bool> train) {
  // Where `train` is left out the kept elements are scaled forwards only, as in PyTorch.
  const double scale = !train.value_or(false) ? 1.0 : p == 1.0 ? 0.0 : 1.0 / (1.0 - p);
  return at::mul(at::mul(grad, mask), Scalar(scale));
}

}  // namespace torch::autograd::generated
