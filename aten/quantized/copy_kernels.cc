// Quantized tensors: copies, what is asked of them, comparisons.
#include <utility>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/structured.h"
#include "aten/core/view.h"
#include "aten/ops/binary/kernels.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/kernels.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/kernels.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/quantized/kernels.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/quantized_parts.h"

namespace at::native {
namespace {

bool same_quantizer(const Quantizer& a, const Quantizer& b) {
  if (a.scheme != b.scheme) return false;
  if (a.per_tensor()) return a.scale == b.scale && a.zero_point == b.zero_point;
  return a.axis == b.axis && at::equal(a.scales, b.scales) && at::equal(a.zero_points, b.zero_points);
}

// Options that a tensor like a quantized one may be asked for.
struct Wanted {
  ScalarType dtype;
  Device device;
};
Wanted options_like(const char* op, const Tensor& self, const TensorOptions& options) {
  const TensorOptions merged = self.options().merge_in(options);
  TORCH_CHECK_NOT_IMPLEMENTED(merged.layout() == Layout::Strided, op, ": a quantized tensor of layout ",
                              merged.layout(), " is not implemented");
  TORCH_CHECK_NOT_IMPLEMENTED(!merged.pinned_memory(), op, ": pinned memory is not implemented for quantized tensors");
  // Of an accelerator without an index the current one.
  return {merged.scalar_type(), empty_contiguous({0}, kByte, merged.device()).device()};
}

// A copy only where several integers share a byte.
Tensor integers_of(const char* op, const Tensor& t) {
  return quantized::elements_per_byte(t.scalar_type()) == 1 ? quantized::integers(op, t) : quantized::unpacked(op, t);
}

Tensor numbers_of(const char* op, const Tensor& t) {
  return t.is_quantized() ? quantized::dequantize(op, t) : t;
}

}  // namespace

// --- queries ---
double q_scale_quantized(const Tensor& self) {
  const Quantizer& quantizer = quantized::impl_of("q_scale", self).quantizer();
  TORCH_CHECK(quantizer.per_tensor(), "Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.");
  return quantizer.scale;
}
int64_t q_zero_point_quantized(const Tensor& self) {
  const Quantizer& quantizer = quantized::impl_of("q_zero_point", self).quantizer();
  TORCH_CHECK(quantizer.per_tensor(), "Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.");
  return quantizer.zero_point;
}

namespace {
const Quantizer& channels_of(const char* op, const Tensor& self) {
  const Quantizer& quantizer = quantized::impl_of(op, self).quantizer();
  TORCH_CHECK(!quantizer.per_tensor(),
              "Expected quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == "
              "kPerChannelAffineFloatQParams to be true, but got false.");
  return quantizer;
}
}  // namespace

Tensor q_per_channel_scales_quantized(const Tensor& self) {
  return at::alias(channels_of("q_per_channel_scales", self).scales);
}
Tensor q_per_channel_zero_points_quantized(const Tensor& self) {
  return at::alias(channels_of("q_per_channel_zero_points", self).zero_points);
}
int64_t q_per_channel_axis_quantized(const Tensor& self) {
  return channels_of("q_per_channel_axis", self).axis;
}
QScheme qscheme_quantized(const Tensor& self) {
  return quantized::impl_of("qscheme", self).quantizer().scheme;
}

Tensor int_repr_quantized(const Tensor& self) {
  if (quantized::elements_per_byte(self.scalar_type()) != 1) {
    // The bytes themselves.
    const Tensor all = quantized::clone("int_repr", self);
    const int64_t each = quantized::elements_per_byte(self.scalar_type()), count = (self.numel() + each - 1) / each;
    return fresh(
        Tensor(TensorImpl::strided(all.unsafeGetTensorImpl()->storage(), kByte, all.device(), {count}, {1}, 0)));
  }
  return fresh(at::clone(quantized::integers("int_repr", self)));
}
Tensor dequantize_quantized(const Tensor& self) {
  return quantized::dequantize("dequantize", self);
}

Scalar _local_scalar_dense_quantized(const Tensor& self) {
  TORCH_CHECK(self.numel() == 1, "a Tensor with ", self.numel(), " elements cannot be converted to Scalar");
  return at::item(quantized::dequantize("item", self));
}

bool equal_quantized(const Tensor& self, const Tensor& other) {
  if (!self.is_quantized() || !other.is_quantized() || self.scalar_type() != other.scalar_type()) return false;
  return self.sizes() == other.sizes() &&
         same_quantizer(quantized::impl_of("equal", self).quantizer(),
                        quantized::impl_of("equal", other).quantizer()) &&
         at::equal(integers_of("equal", self), integers_of("equal", other));
}

// --- copies ---
Tensor empty_quantized_quantized(IntArrayRef size, const Tensor& qtensor, TensorOptions options,
                                 std::optional<MemoryFormat> memory_format) {
  const Wanted wanted = options_like("empty_quantized", qtensor, options);
  const ScalarType dtype = quantized::integers_of("empty_quantized", wanted.dtype);
  TORCH_CHECK(!options.has_memory_format() || !memory_format.has_value(),
              "Cannot set memory_format both in TensorOptions and explicit argument; please delete the redundant "
              "setter.");
  const MemoryFormat format = memory_format.value_or(options.memory_format_opt().value_or(MemoryFormat::Contiguous));
  checked_numel(size);
  quantized::check_fits("empty_quantized", quantized::impl_of("empty_quantized", qtensor).quantizer(), size);
  return quantized::make_quantized(
      empty_with_strides(size,
                         strides_of_format(size, format == MemoryFormat::Preserve ? MemoryFormat::Contiguous : format),
                         dtype, wanted.device),
      quantized::on_device(quantized::impl_of("empty_quantized", qtensor).shared_quantizer(), wanted.device));
}

Tensor empty_like_quantized(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  const auto [dtype, device] = options_like("empty_like", self, options);
  const MemoryFormat format = memory_format.value_or(MemoryFormat::Preserve);
  if (!isQIntType(dtype)) {
    return at::empty_like(quantized::integers("empty_like", self), options.dtype(dtype), format);
  }
  const DimVector strides =
      format == MemoryFormat::Preserve ? strides_like(self) : strides_of_format(self.sizes(), format);
  return quantized::make_quantized(
      empty_with_strides(self.sizes(), strides, quantized::integers_of("empty_like", dtype), device),
      quantized::on_device(quantized::impl_of("empty_like", self).shared_quantizer(), device));
}

Tensor clone_quantized(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  return quantized::clone("clone", self, memory_format);
}

Tensor _to_copy_quantized(const Tensor& self, TensorOptions options, bool non_blocking,
                          std::optional<MemoryFormat> memory_format) {
  const auto [dtype, device] = options_like("to", self, options);
  TORCH_CHECK(isQIntType(dtype), "Creation of quantized tensor requires quantized dtype like torch.quint8");
  TORCH_CHECK(dtype == self.scalar_type(), "Quantized Tensors need to be of the same dtype to be copied, got ",
              self.scalar_type(), " and ", dtype);
  if (device == self.device()) return clone_quantized(self, memory_format);
  const QuantizerPtr quantizer = quantized::on_device(quantized::impl_of("to", self).shared_quantizer(), device);
  const Tensor whole = integers_of("to", self);
  const Tensor there =
      at::_to_copy(whole, TensorOptions().dtype(whole.scalar_type()).device(device), non_blocking, memory_format);
  return fresh(quantized::elements_per_byte(dtype) == 1 ? quantized::make_quantized(there, quantizer)
                                                        : quantized::packed(there, dtype, quantizer));
}

Tensor& copy_quantized_(Tensor& self, const Tensor& src, bool) {
  TORCH_CHECK(self.is_quantized(),
              "Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a "
              "float Tensor from a quantized Tensor");
  if (self.is_same(src)) return self;
  if (src.is_quantized()) {
    TORCH_CHECK(self.scalar_type() == src.scalar_type(), "Quantized Copy only works with same data type, got ",
                self.scalar_type(), " and ", src.scalar_type());
    TORCH_CHECK(
        quantized::impl_of("copy_", self).quantizer().scheme == quantized::impl_of("copy_", src).quantizer().scheme,
        "Quantized Copy only works with same qscheme");
    quantized::check_fits("copy_", quantized::impl_of("copy_", src).quantizer(), self.sizes());
    Tensor target = quantized::integers("copy_", self);
    at::copy_(target, quantized::integers("copy_", src));
    quantized::impl_of("copy_", self)
        .set_quantizer(quantized::on_device(quantized::impl_of("copy_", src).shared_quantizer(), self.device()));
  } else {
    TORCH_CHECK(src.scalar_type() == kFloat, "Quantized copy only works with kFloat as source Tensor");
    TORCH_CHECK(IntArrayRef(broadcast_shapes(self.sizes(), src.sizes())) == self.sizes(), "output with shape ",
                self.sizes(), " doesn't match the broadcast shape ",
                IntArrayRef(broadcast_shapes(self.sizes(), src.sizes())));
    quantized::quantize_into("copy_", self, at::expand(src, self.sizes()));
  }
  structured::mark_written(self);
  return self;
}

Tensor copy_functional_quantized(const Tensor& self, const Tensor& src, bool non_blocking) {
  Tensor result = quantized::empty_like("copy", self);
  return fresh(copy_quantized_(result, src, non_blocking));
}

Tensor& fill_scalar_quantized_(Tensor& self, const Scalar& value) {
  const Quantizer& quantizer = quantized::impl_of("fill_", self).quantizer();
  Tensor target = quantized::integers("fill_", self);
  if (quantizer.per_tensor()) {
    at::fill_(target, Scalar(quantized::quantize_one("fill_", value, self.scalar_type(), quantizer)));
  } else {
    quantized::quantize_into("fill_", self,
                             at::full(self.sizes(), value, TensorOptions().dtype(kFloat).device(self.device())));
  }
  structured::mark_written(self);
  return self;
}
Tensor fill_scalar_quantized(const Tensor& self, const Scalar& value) {
  Tensor result = quantized::empty_like("fill", self);
  return fresh(fill_scalar_quantized_(result, value));
}
Tensor fill_tensor_quantized(const Tensor& self, const Tensor& value) {
  Tensor result = quantized::empty_like("fill", self);
  return fresh(at::fill_(result, value));
}

// --- comparisons, of the numbers ---
#define QUANTIZED_COMPARISON(op)                                                            \
  Tensor op##_quantized(const Tensor& self, const Tensor& other) {                          \
    return at::op(numbers_of(#op, self), numbers_of(#op, other));                           \
  }                                                                                         \
  Tensor op##_scalar_quantized(const Tensor& self, const Scalar& other) {                   \
    return at::op(numbers_of(#op, self), other);                                            \
  }                                                                                         \
  Tensor& op##_out_quantized(const Tensor& self, const Tensor& other, Tensor& out) {        \
    return at::op##_out(out, numbers_of(#op, self), numbers_of(#op, other));                \
  }                                                                                         \
  Tensor& op##_scalar_out_quantized(const Tensor& self, const Scalar& other, Tensor& out) { \
    return at::op##_out(out, numbers_of(#op, self), other);                                 \
  }
QUANTIZED_COMPARISON(eq)
QUANTIZED_COMPARISON(ne)
QUANTIZED_COMPARISON(lt)
QUANTIZED_COMPARISON(le)
QUANTIZED_COMPARISON(gt)
QUANTIZED_COMPARISON(ge)

}  // namespace at::native
