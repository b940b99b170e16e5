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

Tensor select_grad(const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t index) {
  Tensor zeros = at::zeros(sizes, grad.options());
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
  Tensor zeros = at::zeros(sizes, grad.options());
  if (GradMode::is_enabled()) return at::slice_scatter(zeros, grad, dim, start, end, step);
  Tensor part = at::slice(zeros, dim, start, end, step);
  at::copy_(part, grad);
  return zeros;
}

Tensor diagonal_grad(const Tensor& grad, IntArrayRef sizes, int64_t offset, int64_t dim1, int64_t dim2) {
  Tensor zeros = at::zeros(sizes, grad.options());
  if (GradMode::is_enabled()) return at::diagonal_scatter(zeros, grad, offset, dim1, dim2);
  Tensor part = at::diagonal(zeros, offset, dim1, dim2);
  at::copy_(part, grad);
  return zeros;
}

Tensor unfold_grad(const Tensor& grad, IntArrayRef sizes, int64_t dimension, int64_t size, int64_t step) {
  // As a view of a contiguous tensor of the input's sizes; windows that overlap collect their gradients.
  grad_ops::Geometry input;
  input.sizes.assign(sizes.begin(), sizes.end());
  input.strides = c10::contiguous_strides(sizes);
  grad_ops::Geometry view;
  view.sizes.assign(grad.sizes().begin(), grad.sizes().end());
  view.strides = input.strides;
  if (sizes.empty()) {
    view.strides.push_back(1);
  } else {
    const size_t d = static_cast<size_t>(maybe_wrap_dim(dimension, static_cast<int64_t>(sizes.size())));
    view.strides.push_back(input.strides[d]);
    // Of a single window the step does not count, and may be any number.
    if (view.sizes[d] > 1) view.strides[d] *= step;
  }
  return grad_ops::as_strided_backward(grad, input, view);
}

namespace {

Tensor join_parts(
    const Tensor* grads, IntArrayRef sizes, const DimVector& lengths, int64_t dim, const TensorOptions& options) {
  std::vector<Tensor> parts;
  parts.reserve(lengths.size());
  DimVector part_sizes(sizes.begin(), sizes.end());
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (grads[i].defined()) {
      parts.push_back(grads[i]);
    } else {
      part_sizes[static_cast<size_t>(dim)] = lengths[i];
      parts.push_back(at::zeros(part_sizes, options));
    }
  }
  return at::cat(parts, dim);
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
  return at::stack(grads, dim);
}

Tensor repeat_grad(const Tensor& grad, IntArrayRef repeats, IntArrayRef sizes) {
  // Each dimension of the result is (repeat, size): the repeats are summed.
  const size_t lead = repeats.size() - sizes.size();
  for (int64_t repeat : repeats) {
    if (repeat == 0) return at::zeros(sizes, grad.options());
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
