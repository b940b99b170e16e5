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

/// The parts as one nested tensor, a copy; of the dtype of `like` where there are none.
Tensor joined(const std::vector<Tensor>& parts, const Tensor& like);

/// `self`, or where it is not packed and alone in its buffer a copy that is.
Tensor packed(const Tensor& self);

/// Both have the same number of parts, of the same sizes each.
bool same_sizes(const NestedShape& a, const NestedShape& b);
/// And the same places in the buffer.
bool same_places(const NestedShape& a, const NestedShape& b);

/// Wraps a dimension of the nested tensor and counts it in a part. Throws IndexError out of range, and c10::Error
/// "<what>" for the first dimension, that of the parts.
int64_t dim_in_part(const Tensor& self, int64_t dim, const char* what);

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

/// f of each part, as a nested tensor.
template <class F>
Tensor each_part(const Tensor& self, const F& f) {
  std::vector<Tensor> results;
  for (const Tensor& part : at::_nested_unbind(self)) results.push_back(f(part));
  return joined(results, self);
}

/// f of all elements at once where f works element by element.
template <class F>
Tensor each_element(const char* op, const Tensor& self, const F& f) {
  const NestedTensorImpl& impl = impl_of(op, self);
  if (!impl.fills_buffer()) return each_part(self, f);
  return in_shape(f(at::_nested_values(self)), *impl.shape());
}

/// The same in place, below autograd.
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

/// The parts of the dense `other` that go with those of the nested tensor of `shape`: other[i], which has the number of
/// dimensions of a part and is broadcast to it. Throws c10::Error where it is no such tensor.
std::vector<Tensor> dense_parts(const char* op, const NestedShape& shape, const Tensor& other, bool self_is_nested);

/// f(a, b), element by element, of two nested tensors of the same sizes, or of a nested and a dense one, in either
/// order: a 0-dim one, or one of parts x dimensions that broadcast to those of the part.
template <class F>
Tensor elements_of_both(const char* op, const Tensor& a, const Tensor& b, const F& f) {
  if (a.is_nested() && b.is_nested()) {
    const NestedTensorImpl &x = impl_of(op, a), &y = impl_of(op, b);
    TORCH_CHECK(same_sizes(*x.shape(), *y.shape()), op, " does not support broadcasting when given a NestedTensor");
    if (x.fills_buffer() && y.fills_buffer() && same_places(*x.shape(), *y.shape())) {
      return in_shape(f(at::_nested_values(a), at::_nested_values(b)), *x.shape());
    }
    const std::vector<Tensor> left = at::_nested_unbind(a), right = at::_nested_unbind(b);
    std::vector<Tensor> results;
    for (size_t i = 0; i < left.size(); ++i) results.push_back(f(left[i], right[i]));
    return joined(results, a);
  }
  const bool nested_first = a.is_nested();
  const Tensor &nested_one = nested_first ? a : b, &dense = nested_first ? b : a;
  if (dense.dim() == 0) {
    return each_element(op, nested_one, [&](const Tensor& t) { return nested_first ? f(t, dense) : f(dense, t); });
  }
  const std::vector<Tensor> others = dense_parts(op, *impl_of(op, nested_one).shape(), dense, nested_first);
  const std::vector<Tensor> parts = at::_nested_unbind(nested_one);
  std::vector<Tensor> results;
  for (size_t i = 0; i < parts.size(); ++i)
    results.push_back(nested_first ? f(parts[i], others[i]) : f(others[i], parts[i]));
  return joined(results, nested_one);
}

/// f(part of self, part of other) in place, below autograd; `other` as above.
template <class F>
Tensor& change_by_other(const char* op, Tensor& self, const Tensor& other, const F& f) {
  TORCH_CHECK(self.is_nested(),
              "Expected both self and other to be nested, but got a non-nested self and nested other");
  const NestedTensorImpl& x = impl_of(op, self);
  if (!other.is_nested() && other.dim() == 0) {
    return change_elements(op, self, [&](Tensor& t) { f(t, other); });
  }
  std::vector<Tensor> others;
  if (other.is_nested()) {
    const NestedTensorImpl& y = impl_of(op, other);
    TORCH_CHECK(same_sizes(*x.shape(), *y.shape()), op, " does not support broadcasting when given a NestedTensor");
    if (x.fills_buffer() && y.fills_buffer() && same_places(*x.shape(), *y.shape())) {
      Tensor buffer = x.buffer();
      f(buffer, y.buffer());
      return self;
    }
    others = y.parts();
  } else {
    others = dense_parts(op, *x.shape(), other, true);
  }
  std::vector<Tensor> parts = x.parts();
  for (size_t i = 0; i < parts.size(); ++i) f(parts[i], others[i]);
  return self;
}

}  // namespace at::nested
