// Nested tensors: what is asked of them, and copies of them.
#include <algorithm>

#include "aten/core/empty.h"
#include "aten/nested/nested_parts.h"
#include "aten/ops/copy/kernels.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/kernels.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/nested/kernels.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/view/kernels.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

void check_format(const char* op, std::optional<MemoryFormat> format) {
  TORCH_CHECK(!format.has_value() || *format == MemoryFormat::Preserve || *format == MemoryFormat::Contiguous, op,
              ": a nested tensor is contiguous or keeps its format, it has no memory format ", *format);
}

// The options of a tensor like `self`; a nested tensor again.
TensorOptions options_like(const char* op, const Tensor& self, const TensorOptions& options) {
  const TensorOptions merged = self.options().merge_in(options);
  TORCH_CHECK_NOT_IMPLEMENTED(merged.layout() == Layout::Strided, op, ": a nested tensor of layout ", merged.layout(),
                              " is not implemented");
  TORCH_CHECK_NOT_IMPLEMENTED(merged.device().is_cpu(), op, ": nested tensors are on the CPU, not on ",
                              merged.device());
  TORCH_CHECK_NOT_IMPLEMENTED(!merged.pinned_memory(), op, ": pinned memory is not implemented for nested tensors");
  return merged;
}

nested::Shape packed_like(const NestedShape& shape) {
  return nested::packed_shape(shape.parts, shape.dims, shape.sizes);
}

// A nested tensor of that shape, packed, whose buffer make(sizes, options) gives.
template <class F>
Tensor made_like(const char* op, const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> format,
                 const F& make) {
  check_format(op, format);
  const TensorOptions merged = options_like(op, self, options);
  const NestedTensorImpl& impl = nested::impl_of(op, self);
  const int64_t numel = impl.numel();
  return nested::make_nested(make(IntArrayRef(numel), merged), packed_like(*impl.shape()));
}

// The same elements in memory of their own: packed, or where they fill their buffer and the format may be kept at the
// same places.
Tensor copy_of(const Tensor& self, ScalarType dtype, std::optional<MemoryFormat> format) {
  const NestedTensorImpl& impl = nested::impl_of("clone", self);
  if (impl.fills_buffer() && (impl.is_contiguous() || format != MemoryFormat::Contiguous)) {
    Tensor copy = empty_contiguous({impl.buffer().numel()}, dtype);
    at::copy_(copy, impl.buffer());
    return fresh(nested::make_nested(copy, impl.shape()));
  }
  const nested::Shape shape = packed_like(*impl.shape());
  const Tensor result = nested::make_nested(empty_contiguous({shape->numel()}, dtype), shape);
  const NestedTensorImpl& to = nested::impl_of("clone", result);
  for (int64_t i = 0; i < shape->parts; ++i) {
    Tensor part = to.part(i);
    at::copy_(part, impl.part(i));
  }
  return fresh(result);
}

}  // namespace

// --- queries ---
Tensor _nested_tensor_size_nested(const Tensor& self) {
  const NestedShape& shape = *nested::impl_of("_nested_tensor_size", self).shape();
  return nested::matrix_of(shape, shape.sizes);
}
Tensor _nested_tensor_strides_nested(const Tensor& self) {
  const NestedShape& shape = *nested::impl_of("_nested_tensor_strides", self).shape();
  return nested::matrix_of(shape, shape.strides);
}
Tensor _nested_tensor_storage_offsets_nested(const Tensor& self) {
  return nested::vector_of(nested::impl_of("_nested_tensor_storage_offsets", self).shape()->offsets);
}

int64_t size_int_nested(const Tensor& self, int64_t dim) {
  return self.size(dim);
}

bool is_same_size_nested(const Tensor& self, const Tensor& other) {
  return self.is_nested() && other.is_nested() &&
         nested::same_sizes(*nested::impl_of("is_same_size", self).shape(),
                            *nested::impl_of("is_same_size", other).shape());
}

bool equal_nested(const Tensor& self, const Tensor& other) {
  if (!is_same_size_nested(self, other)) return false;
  const std::vector<Tensor> a = nested::impl_of("equal", self).parts(), b = nested::impl_of("equal", other).parts();
  for (size_t i = 0; i < a.size(); ++i) {
    if (!at::equal(a[i], b[i])) return false;
  }
  return true;
}

// --- parts ---
std::vector<Tensor> _nested_unbind_nested(const Tensor& self) {
  return nested::impl_of("unbind", self).parts();
}
std::vector<Tensor> unbind_nested(const Tensor& self, int64_t dim) {
  const int64_t wrapped = maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(wrapped == 0, "NestedTensor can only be unbound along dimension 0 got dimension ", wrapped, " instead.");
  return at::_nested_unbind(self);
}

Tensor _nested_values_nested(const Tensor& self) {
  const NestedTensorImpl& impl = nested::impl_of("values", self);
  const Tensor result = nested::plain(impl.buffer());
  result.unsafeGetTensorImpl()->set_inference(self.is_inference());
  return result;
}
Tensor values_nested(const Tensor& self) {
  return at::_nested_values(self);
}

Tensor to_padded_tensor_nested(const Tensor& self, double padding, OptionalIntArrayRef output_size) {
  const NestedTensorImpl& impl = nested::impl_of("to_padded_tensor", self);
  const NestedShape& shape = *impl.shape();
  if (shape.parts == 0) return at::empty({0}, self.options());
  TORCH_CHECK(impl.numel() > 0, "to_padded_tensor: at least one constituent tensor should have non-zero numel");
  DimVector sizes{shape.parts};
  for (int64_t d = 0; d < shape.dims; ++d) {
    int64_t most = 0;
    for (int64_t i = 0; i < shape.parts; ++i) most = std::max(most, shape.sizes_of(i)[d]);
    sizes.push_back(most);
  }
  if (output_size.has_value()) {
    TORCH_CHECK(output_size->size() == sizes.size(),
                "Length of output_size does not match NestedTensor dims. Broadcasting is not supported.");
    for (size_t d = 0; d < sizes.size(); ++d) {
      TORCH_CHECK((*output_size)[d] >= sizes[d],
                  "Value in output_size is less than NestedTensor padded size. Truncation is not supported.");
      sizes[d] = (*output_size)[d];
    }
  }
  const Tensor result = at::full(sizes, padding, self.options());
  for (int64_t i = 0; i < shape.parts; ++i) {
    const IntArrayRef own = shape.sizes_of(i);
    Tensor place = at::select(result, 0, i);
    for (int64_t d = 0; d < shape.dims; ++d) place = at::slice(place, d, 0, own[d]);
    at::copy_(place, impl.part(i));
  }
  return fresh(result);
}

// --- factories ---
Tensor empty_like_nested(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> format) {
  return made_like("empty_like", self, options, format,
                   [](IntArrayRef size, const TensorOptions& o) { return at::empty(size, o); });
}
Tensor zeros_like_nested(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> format) {
  return made_like("zeros_like", self, options, format,
                   [](IntArrayRef size, const TensorOptions& o) { return at::zeros(size, o); });
}
Tensor ones_like_nested(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> format) {
  return made_like("ones_like", self, options, format,
                   [](IntArrayRef size, const TensorOptions& o) { return at::ones(size, o); });
}
Tensor full_like_nested(const Tensor& self, const Scalar& fill_value, TensorOptions options,
                        std::optional<MemoryFormat> format) {
  return made_like("full_like", self, options, format,
                   [&](IntArrayRef size, const TensorOptions& o) { return at::full(size, fill_value, o); });
}
Tensor rand_like_nested(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> format) {
  return made_like("rand_like", self, options, format,
                   [](IntArrayRef size, const TensorOptions& o) { return at::rand(size, o); });
}
Tensor randn_like_nested(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> format) {
  return made_like("randn_like", self, options, format,
                   [](IntArrayRef size, const TensorOptions& o) { return at::randn(size, o); });
}

// --- copies ---
Tensor clone_nested(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  check_format("clone", memory_format);
  return copy_of(self, self.scalar_type(), memory_format);
}

Tensor _to_copy_nested(const Tensor& self, TensorOptions options, bool, std::optional<MemoryFormat> memory_format) {
  check_format("to(options)", memory_format);
  return copy_of(self, options_like("to(options)", self, options).scalar_type(), memory_format);
}

Tensor& copy_nested_(Tensor& self, const Tensor& src, bool) {
  TORCH_CHECK(self.is_nested() && src.is_nested(),
              "copy_() between dense and nested tensors is not implemented; to_padded_tensor "
              "and as_nested_tensor convert");
  NestedTensorImpl &to = nested::impl_of("copy_", self), &from = nested::impl_of("copy_", src);
  TORCH_CHECK(nested::same_sizes(*to.shape(), *from.shape()),
              "copy_ only supports tensors that are the same size for Nested implementations");
  if (self.is_same(src)) return self;
  for (int64_t i = 0; i < to.shape()->parts; ++i) {
    Tensor part = to.part(i);
    at::copy_(part, from.part(i));
  }
  return self;
}

Tensor& fill_scalar_nested_(Tensor& self, const Scalar& value) {
  return nested::change_elements("fill_", self, [&](Tensor& t) { at::fill_(t, value); });
}
Tensor& zero_nested_(Tensor& self) {
  return nested::change_elements("zero_", self, [](Tensor& t) { at::zero_(t); });
}

Tensor detach_nested(const Tensor& self) {
  const Tensor result = nested::plain(self);
  result.unsafeGetTensorImpl()->set_inference(self.is_inference());
  return result;
}
Tensor alias_nested(const Tensor& self) {
  return detach_nested(self);
}

}  // namespace at::native
