// Views of quantized tensors. The functions for all backends make them, with the quantizer of their base; here stands
// what a view does to a quantizer of channels.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "aten/core/structured.h"
#include "aten/ops/view/kernels.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/quantized_parts.h"

namespace at::native {
namespace {

const Quantizer& quantizer_of(const Tensor& t) {
  return quantized::impl_of("view", t).quantizer();
}

bool per_tensor(const Tensor& t) {
  return quantizer_of(t).per_tensor();
}

Tensor with(Tensor view, QuantizerPtr quantizer) {
  quantized::impl_of("view", view).set_quantizer(std::move(quantizer));
  return view;
}

// Channels along another dimension.
QuantizerPtr along(const Quantizer& quantizer, int64_t axis) {
  auto moved = std::make_shared<Quantizer>(quantizer);
  moved->axis = axis;
  return moved;
}

void check_uniform(const Tensor& self) {
  TORCH_CHECK(per_tensor(self), "Setting strides is possible only on uniformly quantized tensor");
}

// Of one channel, whose zero point is an integer.
bool is_uniform(const Quantizer& quantizer) {
  if (quantizer.per_tensor() || quantizer.scales.numel() != 1) return false;
  if (quantizer.scheme == kPerChannelAffine) return true;
  const float zero = at::item(quantizer.zero_points).toFloat();
  return zero == std::nearbyint(zero) && std::abs(zero) < 0x1p31f;
}
QuantizerPtr as_uniform(const Quantizer& quantizer) {
  if (quantizer.scheme == kPerChannelAffine) {
    return quantized::per_tensor(at::item(quantizer.scales).toDouble(), at::item(quantizer.zero_points).toLong());
  }
  return quantized::per_tensor(at::item(quantizer.scales).toDouble(),
                               static_cast<int64_t>(at::item(quantizer.zero_points).toFloat()));
}

// Some of the channels of `self`. A single one is quantized as a whole.
QuantizerPtr channels_of(const char* op, const Tensor& self, std::optional<int64_t> start, std::optional<int64_t> end,
                         int64_t step) {
  const Quantizer& quantizer = quantizer_of(self);
  quantized::check_fits(op, quantizer, self.sizes());
  auto part = std::make_shared<Quantizer>(quantizer);
  part->scales = at::contiguous(at::slice(quantizer.scales, 0, start, end, step));
  part->zero_points = at::contiguous(at::slice(quantizer.zero_points, 0, start, end, step));
  if (part->scheme == kPerChannelAffine && is_uniform(*part)) return as_uniform(*part);
  return part;
}

// What is left of the channels' dimension when those that `gone` names, of size 1, are taken out.
QuantizerPtr squeezed(const Tensor& self, IntArrayRef dims) {
  const Quantizer& quantizer = quantizer_of(self);
  int64_t before = 0;
  for (const int64_t dim : dims) {
    const int64_t d = maybe_wrap_dim(dim, self.dim());
    if (self.dim() == 0 || self.sizes()[static_cast<size_t>(d)] != 1) continue;
    TORCH_CHECK(d != quantizer.axis,
                "Squeeze is only possible on non-axis dimension for Per-Channel Quantized Tensors.");
    before += d < quantizer.axis;
  }
  return along(quantizer, quantizer.axis - before);
}

DimVector all_dims(const Tensor& self) {
  DimVector dims;
  for (int64_t d = 0; d < self.dim(); ++d) dims.push_back(d);
  return dims;
}

QuantizerPtr unsqueezed(const Tensor& self, int64_t dim) {
  const Quantizer& quantizer = quantizer_of(self);
  return along(quantizer, quantizer.axis + (maybe_wrap_dim(dim, self.dim() + 1) <= quantizer.axis));
}

// After two dimensions have changed places.
QuantizerPtr transposed(const Tensor& self, int64_t dim0, int64_t dim1) {
  const Quantizer& quantizer = quantizer_of(self);
  const int64_t d0 = maybe_wrap_dim(dim0, self.dim()), d1 = maybe_wrap_dim(dim1, self.dim());
  return along(quantizer, quantizer.axis == d0 ? d1 : quantizer.axis == d1 ? d0 : quantizer.axis);
}

// Where the channels of `self` are in another shape of as many elements: the dimension that has as many elements before
// it and as many indices. Channels that no dimension holds stay where they were; nothing reads numbers by such a
// quantizer, as PyTorch does not.
QuantizerPtr reshaped(const Tensor& self, IntArrayRef sizes) {
  const Quantizer& quantizer = quantizer_of(self);
  const QuantizerPtr& same = quantized::impl_of("view", self).shared_quantizer();
  if (self.sizes() == sizes || !quantized::fits(quantizer, self.sizes())) return same;
  int64_t before = 1, outer = 1;
  for (int64_t d = 0; d < quantizer.axis; ++d) before *= self.size(d);
  for (size_t d = 0; d < sizes.size(); outer *= sizes[d++]) {
    if (outer == before && sizes[d] == quantizer.scales.numel()) return along(quantizer, static_cast<int64_t>(d));
  }
  return is_uniform(quantizer) ? as_uniform(quantizer) : same;
}

// What changes a tensor in place: `change`, and the quantizer that it then has, which may be refused before.
template <class F>
Tensor& changed(Tensor& self, QuantizerPtr quantizer, const F& change) {
  change();
  structured::mark_written(self);
  if (quantizer != nullptr) with(self, std::move(quantizer));
  return self;
}

}  // namespace

Tensor as_strided_quantized(const Tensor& self, IntArrayRef size, IntArrayRef stride,
                            std::optional<int64_t> storage_offset) {
  check_uniform(self);
  return native::as_strided(self, size, stride, storage_offset);
}
Tensor permute_quantized(const Tensor& self, IntArrayRef dims) {
  check_uniform(self);
  return native::permute(self, dims);
}
Tensor transpose_quantized(const Tensor& self, int64_t dim0, int64_t dim1) {
  check_uniform(self);
  return native::transpose(self, dim0, dim1);
}
Tensor t_quantized(const Tensor& self) {
  check_uniform(self);
  return native::t(self);
}
Tensor expand_quantized(const Tensor& self, IntArrayRef size, bool implicit) {
  check_uniform(self);
  return native::expand(self, size, implicit);
}
Tensor diagonal_quantized(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  check_uniform(self);
  return native::diagonal(self, offset, dim1, dim2);
}
Tensor unfold_quantized(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  check_uniform(self);
  return native::unfold(self, dimension, size, step);
}

Tensor view_quantized(const Tensor& self, IntArrayRef size) {
  Tensor view = native::view(self, size);
  if (per_tensor(self)) return view;
  QuantizerPtr quantizer = reshaped(self, view.sizes());
  return with(std::move(view), std::move(quantizer));
}
Tensor view_dtype_quantized(const Tensor& self, ScalarType dtype) {
  TORCH_CHECK(!isQIntType(dtype) || dtype == self.scalar_type(), "view: a ", self.scalar_type(),
              " tensor cannot be viewed as ", dtype, ", which its quantizer is not for");
  TORCH_CHECK(dtype == self.scalar_type() || quantized::elements_per_byte(self.scalar_type()) == 1,
              "view: several integers of a ", self.scalar_type(), " tensor share a byte, it cannot be viewed as ",
              dtype);
  return native::view_dtype(self, dtype);
}

Tensor select_quantized(const Tensor& self, int64_t dim, int64_t index) {
  Tensor view = native::select(self, dim, index);
  const Quantizer& quantizer = quantizer_of(self);
  if (quantizer.per_tensor()) return view;
  const int64_t d = maybe_wrap_dim(dim, self.dim());
  if (d != quantizer.axis) return with(std::move(view), along(quantizer, quantizer.axis - (d < quantizer.axis)));
  const int64_t channel = index < 0 ? index + self.size(dim) : index;
  TORCH_CHECK_INDEX(channel < quantizer.scales.numel(), "select: index ", index, " out of range for the ",
                    quantizer.scales.numel(), " scales of the tensor's channels");
  auto one = std::make_shared<Quantizer>(quantizer);
  one->scales = at::slice(quantizer.scales, 0, channel, channel + 1);
  one->zero_points = at::slice(quantizer.zero_points, 0, channel, channel + 1);
  TORCH_CHECK(is_uniform(*one), "select: a channel with a zero point that is no integer is not implemented");
  return with(std::move(view), as_uniform(*one));
}

std::vector<Tensor> unbind_quantized(const Tensor& self, int64_t dim) {
  const int64_t d = maybe_wrap_dim(dim, self.dim(), false);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < self.size(d); ++i) parts.push_back(select_quantized(self, d, i));
  return parts;
}

Tensor slice_quantized(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                       int64_t step) {
  Tensor view = native::slice(self, dim, start, end, step);
  if (per_tensor(self) || maybe_wrap_dim(dim, self.dim()) != quantizer_of(self).axis) return view;
  return with(std::move(view), channels_of("slice", self, start, end, step));
}

namespace {
// Pieces of `self` along `dim`, one behind the other.
std::vector<Tensor> with_channels(const char* op, const Tensor& self, int64_t dim, std::vector<Tensor> pieces) {
  if (per_tensor(self) || maybe_wrap_dim(dim, self.dim()) != quantizer_of(self).axis) return pieces;
  int64_t begin = 0;
  for (Tensor& piece : pieces) {
    const int64_t end = begin + piece.size(dim);
    piece = with(std::move(piece), channels_of(op, self, begin, end, 1));
    begin = end;
  }
  return pieces;
}
}  // namespace

std::vector<Tensor> split_quantized(const Tensor& self, int64_t split_size, int64_t dim) {
  return with_channels("split", self, dim, native::split(self, split_size, dim));
}
std::vector<Tensor> split_with_sizes_quantized(const Tensor& self, IntArrayRef split_sizes, int64_t dim) {
  return with_channels("split_with_sizes", self, dim, native::split_with_sizes(self, split_sizes, dim));
}

Tensor squeeze_quantized(const Tensor& self) {
  if (per_tensor(self)) return native::squeeze(self);
  return with(native::squeeze(self), squeezed(self, all_dims(self)));
}
Tensor squeeze_dim_quantized(const Tensor& self, int64_t dim) {
  if (per_tensor(self)) return native::squeeze_dim(self, dim);
  return with(native::squeeze_dim(self, dim), squeezed(self, {dim}));
}
Tensor squeeze_dims_quantized(const Tensor& self, IntArrayRef dim) {
  if (per_tensor(self)) return native::squeeze_dims(self, dim);
  return with(native::squeeze_dims(self, dim), squeezed(self, dim));
}
Tensor unsqueeze_quantized(const Tensor& self, int64_t dim) {
  if (per_tensor(self)) return native::unsqueeze(self, dim);
  return with(native::unsqueeze(self, dim), unsqueezed(self, dim));
}

// --- in place ---
Tensor& as_strided_quantized_(Tensor& self, IntArrayRef size, IntArrayRef stride,
                              std::optional<int64_t> storage_offset) {
  check_uniform(self);
  return changed(self, nullptr, [&] { native::as_strided_(self, size, stride, storage_offset); });
}
Tensor& squeeze_quantized_(Tensor& self) {
  return changed(self, per_tensor(self) ? nullptr : squeezed(self, all_dims(self)), [&] { native::squeeze_(self); });
}
Tensor& squeeze_dim_quantized_(Tensor& self, int64_t dim) {
  return changed(self, per_tensor(self) ? nullptr : squeezed(self, {dim}), [&] { native::squeeze_dim_(self, dim); });
}
Tensor& squeeze_dims_quantized_(Tensor& self, IntArrayRef dim) {
  return changed(self, per_tensor(self) ? nullptr : squeezed(self, dim), [&] { native::squeeze_dims_(self, dim); });
}
Tensor& unsqueeze_quantized_(Tensor& self, int64_t dim) {
  return changed(self, per_tensor(self) ? nullptr : unsqueezed(self, dim), [&] { native::unsqueeze_(self, dim); });
}
Tensor& transpose_quantized_(Tensor& self, int64_t dim0, int64_t dim1) {
  return changed(self, per_tensor(self) ? nullptr : transposed(self, dim0, dim1),
                 [&] { native::transpose_(self, dim0, dim1); });
}
Tensor& t_quantized_(Tensor& self) {
  return changed(self, per_tensor(self) || self.dim() != 2 ? nullptr : transposed(self, 0, 1),
                 [&] { native::t_(self); });
}

namespace {
void check_resizable(const Tensor& self) {
  TORCH_CHECK(per_tensor(self), "Can only resize quantized tensors with per-tensor schemes!");
}
}  // namespace
const Tensor& resize_quantized_(const Tensor& self, IntArrayRef size, std::optional<MemoryFormat> memory_format) {
  check_resizable(self);
  native::resize_(self, size, memory_format);
  structured::mark_written(self);
  return self;
}
const Tensor& resize_as_quantized_(const Tensor& self, const Tensor& the_template,
                                   std::optional<MemoryFormat> memory_format) {
  // The template alone may be quantized.
  if (self.is_quantized()) check_resizable(self);
  native::resize_as_(self, the_template, memory_format);
  structured::mark_written(self);
  return self;
}

// Another storage has elements of the same quantizer; channels stay where they fit.
namespace {
void check_set(const Tensor& self, IntArrayRef sizes) {
  if (self.is_quantized()) quantized::check_fits("set_", quantizer_of(self), sizes);
}
}  // namespace
Tensor& set_quantized_(Tensor& self) {
  check_set(self, {0});
  return native::set_(self);
}
Tensor& set_tensor_quantized_(Tensor& self, const Tensor& source) {
  check_set(self, source.sizes());
  return native::set_tensor_(self, source);
}
Tensor& set_tensor_offset_quantized_(Tensor& self, const Tensor& source, int64_t storage_offset, IntArrayRef size,
                                     IntArrayRef stride) {
  check_set(self, size);
  return native::set_tensor_offset_(self, source, storage_offset, size, stride);
}
Tensor& set_storage_quantized_(Tensor& self, Storage source) {
  check_set(self, {static_cast<int64_t>(source.nbytes() / self.itemsize())});
  return native::set_storage_(self, std::move(source));
}
Tensor& set_storage_offset_quantized_(Tensor& self, Storage source, int64_t storage_offset, IntArrayRef size,
                                      IntArrayRef stride) {
  check_set(self, size);
  return native::set_storage_offset_(self, std::move(source), storage_offset, size, stride);
}

}  // namespace at::native
