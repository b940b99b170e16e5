// Tensors whose elements only one backend can read: sizes, dtype and device, and a handle to what the backend keeps.
//
//   using Impl = at::OpaqueTensorImpl<std::shared_ptr<Texture>>;
//   at::Tensor t(c10::make_intrusive<Impl>(
//       c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), caffe2::TypeMeta::Make<float>(), device, texture, sizes));
//   static_cast<Impl*>(t.unsafeGetTensorImpl())->opaque_handle();
#pragma once

#include <utility>

#include "c10/core/layout.h"
#include "c10/core/tensor_impl.h"
#include "c10/core/type_meta.h"
#include "c10/util/small_vector.h"

namespace at {

/// `OpaqueHandle` is copied along with the tensor: a pointer that counts its owners. No storage, strides of 0.
template <class OpaqueHandle>
struct OpaqueTensorImpl : public c10::TensorImpl {
  OpaqueTensorImpl(c10::DispatchKeySet key_set, const caffe2::TypeMeta& data_type, c10::Device device,
                   OpaqueHandle opaque_handle, c10::IntArrayRef sizes, bool /*is_non_overlapping_and_dense*/ = true)
      : TensorImpl(key_set, data_type.toScalarType(), device, c10::Layout::Strided, sizes,
                   c10::SmallVector<int64_t, kInlineDims>(sizes.size(), 0)),
        opaque_handle_(std::move(opaque_handle)) {}

  const OpaqueHandle& opaque_handle() const { return opaque_handle_; }
  OpaqueHandle& unsafe_opaque_handle() { return opaque_handle_; }

  c10::intrusive_ptr<TensorImpl> shallow_copy() const override {
    auto copy = c10::make_intrusive<OpaqueTensorImpl>(
        key_set() - c10::kDerivativeKeys, caffe2::TypeMeta::fromScalarType(dtype()), device(), opaque_handle_, sizes());
    copy->copy_metadata_from(*this);
    return copy;
  }
  void shallow_copy_from(const TensorImpl& other) override {
    TensorImpl::shallow_copy_from(other);
    opaque_handle_ = static_cast<const OpaqueTensorImpl&>(other).opaque_handle_;
  }
  const char* kind() const override { return "OpaqueTensorImpl"; }

 protected:
  void release_resources() override {
    TensorImpl::release_resources();
    opaque_handle_ = {};
  }

 private:
  OpaqueHandle opaque_handle_;
};

}  // namespace at
