// Copies, conversions and fills.
#include "aten/cpu/copy.h"

#include "aten/core/empty.h"
#include "aten/core/overlap.h"
#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/cast.h"
#include "aten/cpu/pointwise.h"
#include "aten/ops/copy/kernels.h"
#include "aten/ops/copy/ops.h"
#include "c10/core/device_guard_impl.h"

namespace at::native {
namespace {

// A tensor like `self` of another dtype or device, in `format` (Preserve: self's own layout where it is dense).
Tensor allocate_like(const Tensor& self, ScalarType dtype, Device device, MemoryFormat format) {
  TensorSpec spec;
  spec.sizes = DimVector(self.sizes().begin(), self.sizes().end());
  spec.dtype = dtype;
  spec.device = device;
  if (format == MemoryFormat::Preserve) {
    if (!self.is_contiguous()) spec.strides = strides_like(self);
  } else if (format != MemoryFormat::Contiguous) {
    spec.strides = strides_of_format(self.sizes(), format);
  }
  return empty_spec(spec);
}

void check_copy(const Tensor& self, const Tensor& src) {
  TORCH_CHECK(self.defined(), "copy_: self is undefined");
  TORCH_CHECK(src.defined(), "copy_: src is undefined");
  if (self.sizes() != src.sizes()) {
    const DimVector shape = broadcast_shapes(self.sizes(), src.sizes());
    TORCH_CHECK(IntArrayRef(shape) == self.sizes(), "output with shape ", self.sizes(), " doesn't match the broadcast shape ",
                IntArrayRef(shape));
  }
  structured::check_no_internal_overlap(self);
}

void prepare(const Tensor& self, const Tensor& src) {
  cpu::prepare_type(self.scalar_type());
  cpu::prepare_type(src.scalar_type());
}

void warn_of_complex(const Tensor& self, const Tensor& src) {
  if (src.is_complex() && !self.is_complex() && self.scalar_type() != ScalarType::Bool) {
    TORCH_WARN_ONCE("Casting complex values to real discards the imaginary part");
  }
}

// `src` seen in sizes that it broadcasts to. Not at::expand: the family of views is above this one.
Tensor broadcast(const Tensor& src, IntArrayRef sizes) {
  if (src.sizes() == sizes) return src;
  DimVector strides(sizes.size(), 0);
  const size_t lead = sizes.size() - src.sizes().size();
  for (size_t d = lead; d < sizes.size(); ++d) {
    if (src.sizes()[d - lead] == sizes[d]) strides[d] = src.strides()[d - lead];
  }
  return make_view(src, sizes, strides, src.storage_offset());
}
}  // namespace

Tensor& copy_meta_(Tensor& self, const Tensor& src, bool non_blocking) {
  check_copy(self, src);
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_meta(), "Cannot copy out of meta tensor; no data!");
  return self;
}

// To or from a device: the tensors that its _copy_from gets have one size and share no memory.
Tensor& copy_by_device_(Tensor& self, const Tensor& src, bool non_blocking) {
  if (self.is_meta() || src.is_meta()) return copy_meta_(self, src, non_blocking);
  check_copy(self, src);
  if (self.is_same(src) || self.numel() == 0) return self;
  warn_of_complex(self, src);
  const structured::Overlap overlap = structured::overlap_of(self, src);
  if (overlap == structured::Overlap::kSame) return self;
  const Tensor apart = overlap == structured::Overlap::kNone ? src : at::clone(src);
  at::_copy_from(broadcast(apart, self.sizes()), self, non_blocking);
  return self;
}

Tensor& copy_cpu_(Tensor& self, const Tensor& src, bool non_blocking) {
  check_copy(self, src);
  if (self.is_same(src) || self.numel() == 0) return self;
  if (self.scalar_type() != src.scalar_type()) prepare(self, src);
  warn_of_complex(self, src);
  const structured::Overlap overlap = structured::overlap_of(self, src);
  if (overlap == structured::Overlap::kSame) return self;
  if (overlap == structured::Overlap::kPartial) {
    const Tensor apart = allocate_like(src, src.scalar_type(), src.device(), MemoryFormat::Preserve);
    cpu::copy(pointwise::operand_of(apart), src.scalar_type(), pointwise::operand_of(src), src.scalar_type());
    cpu::copy(pointwise::operand_of(self), self.scalar_type(), pointwise::operand_of(apart), src.scalar_type());
    return self;
  }
  cpu::copy(pointwise::operand_of(self), self.scalar_type(), pointwise::operand_of(src), src.scalar_type());
  return self;
}

Tensor _copy_from_cpu(const Tensor& self, const Tensor& dst, bool non_blocking) {
  Tensor target = dst;
  return native::copy_cpu_(target, self, non_blocking);
}

Tensor copy(const Tensor& self, const Tensor& src, bool non_blocking) {
  Tensor result = allocate_like(self, self.scalar_type(), self.device(), MemoryFormat::Preserve);
  return at::copy_(result, src, non_blocking);
}

Tensor clone_cpu(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  Tensor result = allocate_like(self, self.scalar_type(), self.device(), memory_format.value_or(MemoryFormat::Preserve));
  return native::copy_cpu_(result, self, false);
}
Tensor clone(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  Tensor result = allocate_like(self, self.scalar_type(), self.device(), memory_format.value_or(MemoryFormat::Preserve));
  return at::copy_(result, self, false);
}

namespace {
// Where _to_copy writes.
Tensor target_of(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> memory_format) {
  TORCH_CHECK(!options.has_layout() || options.layout() == self.layout(),
              "to(options): changing the layout from ", self.layout(), " to ", options.layout(), " is not supported");
  const Device device = options.has_device() ? options.device() : self.device();
  const ScalarType dtype = options.has_dtype() ? options.scalar_type() : self.scalar_type();
  const MemoryFormat format = memory_format.value_or(MemoryFormat::Preserve);
  if (C10_UNLIKELY(dtype != self.scalar_type())) {
    check_no_quantizer("to", dtype);
    cpu::prepare_type(dtype);
  }
  if (C10_LIKELY(!options.pinned_memory())) return allocate_like(self, dtype, device, format);
  const DimVector strides = format == MemoryFormat::Preserve ? strides_like(self) : strides_of_format(self.sizes(), format);
  return empty_pinned(self.sizes(), strides, dtype, device);
}
}  // namespace

Tensor _to_copy_cpu(const Tensor& self, TensorOptions options, bool non_blocking, std::optional<MemoryFormat> memory_format) {
  Tensor result = target_of(self, options, memory_format);
  return C10_LIKELY(result.is_cpu()) ? native::copy_cpu_(result, self, non_blocking) : at::copy_(result, self, non_blocking);
}
Tensor _to_copy(const Tensor& self, TensorOptions options, bool non_blocking, std::optional<MemoryFormat> memory_format) {
  Tensor result = target_of(self, options, memory_format);
  return result.is_meta() ? result : at::copy_(result, self, non_blocking);
}

namespace {
// Whether `device` is where the tensor is: one without an index is the current one of its type.
bool is_on(const Tensor& self, Device device) {
  if (self.device() == device) return true;
  if (device.has_index() || device.type() != self.device().type()) return false;
  return impl::getDeviceGuardImpl(device.type())->getDevice() == self.device();
}

Tensor to_options(const Tensor& self, TensorOptions options, bool non_blocking, bool copy,
                  std::optional<MemoryFormat> memory_format) {
  TORCH_CHECK(!(options.has_memory_format() && memory_format.has_value()),
              "Cannot set memory_format both in TensorOptions and explicit argument; please delete the redundant setter.");
  const MemoryFormat format =
      memory_format.has_value() ? *memory_format : options.memory_format_opt().value_or(MemoryFormat::Preserve);
  const bool same = (!options.has_dtype() || options.scalar_type() == self.scalar_type()) &&
      (!options.has_device() || is_on(self, options.device())) &&
      (!options.has_layout() || options.layout() == self.layout()) &&
      (format == MemoryFormat::Preserve || self.is_contiguous(format));
  if (same && !copy) return self;
  return at::_to_copy(self, options.memory_format(std::nullopt).requires_grad(std::nullopt), non_blocking, format);
}
}  // namespace

Tensor to_dtype_layout(const Tensor& self, TensorOptions options, bool non_blocking, bool copy,
                       std::optional<MemoryFormat> memory_format) {
  TORCH_CHECK(!options.has_requires_grad() || !options.requires_grad(),
              "to(options) expects unset requires_grad flag, but got options.requires_grad set");
  return to_options(self, options, non_blocking, copy, memory_format);
}
Tensor to_device(const Tensor& self, Device device, ScalarType dtype, bool non_blocking, bool copy,
                 std::optional<MemoryFormat> memory_format) {
  return to_options(self, TensorOptions().device(device).dtype(dtype), non_blocking, copy, memory_format);
}
Tensor to_dtype(const Tensor& self, ScalarType dtype, bool non_blocking, bool copy,
                std::optional<MemoryFormat> memory_format) {
  if (C10_LIKELY(self.scalar_type() == dtype && !copy && !memory_format.has_value())) return self;
  return to_options(self, TensorOptions().dtype(dtype), non_blocking, copy, memory_format);
}
Tensor to_other(const Tensor& self, const Tensor& other, bool non_blocking, bool copy,
                std::optional<MemoryFormat> memory_format) {
  return to_options(self, TensorOptions().device(other.device()).dtype(other.scalar_type()), non_blocking, copy,
                    memory_format);
}
Tensor cast_byte(const Tensor& self, bool non_blocking) {
  return at::to(self, kByte, non_blocking);
}
Tensor cast_char(const Tensor& self, bool non_blocking) {
  return at::to(self, kChar, non_blocking);
}
Tensor cast_double(const Tensor& self, bool non_blocking) {
  return at::to(self, kDouble, non_blocking);
}
Tensor cast_float(const Tensor& self, bool non_blocking) {
  return at::to(self, kFloat, non_blocking);
}
Tensor cast_int(const Tensor& self, bool non_blocking) {
  return at::to(self, kInt, non_blocking);
}
Tensor cast_long(const Tensor& self, bool non_blocking) {
  return at::to(self, kLong, non_blocking);
}
Tensor cast_short(const Tensor& self, bool non_blocking) {
  return at::to(self, kShort, non_blocking);
}
Tensor cast_half(const Tensor& self, bool non_blocking) {
  return at::to(self, kHalf, non_blocking);
}

Tensor chalf(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  return at::to(self, kComplexHalf, false, false, memory_format);
}

Tensor type_as(const Tensor& self, const Tensor& other) { return to_other(self, other, false, false, std::nullopt); }

Tensor& fill_scalar_meta_(Tensor& self, const Scalar& value) {
  structured::check_no_internal_overlap(self);
  alignas(16) char item[16];
  pointwise::store_element(value, self.scalar_type(), item);
  return self;
}

Tensor& fill_scalar_cpu_(Tensor& self, const Scalar& value) {
  structured::check_no_internal_overlap(self);
  alignas(16) char item[16];
  pointwise::store_element(value, self.scalar_type(), item);
  if (self.numel() == 0) return self;
  cpu::fill(pointwise::operand_of(self), item);
  return self;
}

Tensor& fill_tensor_(Tensor& self, const Tensor& value) {
  TORCH_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
              " dimensions.");
  return at::copy_(self, value, false);
}

Tensor fill_scalar(const Tensor& self, const Scalar& value) {
  Tensor result = allocate_like(self, self.scalar_type(), self.device(), MemoryFormat::Preserve);
  return at::fill_(result, value);
}
Tensor fill_tensor(const Tensor& self, const Tensor& value) {
  Tensor result = allocate_like(self, self.scalar_type(), self.device(), MemoryFormat::Preserve);
  return fill_tensor_(result, value);
}

Tensor& zero_meta_(Tensor& self) {
  structured::check_no_internal_overlap(self);
  return self;
}

Tensor& zero_cpu_(Tensor& self) {
  structured::check_no_internal_overlap(self);
  if (self.numel() == 0) return self;
  const char zeros[16] = {};
  cpu::fill(pointwise::operand_of(self), zeros);
  return self;
}

Tensor& fill_diagonal_(Tensor& self, const Scalar& fill_value, bool wrap) {
  TORCH_CHECK(self.dim() >= 2, "dimensions must larger than 1");
  int64_t step = 0;
  for (int64_t d = 0; d < self.dim(); ++d) {
    TORCH_CHECK(self.dim() == 2 || self.size(d) == self.size(0), "all dimensions of input must be of equal length");
    step += self.stride(d);
  }
  if (self.numel() == 0) return self;
  const int64_t height = self.size(0), width = self.size(1);
  const int64_t length = height < width ? height : width;
  Tensor diagonal = make_view(self, {length}, {step}, self.storage_offset());
  at::fill_(diagonal, fill_value);
  if (wrap && self.dim() == 2 && height > width + 1) {
    const int64_t rest = (self.numel() + step - 1) / (width + 1) - length;
    const int64_t most = height - width - 1;
    // The diagonals of the squares below, each a row apart from the one before, and the last one cut short.
    const int64_t offset = self.stride(0) * (width + 1), whole = (most + 1) / (width + 1);
    const auto fill_part = [&](int64_t first, int64_t count, int64_t size) {
      if (count <= 0 || size <= 0) return;
      Tensor part = make_view(self, {count, size}, {offset, step}, self.storage_offset() + (first + 1) * offset);
      at::fill_(part, fill_value);
    };
    if (rest > 0) {
      fill_part(0, whole, width);
      fill_part(whole, 1, most - whole * (width + 1));
    }
  }
  return self;
}

Scalar _local_scalar_dense(const Tensor& self) {
  TORCH_CHECK(self.numel() == 1, "a Tensor with ", self.numel(), " elements cannot be converted to Scalar");
  return at::_local_scalar_dense(at::_to_copy(self, TensorOptions().device(kCPU)));
}

Scalar _local_scalar_dense_meta(const Tensor& self) {
  C10_THROW_ERROR(NotImplementedError, "Tensor.item() cannot be called on meta tensors");
}

Scalar _local_scalar_dense_cpu(const Tensor& self) {
  TORCH_CHECK(self.numel() == 1, "a Tensor with ", self.numel(), " elements cannot be converted to Scalar");
  return pointwise::load_element(self.data_ptr(), self.scalar_type());
}

Scalar item(const Tensor& self) {
  TORCH_CHECK(self.numel() == 1, "a Tensor with ", self.numel(), " elements cannot be converted to Scalar");
  return at::_local_scalar_dense(self);
}

}  // namespace at::native
