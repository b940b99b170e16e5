// Views of quantized tensors. The functions for all backends make them, with the quantizer of their base; here stands
// what a view does to a quantizer of channels.
#include <algorithm>
#include <utility>
#include <vector>

#include "aten/core/structured.h"
#include "aten/ops/view/kernels.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/quantized_parts.h"

namespace at::native {
namespace {

const Quantizer& quantizer_of(const Tensor& t) {
  return quantized::impl_of("view", t).quantizer();
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
  TORCH_CHECK(quantizer_of(self).per_tensor(), "Setting strides is possible only on uniformly quantized tensor");
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

Tensor select_quantized(const Tensor& self, int64_t dim, int64_t index) {
  Tensor view = native::select(self, dim, index);
  const Quantizer& quantizer = quantizer_of(self);
  if (quantizer.per_tensor()) return view;
  if (maybe_wrap_dim(dim, self.dim()) != quantizer.axis)
    return with(std::move(view), along(quantizer, quantizer.axis - 1));
  TORCH_CHECK(quantizer.scheme == kPerChannelAffine, "select: a channel with a float zero point is not implemented");
  const int64_t channel = index < 0 ? index + self.size(dim) : index;
  TORCH_CHECK_INDEX(channel < quantizer.scales.numel(), "select: index ", index, " out of range for the ",
                    quantizer.scales.numel(), " scales of the tensor's channels");
  return with(std::move(view), quantized::per_tensor(quantizer.scales.data_ptr<double>()[channel],
                                                     quantizer.zero_points.data_ptr<int64_t>()[channel]));
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
  const Quantizer& quantizer = quantizer_of(self);
  if (quantizer.per_tensor() || maybe_wrap_dim(dim, self.dim()) != quantizer.axis) return view;
  // A single channel is quantized as a whole.
  const Tensor scales = at::contiguous(at::slice(quantizer.scales, 0, start, end, step)),
               zeros = at::contiguous(at::slice(quantizer.zero_points, 0, start, end, step));
  if (scales.numel() == 1 && quantizer.scheme == kPerChannelAffine) {
    return with(std::move(view), quantized::per_tensor(*scales.data_ptr<double>(), *zeros.data_ptr<int64_t>()));
  }
  auto part = std::make_shared<Quantizer>(quantizer);
  part->scales = scales;
  part->zero_points = zeros;
  return with(std::move(view), std::move(part));
}

Tensor squeeze_quantized(const Tensor& self) {
  if (quantizer_of(self).per_tensor()) return native::squeeze(self);
  return with(native::squeeze(self), squeezed(self, all_dims(self)));
}
Tensor squeeze_dim_quantized(const Tensor& self, int64_t dim) {
  if (quantizer_of(self).per_tensor()) return native::squeeze_dim(self, dim);
  return with(native::squeeze_dim(self, dim), squeezed(self, {dim}));
}
Tensor unsqueeze_quantized(const Tensor& self, int64_t dim) {
  if (quantizer_of(self).per_tensor()) return native::unsqueeze(self, dim);
  return with(native::unsqueeze(self, dim), unsqueezed(self, dim));
}

Tensor& squeeze_quantized_(Tensor& self) {
  const QuantizerPtr quantizer = quantizer_of(self).per_tensor() ? nullptr : squeezed(self, all_dims(self));
  native::squeeze_(self);
  structured::mark_written(self);
  if (quantizer != nullptr) with(self, quantizer);
  return self;
}
Tensor& unsqueeze_quantized_(Tensor& self, int64_t dim) {
  const QuantizerPtr quantizer = quantizer_of(self).per_tensor() ? nullptr : unsqueezed(self, dim);
  native::unsqueeze_(self, dim);
  structured::mark_written(self);
  if (quantizer != nullptr) with(self, quantizer);
  return self;
}

}  // namespace at::native
