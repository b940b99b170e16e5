// Nested tensors: other geometries over the same buffer. All stand above autograd.
#include <numeric>

#include "aten/core/view.h"
#include "aten/nested/jagged_views.h"
#include "aten/nested/nested_parts.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/join/kernels.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/kernels.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

const NestedShape& shape_of(const char* op, const Tensor& self) {
  return *nested::impl_of(op, self).shape();
}

template <class Vector>
void remove(Vector& v, int64_t place) {
  v.erase(v.begin() + place);
}

// The sizes of part i where each is asked for by `size`, which counts the parts first: -1 stands for the part's own
// size in that dimension, or behind its last for what is left.
DimVector sizes_asked(const NestedShape& shape, int64_t i, IntArrayRef size) {
  const IntArrayRef own = shape.sizes_of(i);
  DimVector sizes;
  for (size_t d = 1; d < size.size(); ++d) {
    sizes.push_back(size[d] == -1 && static_cast<int64_t>(d) <= shape.dims ? own[d - 1] : size[d]);
  }
  return infer_shape(sizes, c10::checked_numel(own));
}

// Empty where a part has strides that no view of that size has.
std::optional<NestedShape> viewed(const char* op, const NestedShape& shape, IntArrayRef size) {
  TORCH_CHECK(!size.empty() && size[0] == shape.parts, op,
              ": For now nested view cannot change or infer the implicit batch dimension");
  bool possible = true;
  int64_t i = 0;
  NestedShape result = nested::changed(shape, [&](DimVector& sizes, DimVector& strides, int64_t&) {
    const DimVector asked = sizes_asked(shape, i++, size);
    const std::optional<DimVector> found = view_strides(sizes, strides, asked);
    possible &= found.has_value();
    sizes = asked;
    strides = found.value_or(asked);
  });
  return possible ? std::optional<NestedShape>(std::move(result)) : std::nullopt;
}

// Parts of `lengths` along a dimension that all have.
std::vector<Tensor> pieces(const Tensor& self, const NestedShape& shape, int64_t d, IntArrayRef lengths) {
  std::vector<Tensor> results;
  int64_t start = 0;
  for (const int64_t length : lengths) {
    results.push_back(
        nested::over(self, nested::changed(shape, [&](DimVector& sizes, DimVector& strides, int64_t& offset) {
                       offset += start * strides[d];
                       sizes[d] = length;
                     })));
    start += length;
  }
  return results;
}

}  // namespace

Tensor transpose_nested(const Tensor& self, int64_t dim0, int64_t dim1) {
  if (nested::is_jagged(self)) return nested::transpose_jagged(self, dim0, dim1);
  const int64_t a = nested::dim_in_part(self, dim0, "Nested tensor dimension 0 cannot be transposed");
  const int64_t b = nested::dim_in_part(self, dim1, "Nested tensor dimension 0 cannot be transposed");
  return nested::over(self,
                      nested::changed(shape_of("transpose", self), [&](DimVector& sizes, DimVector& strides, int64_t&) {
                        std::swap(sizes[a], sizes[b]);
                        std::swap(strides[a], strides[b]);
                      }));
}

Tensor select_nested(const Tensor& self, int64_t dim, int64_t index) {
  const int64_t wrapped = maybe_wrap_dim(dim, self.dim());
  if (wrapped == 0) {
    const int64_t parts = nested::impl_of("select", self).part_count();
    TORCH_CHECK_INDEX(index >= -parts && index < parts, "index ", index, " is out of bounds for dimension 0 with size ",
                      parts);
    return at::_nested_unbind(self)[static_cast<size_t>(index < 0 ? index + parts : index)];
  }
  if (nested::is_jagged(self)) return nested::select_jagged(self, wrapped, index);
  const NestedShape& shape = shape_of("select", self);
  const int64_t d = wrapped - 1;
  return nested::over(self, nested::changed(shape, [&](DimVector& sizes, DimVector& strides, int64_t& offset) {
                        TORCH_CHECK_INDEX(index >= -sizes[d] && index < sizes[d], "select(): index ", index,
                                          " out of range for a part of size ", IntArrayRef(sizes), " at dimension ",
                                          wrapped);
                        offset += (index < 0 ? index + sizes[d] : index) * strides[d];
                        remove(sizes, d);
                        remove(strides, d);
                      }));
}

Tensor squeeze_dims_nested(const Tensor& self, IntArrayRef dim) {
  if (nested::is_jagged(self)) return nested::squeeze_jagged(self, dim);
  const NestedShape& shape = shape_of("squeeze", self);
  std::vector<bool> gone(static_cast<size_t>(shape.dims), false);
  for (const int64_t one : dim) {
    const int64_t d = nested::dim_in_part(
        self, one, "squeeze(): For nested tensors, squeezing dimension 0 is not supported; it counts the parts");
    if (shape.common_size(d) == 1) gone[static_cast<size_t>(d)] = true;
  }
  return nested::over(self, nested::changed(shape, [&](DimVector& sizes, DimVector& strides, int64_t&) {
                        for (int64_t d = shape.dims - 1; d >= 0; --d) {
                          if (!gone[static_cast<size_t>(d)]) continue;
                          remove(sizes, d);
                          remove(strides, d);
                        }
                      }));
}
Tensor squeeze_dim_nested(const Tensor& self, int64_t dim) {
  return squeeze_dims_nested(self, IntArrayRef(dim));
}

Tensor unsqueeze_nested(const Tensor& self, int64_t dim) {
  const int64_t wrapped = maybe_wrap_dim(dim, self.dim() + 1);
  if (nested::is_jagged(self)) return nested::unsqueeze_jagged(self, wrapped);
  TORCH_CHECK(wrapped != 0,
              "unsqueeze(): For nested tensors, unsqueezing dimension 0 is not supported; it counts the parts");
  const int64_t d = wrapped - 1;
  return nested::over(self,
                      nested::changed(shape_of("unsqueeze", self), [&](DimVector& sizes, DimVector& strides, int64_t&) {
                        const bool last = d == static_cast<int64_t>(sizes.size());
                        const int64_t stride = last ? 1 : sizes[d] * strides[d];
                        sizes.insert(sizes.begin() + d, 1);
                        strides.insert(strides.begin() + d, stride);
                      }));
}

std::vector<Tensor> split_with_sizes_nested(const Tensor& self, IntArrayRef split_sizes, int64_t dim) {
  if (nested::is_jagged(self)) return nested::split_jagged(self, split_sizes, dim);
  const int64_t d =
      nested::dim_in_part(self, dim, "split_with_sizes for nested tensors is not supported along dimension 0");
  const NestedShape& shape = shape_of("split_with_sizes", self);
  const int64_t size = self.size(dim);
  int64_t sum = 0;
  for (const int64_t length : split_sizes) {
    TORCH_CHECK(length >= 0 && length <= size - sum,
                "split_with_sizes expects split_sizes of at least 0 that add up to ", size, ", the size at dimension ",
                d + 1, ", but got ", split_sizes);
    sum += length;
  }
  TORCH_CHECK(sum == size, "split_with_sizes expects split_sizes to sum exactly to ", size, " (the size at dimension ",
              d + 1, "), but got ", split_sizes);
  return pieces(self, shape, d, split_sizes);
}

std::vector<Tensor> chunk_nested(const Tensor& self, int64_t chunks, int64_t dim) {
  if (nested::is_jagged(self)) return nested::chunk_jagged(self, chunks, dim);
  const int64_t d = nested::dim_in_part(self, dim, "Chunk for nested tensors is not supported along dimension 0");
  TORCH_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t size = self.size(dim), length = std::max<int64_t>((size + chunks - 1) / chunks, 1);
  DimVector lengths;
  for (int64_t start = 0; start < size; start += length) lengths.push_back(std::min(length, size - start));
  return pieces(self, shape_of("chunk", self), d, lengths);
}

Tensor view_nested(const Tensor& self, IntArrayRef size) {
  if (nested::is_jagged(self)) return nested::view_jagged(self, size);
  const std::optional<NestedShape> shape = viewed("view", shape_of("view", self), size);
  TORCH_CHECK(shape.has_value(), "view: size ", size,
              " is not compatible with the strides of the parts; use reshape instead");
  return nested::over(self, *shape);
}
Tensor reshape_nested(const Tensor& self, IntArrayRef shape) {
  if (nested::is_jagged(self)) return nested::reshape_jagged(self, shape);
  if (const auto found = viewed("reshape", shape_of("reshape", self), shape)) return nested::over(self, *found);
  const Tensor dense = nested::packed(self);
  return nested::over(dense, *viewed("reshape", shape_of("reshape", dense), shape));
}

Tensor cat_nested(TensorList tensors, int64_t dim) {
  std::vector<std::vector<Tensor>> parts;
  for (const Tensor& t : tensors) {
    TORCH_CHECK(t.is_nested(), "cat: expected each tensor in given list to be nested, but got a dense one of size ",
                t.sizes());
    TORCH_CHECK(t.dim() == tensors[0].dim(), "cat: expected nested tensors of equal numbers of dimensions, but got ",
                t.dim(), " and ", tensors[0].dim());
    TORCH_CHECK(nested::is_jagged(t) == nested::is_jagged(tensors[0]),
                "cat: nested tensors of the strided and of the jagged layout do not go together");
    if (!nested::is_jagged(t)) parts.push_back(at::_nested_unbind(t));
  }
  if (nested::is_jagged(tensors[0])) return nested::cat_jagged(tensors, dim);
  const int64_t wrapped = maybe_wrap_dim(dim, tensors[0].dim());
  std::vector<Tensor> results;
  if (wrapped == 0) {
    for (const std::vector<Tensor>& own : parts) results.insert(results.end(), own.begin(), own.end());
    return nested::joined(results, tensors[0]);
  }
  for (const std::vector<Tensor>& own : parts) {
    TORCH_CHECK(own.size() == parts[0].size(), "cat: expected nested tensors with equally many parts along dimension ",
                wrapped, ", but got ", own.size(), " and ", parts[0].size());
  }
  for (size_t i = 0; i < parts[0].size(); ++i) {
    std::vector<Tensor> together;
    for (const std::vector<Tensor>& own : parts) together.push_back(own[i]);
    results.push_back(at::cat(together, wrapped - 1));
  }
  return nested::joined(results, tensors[0]);
}

}  // namespace at::native
