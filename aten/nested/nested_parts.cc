#include "aten/nested/nested_parts.h"

#include <algorithm>

#include "aten/core/view.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"

namespace at::nested {

Tensor in_shape(const Tensor& values, const NestedShape& shape) {
  return at::_nested_view_from_buffer(values, matrix_of(shape, shape.sizes), matrix_of(shape, shape.strides),
                                      vector_of(shape.offsets));
}

Tensor over(const Tensor& self, const NestedShape& shape) {
  return in_shape(at::_nested_values(self), shape);
}

Tensor joined(const std::vector<Tensor>& parts, const Tensor& like) {
  return at::_nested_tensor_from_tensor_list(parts,
                                             parts.empty() ? TensorOptions(like.scalar_type()) : TensorOptions());
}

Tensor packed(const Tensor& self) {
  const NestedTensorImpl& impl = impl_of("contiguous", self);
  return impl.is_contiguous() && impl.fills_buffer() ? self : at::clone(self, MemoryFormat::Contiguous);
}

bool same_sizes(const NestedShape& a, const NestedShape& b) {
  return a.parts == b.parts && (a.parts == 0 || (a.dims == b.dims && a.sizes == b.sizes));
}

bool same_places(const NestedShape& a, const NestedShape& b) {
  return a.strides == b.strides && a.offsets == b.offsets;
}

int64_t dim_in_part(const Tensor& self, int64_t dim, const char* what) {
  const int64_t wrapped = maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(wrapped != 0, what);
  return wrapped - 1;
}

std::vector<Tensor> dense_parts(const char* op, const NestedShape& shape, const Tensor& other, bool self_is_nested) {
  const bool fits = other.dim() == shape.dims + 1 && other.size(0) == shape.parts;
  TORCH_CHECK(fits, "Expected both self and other to be nested, but got a ",
              self_is_nested ? "nested self and non-nested other" : "non-nested self and nested other", " of size ",
              other.sizes(), ", which does not broadcast to the parts, in ", op);
  std::vector<Tensor> parts = at::unbind(other);
  for (int64_t i = 0; i < shape.parts; ++i) {
    const IntArrayRef own = shape.sizes_of(i), given = parts[static_cast<size_t>(i)].sizes();
    for (size_t d = 0; d < own.size(); ++d) {
      TORCH_CHECK(given[d] == own[d] || given[d] == 1, op, ": the dense tensor's part ", i, " has size ", given,
                  ", which does not broadcast to that of the nested one, ", own);
    }
  }
  return parts;
}

}  // namespace at::nested
