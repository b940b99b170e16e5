#pragma once

#include <cstdint>

#include "aten/core/tensor.h"
#include "autograd/engine/input_metadata.h"

// The few operations on gradients that the engine itself needs.
namespace torch::autograd::grad_ops {

at::Tensor zeros(at::IntArrayRef sizes, at::ScalarType dtype, at::Device device);
// 1 in the shape of the one element `t`.
at::Tensor one(const at::Tensor& t);
at::Tensor add(const at::Tensor& a, const at::Tensor& b);
// into += t, whether or not it requires a gradient; never recorded.
void add_into(at::Tensor& into, const at::Tensor& t);
// Whether `into` can hold the sum: a plain tensor cannot hold what a wrapper holds.
bool can_add_into(const at::Tensor& into, const at::Tensor& t);
// a + b, reusing the memory of one that nobody else holds.
at::Tensor add_reusing(at::Tensor&& a, at::Tensor&& b);
// A copy of `t`, laid out as `like` where that is dense.
at::Tensor clone_like(const at::Tensor& t, const at::Tensor& like);

// Nobody else holds the tensor or its memory, and its elements lie densely without overlap.
inline bool is_sole_dense(const at::Tensor& t) {
  const c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
  return t.use_count() == 1 && impl.storage() && impl.storage().use_count() == 1 && impl.is_non_overlapping_and_dense();
}

// Makes `grad` fit what `metadata` says: sums over broadcast dimensions, takes the real part for a real result, casts,
// moves a number to the device. Returns false (and leaves `grad`) where the shapes cannot fit.
bool fit(at::Tensor& grad, const InputMetadata& metadata);

// A place in a storage: which elements a tensor covers.
struct Geometry {
  c10::DimVector sizes;
  c10::DimVector strides;
  int64_t offset = 0;
  static Geometry of(const at::TensorBase& t);
};

// The gradient of a tensor of geometry `input` from `grad`, that of its view `view` (offsets in one storage). Elements that
// the view shows several times collect all their gradients.
at::Tensor as_strided_backward(const at::Tensor& grad, const Geometry& input, const Geometry& view);

// Whether any element is not a number.
bool has_nan(const at::Tensor& t);

// For base[view] = value: the gradient of the old base (grad with the view's part zeroed) and of the value.
at::Tensor grad_outside(const at::Tensor& grad, const Geometry& base, const Geometry& view);
at::Tensor grad_inside(const at::Tensor& grad, const Geometry& base, const Geometry& view);

// A view and its base. Where one is complex and the other real (view_as_real, view_as_complex) both are described in real
// numbers, with a last dimension of two.
struct ViewGeometry {
  Geometry base;
  Geometry view;
  bool base_is_complex = false;
  bool view_is_complex = false;

  static ViewGeometry of(const at::TensorBase& base, const at::TensorBase& view);
  // The gradient of the base from that of the view; of the base from before the view was written to; of what was written.
  at::Tensor of_base(const at::Tensor& grad_of_view) const;
  at::Tensor outside(const at::Tensor& grad_of_base) const;
  at::Tensor inside(const at::Tensor& grad_of_base) const;
};

}  // namespace torch::autograd::grad_ops
