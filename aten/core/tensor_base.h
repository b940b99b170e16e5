#pragma once

#include <cstdint>
#include <utility>

#include "aten/core/accessor_fwd.h"
#include "c10/core/device.h"
#include "c10/core/layout.h"
#include "c10/core/memory_format.h"
#include "c10/core/scalar_type.h"
#include "c10/core/storage.h"
#include "c10/core/tensor_impl.h"
#include "c10/core/tensor_options.h"
#include "c10/core/type_meta.h"
#include "c10/util/array_ref.h"
#include "c10/util/exception.h"
#include "c10/util/intrusive_ptr.h"

namespace c10 {
class SymInt;
template <class T>
class MaybeOwned;
}  // namespace c10

namespace at {
using namespace c10;

class Tensor;
class TensorBase;

namespace detail {
// Cold paths of TensorBase's checks.
[[noreturn]] void throw_undefined(const char* what);
[[noreturn]] void throw_wrong_dtype(ScalarType expected, ScalarType found);
[[noreturn]] void throw_irregular_dim(int64_t dim);
[[noreturn]] void throw_dim_out_of_range(int64_t dim, int64_t rank);
[[noreturn]] void throw_wrong_accessor_dim(int64_t expected, int64_t found);
[[noreturn]] void throw_too_large_for_int32();
// Throws where a tensor has elements but no data.
void check_may_be_null(const TensorBase& t);
}  // namespace detail

// Wraps a negative dimension: -1 is the last. Throws IndexError outside [-rank, rank-1]; with `wrap_scalar` a 0-dim tensor
// has dimension 0 (and -1).
inline int64_t maybe_wrap_dim(int64_t dim, int64_t rank, bool wrap_scalar = true) {
  if (rank == 0 && wrap_scalar) rank = 1;
  if (C10_UNLIKELY(dim < -rank || dim >= rank)) detail::throw_dim_out_of_range(dim, rank);
  return dim < 0 ? dim + rank : dim;
}

// A handle to a tensor with everything that is not an operator: geometry, dtype, data. Copies share the tensor. Kernels take
// this type's header, so that a new operator does not recompile them; programs use Tensor.
class TensorBase {
 public:
  constexpr TensorBase() noexcept = default;
  explicit TensorBase(intrusive_ptr<TensorImpl> impl) noexcept : impl_(std::move(impl)) {}

  // --- the handle ---
  bool defined() const noexcept { return impl_.defined(); }
  void reset() noexcept { impl_.reset(); }
  bool is_same(const TensorBase& other) const noexcept { return impl_ == other.impl_; }
  size_t use_count() const noexcept { return impl_.use_count(); }
  size_t weak_use_count() const noexcept { return impl_.weak_use_count(); }
  bool is_uniquely_owned() const noexcept { return use_count() == 1; }
  TensorImpl* unsafeGetTensorImpl() const noexcept { return impl_.get(); }
  TensorImpl* unsafeReleaseTensorImpl() noexcept { return impl_.release(); }
  const intrusive_ptr<TensorImpl>& getIntrusivePtr() const noexcept { return impl_; }
  intrusive_ptr<TensorImpl> unsafeReleaseIntrusivePtr() noexcept { return std::move(impl_); }

  // --- geometry ---
  int64_t dim() const { return impl().dim(); }
  int64_t ndimension() const { return dim(); }
  IntArrayRef sizes() const { return impl().sizes(); }
  IntArrayRef strides() const { return impl().strides(); }
  // Throws where the parts of a nested tensor differ in that size, which is -1 in sizes().
  int64_t size(int64_t d) const {
    const int64_t wrapped = maybe_wrap_dim(d, impl().dim(), false), size = impl_->size(wrapped);
    if (C10_UNLIKELY(size < 0)) detail::throw_irregular_dim(wrapped);
    return size;
  }
  int64_t stride(int64_t d) const { return impl().stride(maybe_wrap_dim(d, impl().dim(), false)); }
  int64_t numel() const { return impl_ ? impl_->numel() : 0; }
  int64_t storage_offset() const { return impl().storage_offset(); }
  size_t itemsize() const { return impl().itemsize(); }
  size_t element_size() const { return itemsize(); }
  size_t nbytes() const { return static_cast<size_t>(numel()) * itemsize(); }
  bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const {
    return format == MemoryFormat::Contiguous ? impl().is_contiguous() : impl().is_contiguous(format);
  }
  bool is_non_overlapping_and_dense() const { return impl().is_non_overlapping_and_dense(); }
  // The same as SymInt (c10/core/sym_int.h).
  ArrayRef<SymInt> sym_sizes() const;
  ArrayRef<SymInt> sym_strides() const;
  SymInt sym_size(int64_t d) const;
  SymInt sym_stride(int64_t d) const;
  SymInt sym_numel() const;
  SymInt sym_storage_offset() const;
  // ChannelsLast or ChannelsLast3d where the strides say so (by rank 4 or 5), else Contiguous.
  // `channels_last_strides_exact_match`: only where the strides are the format's own, without gaps.
  MemoryFormat suggest_memory_format(bool channels_last_strides_exact_match = false) const;

  // --- type ---
  ScalarType scalar_type() const { return impl().dtype(); }
  caffe2::TypeMeta dtype() const { return caffe2::TypeMeta(impl().dtype()); }
  Device device() const {
    if (C10_UNLIKELY(!impl_)) detail::throw_undefined("tensor does not have a device");
    return impl_->device();
  }
  DeviceIndex get_device() const { return impl().device().index(); }
  Layout layout() const { return impl().layout(); }
  TensorOptions options() const { return TensorOptions().dtype(scalar_type()).device(device()).layout(layout()); }
  DispatchKeySet key_set() const { return impl().key_set(); }
  bool is_cpu() const { return device().type() == DeviceType::CPU; }
  bool is_cuda() const { return device().type() == DeviceType::CUDA; }
  bool is_meta() const { return device().type() == DeviceType::Meta; }
  bool is_privateuseone() const { return device().type() == DeviceType::PrivateUse1; }
  bool is_mps() const { return device().type() == DeviceType::MPS; }
  bool is_xpu() const { return device().type() == DeviceType::XPU; }
  bool is_hip() const { return device().type() == DeviceType::HIP; }
  bool is_xla() const { return device().type() == DeviceType::XLA; }
  bool is_hpu() const { return device().type() == DeviceType::HPU; }
  bool is_ipu() const { return device().type() == DeviceType::IPU; }
  bool is_ve() const { return device().type() == DeviceType::VE; }
  bool is_lazy() const { return device().type() == DeviceType::Lazy; }
  bool is_vulkan() const { return device().type() == DeviceType::Vulkan; }
  bool is_metal() const { return device().type() == DeviceType::Metal; }
  bool is_ort() const { return device().type() == DeviceType::ORT; }
  bool is_maia() const { return device().type() == DeviceType::MAIA; }
  bool is_mtia() const { return device().type() == DeviceType::MTIA; }
  bool is_sparse() const { return layout() == Layout::Sparse; }
  bool is_sparse_csr() const { return layout() == Layout::SparseCsr; }
  bool is_mkldnn() const { return layout() == Layout::Mkldnn; }
  bool is_quantized() const { return isQIntType(scalar_type()); }
  bool is_nested() const { return key_set().has_any(nested_ks); }
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  bool is_complex() const { return isComplexType(scalar_type()); }
  bool is_signed() const { return isSignedType(scalar_type()); }
  // conj() and neg of a view compute; no tensor carries a pending one.
  bool is_conj() const { return false; }
  bool is_neg() const { return false; }
  bool _is_zerotensor() const { return false; }

  // --- data ---
  bool has_storage() const { return defined() && impl_->has_storage(); }
  Storage storage() const { return Storage(impl().storage()); }
  // Moves the storage to memory that processes forked later share (aten/extension/storage_utils.h, which must be linked).
  void share_memory_();
  bool is_alias_of(const TensorBase& other) const {
    return impl().storage() && impl().storage() == other.impl().storage();
  }
  void* data_ptr() const { return impl().data(); }
  const void* const_data_ptr() const { return impl().data(); }
  void* mutable_data_ptr() const { return impl().data(); }
  // The first element. Throws Error "expected scalar type Double but found Float" where T is not the dtype, and where the
  // elements are nowhere (meta tensors).
  template <class T>
  T* data_ptr() const {
    check_dtype(CppTypeToScalarType<std::remove_const_t<T>>::value);
    void* data = impl_->data();
    if (C10_UNLIKELY(data == nullptr)) detail::check_may_be_null(*this);
    return static_cast<T*>(data);
  }
  template <class T>
  const T* const_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  // Typed element access without bounds checks on a CPU tensor of exactly N dimensions (aten/core/tensor_accessor.h).
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const& {
    if (C10_UNLIKELY(dim() != static_cast<int64_t>(N))) detail::throw_wrong_accessor_dim(N, dim());
    return TensorAccessor<T, N>(data_ptr<T>(), sizes().data(), strides().data());
  }
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() && = delete;
  // The same with copies of sizes and strides, for kernels on a device (aten/core/tensor_accessor.h). The one with
  // indices of 32 bits throws for more elements than those count.
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
  GenericPackedTensorAccessor<T, N, PtrTraits, index_t> generic_packed_accessor() const& {
    if (C10_UNLIKELY(dim() != static_cast<int64_t>(N))) detail::throw_wrong_accessor_dim(N, dim());
    return GenericPackedTensorAccessor<T, N, PtrTraits, index_t>(data_ptr<T>(), sizes().data(), strides().data());
  }
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, PtrTraits> packed_accessor32() const& {
    if (C10_UNLIKELY(numel() > INT32_MAX)) detail::throw_too_large_for_int32();
    return generic_packed_accessor<T, N, PtrTraits, int32_t>();
  }
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, PtrTraits> packed_accessor64() const& {
    return generic_packed_accessor<T, N, PtrTraits, int64_t>();
  }
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
  C10_DEPRECATED_MESSAGE("packed_accessor is deprecated, use packed_accessor32 or packed_accessor64 instead")
  GenericPackedTensorAccessor<T, N, PtrTraits, index_t> packed_accessor() const& {
    return generic_packed_accessor<T, N, PtrTraits, index_t>();
  }
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
  GenericPackedTensorAccessor<T, N, PtrTraits, index_t> generic_packed_accessor() && = delete;
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, PtrTraits> packed_accessor32() && = delete;
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, PtrTraits> packed_accessor64() && = delete;

  // --- autograd state that needs no engine ---
  bool requires_grad() const {
    if (!defined()) return false;
    const TensorImpl& self = *impl_;
    if (self.has_own_autograd_key()) return true;
    const TensorImpl* tensor_or_base = self.is_view() ? self.base().get() : &self;
    // What an inference tensor says of itself decides no call, so it has no key.
    if (C10_LIKELY(!tensor_or_base->has_own_autograd_key() && !self.is_inference())) return false;
    const AutogradMetaInterface* meta = tensor_or_base->autograd_meta();
    return meta != nullptr && meta->requires_grad(self);
  }
  bool is_view() const { return defined() && impl_->is_view(); }
  bool is_inference() const { return impl().is_inference(); }
  // How often the data was changed in place.
  int64_t _version() const {
    TORCH_CHECK(!is_inference(), "Inference tensors do not track version counter.");
    return impl_->version();
  }

 protected:
  TensorImpl& impl() const {
    if (C10_UNLIKELY(!impl_)) {
      detail::throw_undefined(
          "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #0 'self'");
    }
    return *impl_;
  }
  void check_dtype(ScalarType expected) const {
    const ScalarType found = impl().dtype();
    if (C10_UNLIKELY(found != expected)) detail::throw_wrong_dtype(expected, found);
  }

  intrusive_ptr<TensorImpl> impl_;
};

}  // namespace at
