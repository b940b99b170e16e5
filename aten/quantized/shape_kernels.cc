// Quantized tensors: joining, indexing, sorting, padding, pooling and resampling.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "aten/core/structured.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/kernels.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/padding/kernels.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/pool/kernels.h"
#include "aten/ops/pool/ops.h"
#include "aten/ops/quantized/kernels.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/rearrange/kernels.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/sort/kernels.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/upsample/kernels.h"
#include "aten/ops/upsample/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/device_parts.h"
#include "aten/quantized/quantized_parts.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

using quantized::on_integers;
using quantized::on_whole_numbers;

// Integers less a zero point, as floats (doubles for those of 32 bits).
Tensor distances_from(const Tensor& whole, int64_t zero_point) {
  if (whole.itemsize() != 1) return at::sub(quantized::as_floats(whole), Scalar(zero_point));
  return quantized::dequantize("pooling", quantized::make_quantized(whole, quantized::per_tensor(1, zero_point)));
}

// A pooling f of numbers, of the integers. What lies between two integers is rounded as their distances from the zero
// point are (where channels come last), or as the integers are: that differs in halves.
template <class F>
Tensor averaged(const char* op, const Tensor& self, bool from_zero, const F& f) {
  const Quantizer& quantizer = quantized::uniform(op, self);
  const quantized::Range range = quantized::range_of(op, self.scalar_type());
  const Scalar zero(quantizer.zero_point);
  return on_integers(op, self, [&](const Tensor& whole) {
    // Elements beyond the edge are zeros, that is distances of 0.
    Tensor result = f(distances_from(whole, quantizer.zero_point));
    result = from_zero ? at::add(at::round(result), zero) : at::round(at::add(result, zero));
    return quantized::from_floats(at::clamp(result, Scalar(range.least), Scalar(range.most)), whole.scalar_type());
  });
}

// f moves elements, and looks at none: those of 8 bits are taken as they are.
template <class F>
Tensor moved(const char* op, const Tensor& self, const F& f) {
  if (self.itemsize() != 1) return on_whole_numbers(op, self, f);
  return on_integers(op, self, [&](const Tensor& q) {
    return q.scalar_type() == kByte ? f(q) : at::view(f(at::view(q, kByte)), q.scalar_type());
  });
}

Scalar quantized_value(const char* op, const Tensor& self, const Scalar& value) {
  return Scalar(quantized::quantize_one(op, value, self.scalar_type(), quantized::uniform(op, self)));
}

// The integers of each as the first one's quantizer has them.
std::vector<Tensor> as_the_first(const char* op, TensorList tensors) {
  TORCH_CHECK(!tensors.empty(), op, ": expected a non-empty list of Tensors");
  for (const Tensor& t : tensors) {
    TORCH_CHECK(!t.is_quantized() || quantized::impl_of(op, t).quantizer().per_tensor(),
                "Only per-tensor quantization is supported in '", op, "'!");
  }
  const Quantizer& first = quantized::uniform(op, tensors[0]);
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    TORCH_CHECK(t.is_quantized() && t.scalar_type() == tensors[0].scalar_type(), op,
                ": expected quantized tensors of the same dtype, but got ", tensors[0].scalar_type(), " and ",
                t.scalar_type());
    const Quantizer& own = quantized::uniform(op, t);
    const bool same = own.scale == first.scale && own.zero_point == first.zero_point;
    parts.push_back(
        quantized::integers(op, same ? t
                                     : quantized::quantize(op, quantized::dequantize(op, t), t.scalar_type(),
                                                           quantized::impl_of(op, tensors[0]).shared_quantizer())));
  }
  return parts;
}

}  // namespace

// --- joining ---
Tensor cat_quantized(TensorList tensors, int64_t dim) {
  return quantized::make_quantized(at::cat(as_the_first("cat", tensors), dim),
                                   quantized::impl_of("cat", tensors[0]).shared_quantizer());
}
Tensor stack_quantized(TensorList tensors, int64_t dim) {
  return quantized::make_quantized(at::stack(as_the_first("stack", tensors), dim),
                                   quantized::impl_of("stack", tensors[0]).shared_quantizer());
}

// In the steps of `out`.
Tensor& cat_out_quantized(TensorList tensors, int64_t dim, Tensor& out) {
  const char* const op = "cat";
  as_the_first(op, tensors);
  quantized::uniform(op, out);
  const QuantizerPtr to = quantized::impl_of(op, out).shared_quantizer();
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    parts.push_back(
        quantized::integers(op, quantized::quantize(op, quantized::dequantize(op, t), t.scalar_type(), to)));
  }
  return quantized::give(op, out, quantized::make_quantized(at::cat(parts, dim), to));
}

// --- indexing ---
Tensor index_quantized(const Tensor& self, const c10::List<std::optional<Tensor>>& indices) {
  TORCH_CHECK(quantized::impl_of("index", self).quantizer().per_tensor(),
              "Indexing is only supported for per-Tensor quantized Tensors.");
  return on_integers("index", self, [&](const Tensor& q) { return at::index(q, indices); });
}

namespace {
// Numbers become integers of `self` before they are written.
void put(const char* op, const Tensor& self, Tensor target, const c10::List<std::optional<Tensor>>& indices,
         const Tensor& values, bool accumulate) {
  TORCH_CHECK(quantized::impl_of(op, self).quantizer().per_tensor(),
              "index_put for quantized tensors is currently only supported for per tensor quantized tensors");
  TORCH_CHECK(!accumulate, "index_put for quantized tensors is currently only supported for accumulate=False");
  TORCH_CHECK(!values.is_quantized(), "Value argument for quantized input_put should not be quantized");
  const Tensor whole = quantized::integers(op, quantized::quantize(op, at::to(values, kFloat), self.scalar_type(),
                                                                   quantized::impl_of(op, self).shared_quantizer()));
  at::index_put_(target, indices, whole);
}
}  // namespace
Tensor& index_put_quantized_(Tensor& self, const c10::List<std::optional<Tensor>>& indices, const Tensor& values,
                             bool accumulate) {
  put("index_put_", self, quantized::integers("index_put_", self), indices, values, accumulate);
  return self;  // its storage counts the write
}
Tensor& _index_put_impl_quantized_(Tensor& self, const c10::List<std::optional<Tensor>>& indices, const Tensor& values,
                                   bool accumulate, bool) {
  return index_put_quantized_(self, indices, values, accumulate);
}
Tensor index_put_quantized(const Tensor& self, const c10::List<std::optional<Tensor>>& indices, const Tensor& values,
                           bool accumulate) {
  const Tensor result = at::clone(quantized::integers("index_put", self));
  put("index_put", self, result, indices, values, accumulate);
  return fresh(quantized::make_quantized(result, quantized::impl_of("index_put", self).shared_quantizer()));
}

Tensor index_select_quantized(const Tensor& self, int64_t dim, const Tensor& index) {
  TORCH_CHECK(quantized::impl_of("index_select", self).quantizer().per_tensor(),
              "Only per_tensor quantized quantized tensors are supported by index_select.");
  return on_integers("index_select", self, [&](const Tensor& q) { return at::index_select(q, dim, index); });
}
Tensor& index_select_out_quantized(const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  return quantized::give("index_select", out, index_select_quantized(self, dim, index));
}
Tensor masked_fill_scalar_quantized(const Tensor& self, const Tensor& mask, const Scalar& value) {
  const Scalar q_value = quantized_value("masked_fill", self, value);
  return on_integers("masked_fill", self, [&](const Tensor& q) { return at::masked_fill(q, mask, q_value); });
}
Tensor& masked_fill_scalar_quantized_(Tensor& self, const Tensor& mask, const Scalar& value) {
  const Scalar q_value = quantized_value("masked_fill_", self, value);
  Tensor target = quantized::integers("masked_fill_", self);
  at::masked_fill_(target, mask, q_value);
  structured::mark_written(self);
  return self;
}
namespace {
Scalar number_of(const char* op, const Tensor& value) {
  TORCH_CHECK(value.dim() == 0, op, " only supports a 0-dimensional value tensor, but got tensor with ", value.dim(),
              " dimension(s).");
  return at::item(value);
}
}  // namespace
Tensor masked_fill_tensor_quantized(const Tensor& self, const Tensor& mask, const Tensor& value) {
  return masked_fill_scalar_quantized(self, mask, number_of("masked_fill", value));
}
Tensor& masked_fill_tensor_quantized_(Tensor& self, const Tensor& mask, const Tensor& value) {
  return masked_fill_scalar_quantized_(self, mask, number_of("masked_fill_", value));
}
Tensor flip_quantized(const Tensor& self, IntArrayRef dims) {
  quantized::uniform("flip", self);
  return on_integers("flip", self, [&](const Tensor& q) { return at::flip(q, dims); });
}

// --- sorting ---
std::tuple<Tensor, Tensor> sort_quantized(const Tensor& self, int64_t dim, bool descending) {
  quantized::uniform("sort", self);
  return quantized::on_integers_with_indices("sort", self,
                                             [&](const Tensor& q) { return at::sort(q, dim, descending); });
}
std::tuple<Tensor, Tensor> sort_stable_quantized(const Tensor& self, std::optional<bool> stable, int64_t dim,
                                                 bool descending) {
  quantized::uniform("sort", self);
  return quantized::on_integers_with_indices("sort", self,
                                             [&](const Tensor& q) { return at::sort(q, stable, dim, descending); });
}
std::tuple<Tensor, Tensor> topk_quantized(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted) {
  quantized::uniform("topk", self);
  return quantized::on_integers_with_indices("topk", self,
                                             [&](const Tensor& q) { return at::topk(q, k, dim, largest, sorted); });
}

// --- padding ---
Tensor constant_pad_nd_quantized(const Tensor& self, IntArrayRef pad, const Scalar& value) {
  const Scalar q_value = quantized_value("constant_pad_nd", self, value);
  return on_integers("constant_pad_nd", self, [&](const Tensor& q) { return at::constant_pad_nd(q, pad, q_value); });
}
Tensor reflection_pad1d_quantized(const Tensor& self, IntArrayRef padding) {
  quantized::uniform("reflection_pad1d", self);
  return on_whole_numbers("reflection_pad1d", self, [&](const Tensor& q) { return at::reflection_pad1d(q, padding); });
}
Tensor reflection_pad2d_quantized(const Tensor& self, IntArrayRef padding) {
  quantized::uniform("reflection_pad2d", self);
  return on_whole_numbers("reflection_pad2d", self, [&](const Tensor& q) { return at::reflection_pad2d(q, padding); });
}

Tensor& reflection_pad1d_out_quantized(const Tensor& self, IntArrayRef padding, Tensor& out) {
  return quantized::give("reflection_pad1d", out, reflection_pad1d_quantized(self, padding));
}
Tensor& reflection_pad2d_out_quantized(const Tensor& self, IntArrayRef padding, Tensor& out) {
  return quantized::give("reflection_pad2d", out, reflection_pad2d_quantized(self, padding));
}

// --- pooling ---
Tensor avg_pool2d_quantized(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                            bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  return averaged("avg_pool2d", self, self.is_contiguous(MemoryFormat::ChannelsLast), [&](const Tensor& q) {
    return at::avg_pool2d(q, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
  });
}
Tensor avg_pool3d_quantized(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                            bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  return averaged("avg_pool3d", self, true, [&](const Tensor& q) {
    return at::avg_pool3d(q, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
  });
}
Tensor adaptive_avg_pool2d_quantized(const Tensor& self, IntArrayRef output_size) {
  return averaged("adaptive_avg_pool2d", self, self.is_contiguous(MemoryFormat::ChannelsLast),
                  [&](const Tensor& q) { return at::adaptive_avg_pool2d(q, output_size); });
}
Tensor adaptive_avg_pool3d_quantized(const Tensor& self, IntArrayRef output_size) {
  return averaged("adaptive_avg_pool3d", self, self.is_contiguous(MemoryFormat::ChannelsLast3d),
                  [&](const Tensor& q) { return at::adaptive_avg_pool3d(q, output_size); });
}
Tensor& adaptive_avg_pool3d_out_quantized(const Tensor& self, IntArrayRef output_size, Tensor& out) {
  return quantized::give("adaptive_avg_pool3d", out, adaptive_avg_pool3d_quantized(self, output_size));
}
Tensor quantized_max_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                            IntArrayRef dilation, bool ceil_mode) {
  quantized::uniform("quantized_max_pool1d", self);
  return on_whole_numbers("quantized_max_pool1d", self, [&](const Tensor& q) {
    return at::max_pool1d(q, kernel_size, stride, padding, dilation, ceil_mode);
  });
}
Tensor quantized_max_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                            IntArrayRef dilation, bool ceil_mode) {
  quantized::uniform("quantized_max_pool2d", self);
  return on_whole_numbers("quantized_max_pool2d", self, [&](const Tensor& q) {
    return at::max_pool2d(q, kernel_size, stride, padding, dilation, ceil_mode);
  });
}
Tensor quantized_max_pool3d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                            IntArrayRef dilation, bool ceil_mode) {
  quantized::uniform("quantized_max_pool3d", self);
  return on_whole_numbers("quantized_max_pool3d", self, [&](const Tensor& q) {
    return at::max_pool3d(q, kernel_size, stride, padding, dilation, ceil_mode);
  });
}
Tensor max_pool2d_quantized(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                            IntArrayRef dilation, bool ceil_mode) {
  return at::quantized_max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode);
}

Tensor max_pool3d_quantized(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                            IntArrayRef dilation, bool ceil_mode) {
  return at::quantized_max_pool3d(self, kernel_size, stride, padding, dilation, ceil_mode);
}

// --- resampling ---
Tensor upsample_nearest2d_quantized(const Tensor& self, IntArrayRef output_size, std::optional<double> scales_h,
                                    std::optional<double> scales_w) {
  quantized::uniform("upsample_nearest2d", self);
  return moved("upsample_nearest2d", self,
               [&](const Tensor& q) { return at::upsample_nearest2d(q, output_size, scales_h, scales_w); });
}
Tensor _upsample_nearest_exact2d_quantized(const Tensor& self, IntArrayRef output_size, std::optional<double> scales_h,
                                           std::optional<double> scales_w) {
  quantized::uniform("_upsample_nearest_exact2d", self);
  return moved("_upsample_nearest_exact2d", self,
               [&](const Tensor& q) { return at::_upsample_nearest_exact2d(q, output_size, scales_h, scales_w); });
}
Tensor _upsample_nearest_exact3d_quantized(const Tensor& self, IntArrayRef output_size, std::optional<double> scales_d,
                                           std::optional<double> scales_h, std::optional<double> scales_w) {
  quantized::uniform("_upsample_nearest_exact3d", self);
  return moved("_upsample_nearest_exact3d", self, [&](const Tensor& q) {
    return at::_upsample_nearest_exact3d(q, output_size, scales_d, scales_h, scales_w);
  });
}
Tensor upsample_nearest3d_quantized(const Tensor& self, IntArrayRef output_size, std::optional<double> scales_d,
                                    std::optional<double> scales_h, std::optional<double> scales_w) {
  quantized::uniform("upsample_nearest3d", self);
  return moved("upsample_nearest3d", self,
               [&](const Tensor& q) { return at::upsample_nearest3d(q, output_size, scales_d, scales_h, scales_w); });
}
namespace {

// Where the elements of a resampled dimension come from: between `first` and `first + step`.
struct Between {
  int64_t first, step;
  float weight;  // of the second
};
std::vector<Between> between(int64_t in, int64_t out, bool align_corners, std::optional<double> scale) {
  float ratio = 0;
  if (align_corners) {
    if (out > 1) ratio = static_cast<float>(in - 1) / static_cast<float>(out - 1);
  } else {
    const bool given = scale.has_value() && *scale > 0;
    ratio = given ? static_cast<float>(1.0 / *scale) : static_cast<float>(in) / static_cast<float>(out);
  }
  std::vector<Between> places;
  for (int64_t i = 0; i < out; ++i) {
    const float x =
        align_corners ? ratio * static_cast<float>(i) : std::max(0.0f, ratio * (static_cast<float>(i) + 0.5f) - 0.5f);
    // Beyond the last element, which a small given scale leads to, it is repeated.
    const int64_t first = x < static_cast<float>(in - 1) ? static_cast<int64_t>(x) : in - 1;
    places.push_back({first, first < in - 1 ? 1 : 0, std::clamp(x - static_cast<float>(first), 0.0f, 1.0f)});
  }
  return places;
}

template <class T>
void resample_bilinear(const Tensor& from, Tensor& to, const std::vector<Between>& rows,
                       const std::vector<Between>& cols, int64_t zero_point, quantized::Range range) {
  const T* const in = static_cast<const T*>(from.const_data_ptr());
  T* const out = static_cast<T*>(to.mutable_data_ptr());
  const int64_t width = from.size(3), plane = from.size(2) * width, height_out = to.size(2), width_out = to.size(3);
  const auto zero = static_cast<float>(zero_point);
  at::parallel_for(0, to.size(0) * to.size(1), 1 + 4096 / (height_out * width_out + 1),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t p = begin; p < end; ++p) {
                       for (int64_t y = 0; y < height_out; ++y) {
                         const Between& v = rows[static_cast<size_t>(y)];
                         const T *const above = in + p * plane + v.first * width, *const below = above + v.step * width;
                         for (int64_t x = 0; x < width_out; ++x) {
                           const Between& h = cols[static_cast<size_t>(x)];
                           const auto along = [&](const T* row) {
                             return (1 - h.weight) * static_cast<float>(row[h.first]) +
                                    h.weight * static_cast<float>(row[h.first + h.step]);
                           };
                           const float distance = (1 - v.weight) * along(above) + v.weight * along(below) - zero;
                           out[(p * height_out + y) * width_out + x] =
                               static_cast<T>(quantized::quantize_one(distance, 1, zero_point, range));
                         }
                       }
                     }
                   });
}

}  // namespace

Tensor upsample_bilinear2d_quantized(const Tensor& self, IntArrayRef output_size, bool align_corners,
                                     std::optional<double> scales_h, std::optional<double> scales_w) {
  const char* const op = "upsample_bilinear2d";
  const Quantizer& quantizer = quantized::uniform(op, self);
  const Tensor shape = empty_contiguous(self.sizes(), kFloat, Device(DeviceType::Meta));
  const TensorSpec spec = native::upsample_bilinear2d_meta(shape, output_size, align_corners, scales_h, scales_w);
  const Tensor from = at::contiguous(quantized::integers(op, self));
  if (!from.is_cpu()) {
    return fresh(quantized::make_quantized(
        quantized::device::upsample_bilinear2d(from, output_size, align_corners, scales_h, scales_w,
                                               quantizer.zero_point),
        quantized::impl_of(op, self).shared_quantizer()));
  }
  Tensor to = empty_contiguous(spec.sizes, from.scalar_type());
  const std::vector<Between> rows = between(self.size(2), to.size(2), align_corners, scales_h),
                             cols = between(self.size(3), to.size(3), align_corners, scales_w);
  const quantized::Range range = quantized::range_of(op, self.scalar_type());
  const auto run = [&](auto tag) {
    resample_bilinear<decltype(tag)>(from, to, rows, cols, quantizer.zero_point, range);
  };
  self.scalar_type() == kQUInt8 ? run(uint8_t{}) : self.scalar_type() == kQInt8 ? run(int8_t{}) : run(int32_t{});
  return fresh(quantized::make_quantized(to, quantized::impl_of(op, self).shared_quantizer()));
}

// The mean of the integers, as they are near the place; beyond the edge stand zero points.
Tensor grid_sampler_2d_quantized(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                                 int64_t padding_mode, bool align_corners) {
  const char* const op = "grid_sampler_2d";
  TORCH_CHECK(input.is_quantized() && !grid.is_quantized(), op,
              ": expected a quantized input and a dense grid, but got ", input.toString(), " and ", grid.toString());
  const Quantizer& quantizer = quantized::uniform(op, input);
  TORCH_CHECK(interpolation_mode == 0, op, ": only bilinear interpolation supported for quantized tensors");
  TORCH_CHECK_NOT_IMPLEMENTED(input.scalar_type() == kQUInt8, "\"", op, "\" not implemented for '", input.scalar_type(),
                              "'");
  return on_integers(op, input, [&](const Tensor& q) {
    const Tensor distances = distances_from(q, quantizer.zero_point);
    const Tensor sampled = at::grid_sampler_2d(distances, grid, interpolation_mode, padding_mode, align_corners);
    const Tensor whole = at::round(at::add(sampled, Scalar(quantizer.zero_point)));
    return quantized::from_floats(whole, q.scalar_type());
  });
}

// --- normalisation ---
Tensor quantized_batch_norm(const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                            const Tensor& mean, const Tensor& var, double eps, double output_scale,
                            int64_t output_zero_point) {
  const char* const op = "quantized_batch_norm";
  const Quantizer& quantizer = quantized::uniform(op, input);
  TORCH_CHECK(input.dim() >= 2, op, ": expected an input of at least 2 dimensions, but got ", input.dim());
  const int64_t channels = input.size(1);
  const auto parameter = [&](const char* name, const Tensor& t) {
    TORCH_CHECK(t.scalar_type() == kFloat && t.numel() == channels, op, ": expected ", name, " of dtype Float with ",
                channels, " elements, but got ", t.toString(), " with ", t.numel());
    return t;
  };
  // A line in the integers for each channel: alpha (q - zero point) + beta is the result's distance from its zero
  // point.
  const Tensor inverse = at::rsqrt(at::add(parameter("var", var), Scalar(eps)));
  const Tensor slope =
      weight.has_value() && weight->defined() ? at::mul(inverse, parameter("weight", *weight)) : inverse;
  Tensor offset = at::neg(at::mul(parameter("mean", mean), slope));
  if (bias.has_value() && bias->defined()) offset = at::add(offset, parameter("bias", *bias));
  DimVector broadcast(static_cast<size_t>(input.dim()), 1);
  broadcast[1] = channels;
  const auto scale_in = static_cast<float>(quantizer.scale), scale_out = static_cast<float>(output_scale);
  const Tensor alpha = at::reshape(at::mul(slope, Scalar(scale_in / scale_out)), broadcast);
  const Tensor beta = at::reshape(at::div(offset, Scalar(scale_out)), broadcast);
  // Channels first, or last.
  const bool first = input.is_contiguous(), last = input.is_contiguous(MemoryFormat::ChannelsLast) ||
                                                   input.is_contiguous(MemoryFormat::ChannelsLast3d);
  if (input.numel() > 0 && (first || last) && is_aligned(quantized::integers(op, input))) {
    const DimSplit split = first ? split_at_dim(input.sizes(), 1) : DimSplit{input.numel() / channels, channels, 1};
    const Tensor result = quantized::on_lines(op, input, split, at::reshape(alpha, {-1}), at::reshape(beta, {-1}),
                                              quantized::per_tensor(output_scale, output_zero_point));
    if (result.defined()) return result;
  }
  const Tensor distances = at::sub(quantized::as_floats(quantized::integers(op, input)), Scalar(quantizer.zero_point));
  const Tensor result = at::add(at::mul(alpha, distances), beta);
  // In steps of the result's scale already.
  const Tensor q =
      quantized::quantize(op, at::to(result, kFloat), input.scalar_type(), quantized::per_tensor(1, output_zero_point));
  return quantized::make_quantized(quantized::integers(op, q), quantized::per_tensor(output_scale, output_zero_point));
}

}  // namespace at::native
