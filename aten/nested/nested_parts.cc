#include "aten/nested/nested_parts.h"

#include <algorithm>
#include <numeric>

#include "aten/core/empty.h"
#include "aten/core/view.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"

namespace at::nested {

Tensor in_shape(const Tensor& values, const NestedShape& shape) {
  return at::_nested_view_from_buffer(values, matrix_of(shape, shape.sizes), matrix_of(shape, shape.strides),
                                      vector_of(shape.offsets));
}

Tensor over(const Tensor& self, const NestedShape& shape) {
  return in_shape(at::_nested_values(self), shape);
}

namespace {

// The places of all parts in the packed dimension, one after the other.
Tensor places_of(const RaggedStructure& ragged, Device device) {
  const Tensor result = empty_contiguous({ragged.total}, kLong);
  int64_t* next = static_cast<int64_t*>(result.data_ptr());
  for (size_t i = 0; i < ragged.begin.size(); ++i) {
    std::iota(next, next + ragged.length[i], ragged.begin[i]);
    next += ragged.length[i];
  }
  return at::to(result, device, kLong);
}

// Values in which those of the parts, one behind the other along `dim`, stand where `like` has its parts.
Tensor at_places(const Tensor& packed, const Tensor& like, int64_t dim) {
  const NestedTensorImpl& impl = impl_of("parts", like);
  const RaggedStructure& ragged = *impl.jagged().ragged;
  TORCH_INTERNAL_ASSERT(packed.size(dim) == ragged.total);
  if (impl.fills_buffer()) return packed;
  DimVector sizes(packed.sizes().begin(), packed.sizes().end());
  sizes[static_cast<size_t>(dim)] = impl.buffer().size(impl.jagged().dim - 1);
  return at::index_add(at::zeros(sizes, packed.options()), dim, places_of(ragged, packed.device()), packed);
}

}  // namespace

Tensor joined(const std::vector<Tensor>& parts, const Tensor& like, int64_t dim) {
  if (is_jagged(like)) {
    if (dim == 0) dim = jagged_of(like).dim;
    return with_values(at_places(at::cat(parts, dim - 1), like, dim - 1), like, dim);
  }
  return at::_nested_tensor_from_tensor_list(
      parts, parts.empty() ? TensorOptions(like.scalar_type()).device(like.device()) : TensorOptions());
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

// --- the jagged layout ---
const Jagged& jagged_of(const Tensor& t) {
  TORCH_INTERNAL_ASSERT(is_jagged(t));
  return impl_of("jagged", t).jagged();
}

Tensor as_size(std::optional<int64_t> length) {
  return length.has_value() ? empty_contiguous({*length, 0}, kFloat) : Tensor();
}

Tensor with_values(const Tensor& values, const Tensor& like, int64_t dim) {
  const Jagged& jagged = jagged_of(like);
  const Tensor& offsets = jagged.ragged->offsets;
  return at::_nested_view_from_jagged(values, offsets, offsets, jagged.ragged->lengths, dim == 0 ? jagged.dim : dim,
                                      as_size(jagged.shortest), as_size(jagged.longest));
}

std::vector<Tensor> parts_or_empty_one(const Tensor& self) {
  if (jagged_of(self).ragged->parts() > 0) return at::_nested_unbind(self);
  return {at::slice(at::_nested_get_values(self), jagged_of(self).dim - 1, 0, 0)};
}

Tensor packed_values(const Tensor& self) {
  if (impl_of("values", self).fills_buffer()) return at::_nested_get_values(self);
  return at::cat(parts_or_empty_one(self), jagged_of(self).dim - 1);
}

int64_t dense_dim(const char* op, const Tensor& self, int64_t dim) {
  const int64_t wrapped = maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(wrapped != 0, op, "(): not supported for NestedTensor on dim=0");
  TORCH_CHECK(wrapped != jagged_of(self).dim, op, "(): not supported for NestedTensor on ragged dim");
  return wrapped;
}

Tensor offsets_of(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> places{0};
  for (const int64_t length : lengths) places.push_back(places.back() + length);
  return vector_of(places);
}

}  // namespace at::nested
