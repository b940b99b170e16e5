#pragma once

#include "aten/core/tensor.h"
#include "c10/core/thread_state.h"

namespace at {

namespace detail {
inline Tensor tracked_view(const TensorBase& self, intrusive_ptr<TensorImpl> impl, bool multi_output) {
  TensorImpl& source = *self.unsafeGetTensorImpl();
  impl->set_inference(source.is_inference());
  if (C10_UNLIKELY(source.own_version().defined())) impl->set_version_counter(source.own_version());
  if (!source.is_inference()) {
    CreationMeta meta = source.creation_meta();
    if (C10_UNLIKELY(multi_output || !thread_state().grad_enabled) && meta != CreationMeta::kInference) {
      meta = thread_state().inference       ? CreationMeta::kInference
             : !thread_state().grad_enabled ? CreationMeta::kNoGrad
                                            : CreationMeta::kMultiOutput;
    }
    impl->set_base(source.is_view() ? source.base() : self.getIntrusivePtr(), meta);
  }
  return Tensor(std::move(impl));
}

// Of the kind that `source` is: a quantized tensor's views have its quantizer.
inline intrusive_ptr<TensorImpl> of_its_kind(const TensorImpl& source, IntArrayRef sizes, IntArrayRef strides,
                                             int64_t storage_offset) {
  auto impl = source.shallow_copy();
  impl->set_storage_offset(storage_offset);
  impl->set_sizes_and_strides(sizes, strides);
  return impl;
}
}  // namespace detail

// A tensor over the storage of `self` with another geometry (strides and storage_offset in elements; not checked here). It is
// tracked as a view of self, or of what self is a view of, so that a change of either in place is seen by autograd.
inline Tensor make_view(
    const TensorBase& self,
    IntArrayRef sizes,
    IntArrayRef strides,
    int64_t storage_offset,
    ScalarType dtype,
    bool multi_output = false) {
  const TensorImpl& source = *self.unsafeGetTensorImpl();
  if (C10_UNLIKELY(isQIntType(dtype)) && dtype == source.dtype()) {
    return detail::tracked_view(self, detail::of_its_kind(source, sizes, strides, storage_offset), multi_output);
  }
  return detail::tracked_view(
      self, TensorImpl::strided(source.storage(), dtype, source.device(), sizes, strides, storage_offset), multi_output);
}

inline Tensor make_view(const TensorBase& self, IntArrayRef sizes, IntArrayRef strides, int64_t storage_offset) {
  return make_view(self, sizes, strides, storage_offset, self.scalar_type());
}

// The elements of a contiguous `self` in another shape of as many elements (not checked).
inline Tensor make_contiguous_view(const TensorBase& self, IntArrayRef sizes) {
  const TensorImpl& source = *self.unsafeGetTensorImpl();
  if (C10_UNLIKELY(isQIntType(source.dtype()))) {
    auto impl = source.shallow_copy();
    impl->set_sizes_contiguous(sizes);
    return detail::tracked_view(self, std::move(impl), false);
  }
  auto impl = TensorImpl::contiguous(source.storage(), source.dtype(), source.device(), sizes);
  impl->set_storage_offset(source.storage_offset());
  return detail::tracked_view(self, std::move(impl), false);
}

// The strides that show `sizes` over the memory of (old_sizes, old_strides) without a copy; empty optional where there are
// none. Products of sizes and old_sizes must be equal.
std::optional<DimVector> view_strides(IntArrayRef old_sizes, IntArrayRef old_strides, IntArrayRef sizes);
// `shape` with a -1 replaced by what is left of numel elements. Throws "shape '[3]' is invalid for input of size 2".
DimVector infer_shape(IntArrayRef shape, int64_t numel);
// The shape two shapes broadcast to. Throws "The size of tensor a (2) must match the size of tensor b (3) at non-singleton
// dimension 0".
DimVector broadcast_shapes(IntArrayRef a, IntArrayRef b);

}  // namespace at
