#pragma once

#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/nested/nested_tensor_impl.h"
#include "aten/ops/nested/ops.h"
#include "aten/ops/view/ops.h"

// What the kernels of nested tensors share. Functions that take and give tensors are differentiable by what they call.
namespace at::nested {

using Shape = std::shared_ptr<const NestedShape>;

/// A nested tensor of these elements, a contiguous tensor of one dimension, in that shape. Shares their memory.
Tensor in_shape(const Tensor& values, const NestedShape& shape);
/// The same over the elements of the nested `self`.
Tensor over(const Tensor& self, const NestedShape& shape);

/// The parts as one nested tensor, a copy; of the layout of `like`, and of its dtype where there are none. The parts of
/// a jagged one are as long as those of `like` along dimension `dim` (0: where that is ragged), whose structure it has,
/// with zeros where it has holes.
Tensor joined(const std::vector<Tensor>& parts, const Tensor& like, int64_t dim = 0);

/// `self`, or where it is not packed and alone in its buffer a copy that is.
Tensor packed(const Tensor& self);

/// Both have the same number of parts, of the same sizes each.
bool same_sizes(const NestedShape& a, const NestedShape& b);
/// And the same places in the buffer.
bool same_places(const NestedShape& a, const NestedShape& b);

/// Wraps a dimension of the nested tensor and counts it in a part. Throws IndexError out of range, and c10::Error
/// "<what>" for the first dimension, that of the parts.
int64_t dim_in_part(const Tensor& self, int64_t dim, const char* what);

// --- the jagged layout ---
inline bool is_jagged(const Tensor& t) {
  return t.layout() == Layout::Jagged;
}
/// Of a jagged tensor.
const Jagged& jagged_of(const Tensor& t);
/// A jagged tensor over these values, which are cut as those of `like` along the dimension before `dim` (0: as there).
Tensor with_values(const Tensor& values, const Tensor& like, int64_t dim = 0);
/// f of the values, which are cut as before in the dimension that is number `dim` then.
template <class F>
Tensor on_values(const Tensor& self, int64_t dim, const F& f) {
  return with_values(f(at::_nested_get_values(self)), self, dim);
}
/// The parts of a jagged tensor; where it has none an empty one, which no part of joined() shows.
std::vector<Tensor> parts_or_empty_one(const Tensor& self);
/// The values of the parts alone, one behind the other.
Tensor packed_values(const Tensor& self);
/// A length as the size of an empty tensor, which is how operators hand it on; undefined where none was given.
Tensor as_size(std::optional<int64_t> length);
/// Wraps a dimension. Throws IndexError out of range, and c10::Error "<op>(): not supported for NestedTensor on dim=0"
/// and "... on ragged dim" for these.
int64_t dense_dim(const char* op, const Tensor& self, int64_t dim);
/// Offsets, as int64, of parts of these lengths that lie one behind the other.
Tensor offsets_of(const std::vector<int64_t>& lengths);

/// The shape of `self` with sizes and strides of each part changed: f(sizes, strides, offset) works on SmallVectors of
/// them.
template <class F>
NestedShape changed(const NestedShape& shape, const F& f) {
  NestedShape result;
  result.parts = shape.parts;
  for (int64_t i = 0; i < shape.parts; ++i) {
    const IntArrayRef own = shape.sizes_of(i), steps = shape.strides_of(i);
    DimVector sizes(own.begin(), own.end()), strides(steps.begin(), steps.end());
    int64_t offset = shape.offsets[static_cast<size_t>(i)];
    f(sizes, strides, offset);
    result.dims = static_cast<int64_t>(sizes.size());
    result.sizes.insert(result.sizes.end(), sizes.begin(), sizes.end());
    result.strides.insert(result.strides.end(), strides.begin(), strides.end());
    result.offsets.push_back(offset);
  }
  return result;
}

/// f of each part, as a nested tensor; of a jagged one with the ragged dimension at the same place.
template <class F>
Tensor each_part(const Tensor& self, const F& f) {
  std::vector<Tensor> results;
  for (const Tensor& part : is_jagged(self) ? parts_or_empty_one(self) : at::_nested_unbind(self)) {
    results.push_back(f(part));
  }
  return joined(results, self);
}

/// f(part of self) in place, below autograd: of all elements at once where they are alone in the buffer.
template <class F>
Tensor& change_elements(const char* op, Tensor& self, const F& f) {
  const NestedTensorImpl& impl = impl_of(op, self);
  if (impl.fills_buffer()) {
    Tensor buffer = impl.buffer();
    f(buffer);
    return self;
  }
  for (Tensor& part : impl.parts()) f(part);
  return self;
}

}  // namespace at::nested
