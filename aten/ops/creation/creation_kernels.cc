// Tensors from sizes, ranges and values.
#include <cmath>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cpu/cast.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/kernels.h"
#include "aten/ops/creation/ops.h"
#include "c10/core/default_dtype.h"

namespace at::native {
namespace {

// The dtypes that need no look, a bit each.
constexpr uint64_t kPlainTypes = [] {
  uint64_t types = 0;
  for (int t = 0; t < NumScalarTypes; ++t) {
    const auto type = static_cast<ScalarType>(t);
    if (!cpu::is_rare(type) && !isQIntType(type)) types |= uint64_t{1} << t;
  }
  return types;
}();
static_assert(NumScalarTypes <= 63);

[[gnu::cold]] C10_NOINLINE void check_unusual_options(const char* name, const TensorOptions& options) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      options.layout() == Layout::Strided, name, ": layout ", options.layout(), " has no kernel yet; use strided");
  check_no_quantizer(name, options.scalar_type());
  cpu::prepare_type(options.scalar_type());
}

C10_ALWAYS_INLINE bool is_plain_type(ScalarType dtype) {
  const auto type = static_cast<unsigned>(dtype);
  return type < NumScalarTypes && (kPlainTypes >> type & 1) != 0;
}

void check_options(const char* name, const TensorOptions& options) {
  if (!is_plain_type(options.scalar_type()) || options.layout() != Layout::Strided) check_unusual_options(name, options);
}

MemoryFormat format_of(const char* name, const TensorOptions& options, std::optional<MemoryFormat> format) {
  TORCH_CHECK(
      !(options.has_memory_format() && format.has_value()),
      name, ": Cannot set memory_format both in TensorOptions and explicit argument; please delete the redundant setter.");
  return format.has_value() ? *format : options.memory_format_opt().value_or(MemoryFormat::Contiguous);
}

// `options` where set, the properties of `self` elsewhere.
TensorOptions options_like(const Tensor& self, const TensorOptions& options) {
  return self.options().merge_in(options);
}

// The dtype of a tensor filled with `value` where the caller names none.
TensorOptions options_for_value(const TensorOptions& options, const Scalar& value) {
  if (options.has_dtype()) return options;
  return options.dtype(
      value.isBoolean() ? ScalarType::Bool
          : value.isIntegral(false) ? ScalarType::Long
          : value.isComplex() ? get_default_complex_dtype()
                              : get_default_dtype_as_scalartype());
}

}  // namespace

Tensor empty(IntArrayRef size, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  const ScalarType dtype = options.scalar_type();
  if (C10_UNLIKELY(!is_plain_type(dtype) || options.layout() != Layout::Strided)) check_unusual_options("empty", options);
  const MemoryFormat format = format_of("empty", options, memory_format);
  if (C10_UNLIKELY(options.pinned_memory())) {
    checked_numel(size);
    return empty_pinned(size, strides_of_format(size, format), dtype, options.device());
  }
  if (C10_LIKELY(format == MemoryFormat::Contiguous)) return empty_contiguous(size, dtype, options.device());
  TORCH_CHECK(format != MemoryFormat::Preserve, "empty: memory format Preserve needs a tensor to take it from");
  checked_numel(size);
  return empty_with_strides(size, strides_of_format(size, format), dtype, options.device());
}

namespace {

// Unwritten memory for a factory; a layout that is not strided has a kernel of its own.
Tensor allocate(IntArrayRef size, const TensorOptions& options) {
  const bool strided = options.layout() == Layout::Strided;
  return C10_LIKELY(strided) ? empty(size, options, std::nullopt) : at::empty(size, options);
}

Tensor filled(IntArrayRef size, const Scalar& value, const TensorOptions& options) {
  Tensor result = allocate(size, options);
  return fresh(at::fill_(result, value));
}

void check_full_layout(const TensorOptions& options) {
  TORCH_CHECK(options.layout() != Layout::Sparse, "full(...) is not implemented for sparse layout");
}

}  // namespace

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, TensorOptions options) {
  check_options("empty_strided", options);
  if (C10_UNLIKELY(options.pinned_memory())) return empty_pinned(size, stride, options.scalar_type(), options.device());
  return empty_with_strides(size, stride, options.scalar_type(), options.device());
}

Tensor empty_permuted(IntArrayRef size, IntArrayRef physical_layout, TensorOptions options) {
  check_options("empty_permuted", options);
  const int64_t rank = static_cast<int64_t>(size.size());
  TORCH_CHECK(
      static_cast<int64_t>(physical_layout.size()) == rank,
      "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = ", rank,
      " is not equal to len(physical_layout) = ", physical_layout.size());
  checked_numel(size);
  DimVector strides(rank, -1);
  int64_t step = 1;
  for (int64_t i = rank - 1; i >= 0; --i) {
    const int64_t d = physical_layout[i];
    TORCH_CHECK(d >= 0 && d < rank, "Dimension out of range (expected to be between 0 and ", rank - 1, ", but got ", d,
                " at index ", i, "). NB: negative dims not currently supported; file an issue if you want it.");
    TORCH_CHECK(strides[d] == -1, "Duplicate dim not allowed: ", d);
    strides[d] = step;
    step *= size[d] > 1 ? size[d] : 1;
  }
  return empty_with_strides(size, strides, options.scalar_type(), options.device());
}

Tensor empty_like(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  TORCH_CHECK(
      !(options.has_memory_format() && memory_format.has_value()),
      "empty_like: Cannot set memory_format both in TensorOptions and explicit argument; please delete the redundant "
      "setter.");
  const MemoryFormat format =
      memory_format.has_value() ? *memory_format : options.memory_format_opt().value_or(MemoryFormat::Preserve);
  const TensorOptions merged = options_like(self, options);
  check_options("empty_like", merged);
  if (C10_UNLIKELY(merged.pinned_memory())) {
    const DimVector strides = format == MemoryFormat::Preserve ? strides_like(self) : strides_of_format(self.sizes(), format);
    return empty_pinned(self.sizes(), strides, merged.scalar_type(), merged.device());
  }
  if (format == MemoryFormat::Contiguous || (format == MemoryFormat::Preserve && self.is_contiguous())) {
    return empty_contiguous(self.sizes(), merged.scalar_type(), merged.device());
  }
  const DimVector strides =
      format == MemoryFormat::Preserve ? strides_like(self) : strides_of_format(self.sizes(), format);
  return empty_with_strides(self.sizes(), strides, merged.scalar_type(), merged.device());
}

Tensor full(IntArrayRef size, const Scalar& fill_value, TensorOptions options) {
  check_full_layout(options);
  return filled(size, fill_value, options_for_value(options, fill_value));
}

Tensor zeros(IntArrayRef size, TensorOptions options) {
  Tensor result = empty(size, options, std::nullopt);
  return fresh(at::zero_(result));
}

Tensor ones(IntArrayRef size, TensorOptions options) {
  check_full_layout(options);
  return filled(size, 1, options);
}

Tensor full_like(
    const Tensor& self, const Scalar& fill_value, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  Tensor result = C10_LIKELY(self.layout() == Layout::Strided) ? native::empty_like(self, options, memory_format)
                                                               : at::empty_like(self, options, memory_format);
  return fresh(at::fill_(result, fill_value));
}

Tensor zeros_like(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  if (C10_UNLIKELY(options.has_layout() && options.layout() != Layout::Strided)) {
    return at::zeros(self.sizes(), options_like(self, options));
  }
  Tensor result = native::empty_like(self, options, memory_format);
  return fresh(at::zero_(result));
}

Tensor ones_like(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  return native::full_like(self, 1, options, memory_format);
}

Tensor new_empty(const Tensor& self, IntArrayRef size, TensorOptions options) {
  return allocate(size, options_like(self, options));
}

Tensor new_empty_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, TensorOptions options) {
  return empty_strided(size, stride, options_like(self, options));
}

Tensor new_full(const Tensor& self, IntArrayRef size, const Scalar& fill_value, TensorOptions options) {
  return filled(size, fill_value, options_like(self, options));
}

Tensor new_zeros(const Tensor& self, IntArrayRef size, TensorOptions options) {
  const TensorOptions merged = options_like(self, options);
  return C10_LIKELY(merged.layout() == Layout::Strided) ? zeros(size, merged) : at::zeros(size, merged);
}

Tensor new_ones(const Tensor& self, IntArrayRef size, TensorOptions options) {
  return filled(size, 1, options_like(self, options));
}

Tensor scalar_tensor(const Scalar& s, TensorOptions options) {
  // A number is strided whatever layout is asked for.
  const TensorOptions strided = options.layout(Layout::Strided);
  return full({}, s, options.has_dtype() ? strided : strided.dtype(get_default_dtype_as_scalartype()));
}

}  // namespace at::native
