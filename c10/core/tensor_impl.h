#pragma once

#include <cstddef>
#include <cstdint>

#include "c10/core/device.h"
#include "c10/core/dispatch_key_set.h"
#include "c10/core/layout.h"
#include "c10/core/memory_format.h"
#include "c10/core/scalar_type.h"
#include "c10/core/storage.h"
#include "c10/core/thread_state.h"
#include "c10/memory/small_object.h"
#include "c10/util/array_ref.h"
#include "c10/util/atomic.h"
#include "c10/util/intrusive_ptr.h"

namespace at {
class Tensor;
}

namespace c10 {

class TensorImpl;
class VariableVersion;

// What autograd hangs on a tensor. c10 knows nothing of it but how to delete it and how to ask the few questions that
// Tensor's methods have.
class AutogradMetaInterface {
 public:
  virtual ~AutogradMetaInterface() = default;
  virtual bool requires_grad(const TensorImpl& self) const = 0;
  virtual void set_requires_grad(bool requires_grad, TensorImpl& self) = 0;
  virtual at::Tensor& mutable_grad() = 0;
  virtual const at::Tensor& grad() const = 0;
  // Takes the tensor out of every graph: no gradient, no tangent.
  virtual void detach(TensorImpl& self) = 0;
};

// How a view came to be; decides whether it may be written to where gradients are recorded.
enum class CreationMeta : uint8_t {
  kDefault,           // a view of one output
  kMultiOutput,       // split, chunk, unbind: no writing in place
  kNoGrad,            // made where gradients were off
  kInference,         // of a normal tensor, made in inference mode
  kCustomFunction,    // returned by a user's Function
  kNotImplemented,    // by an operator without a derivative
};

// Sizes and strides, storage and offset, dtype and device of one tensor, plus the little that autograd needs on the way:
// the key set, the base of a view, and a pointer to its own data. Up to five dimensions lie inline.
class TensorImpl : public intrusive_ptr_target {
 public:
  static constexpr int64_t kInlineDims = 5;
  // No tensor has more dimensions.
  static constexpr int64_t kMaxDims = 64;

  // A contiguous tensor of `sizes` over `storage` from its first element on.
  TensorImpl(intrusive_ptr<StorageImpl> storage, ScalarType dtype, Device device, IntArrayRef sizes);
  // Any geometry. `strides` are in elements, `storage_offset` too. Nothing is checked against the storage's size.
  TensorImpl(
      intrusive_ptr<StorageImpl> storage,
      ScalarType dtype,
      Device device,
      IntArrayRef sizes,
      IntArrayRef strides,
      int64_t storage_offset);
  ~TensorImpl() override;

  static void* operator new(size_t bytes) { return small_alloc(bytes); }
  static void* operator new(size_t, void* place) { return place; }
  static void operator delete(void* p, size_t bytes) noexcept { small_free(p, bytes); }

  // New tensors, made in one piece: the same as make_intrusive<TensorImpl>(...) of the two constructors.
  static intrusive_ptr<TensorImpl> contiguous(
      intrusive_ptr<StorageImpl> storage, ScalarType dtype, Device device, IntArrayRef sizes);
  static intrusive_ptr<TensorImpl> strided(
      intrusive_ptr<StorageImpl> storage,
      ScalarType dtype,
      Device device,
      IntArrayRef sizes,
      IntArrayRef strides,
      int64_t storage_offset);

  int64_t dim() const { return dim_; }
  int64_t numel() const { return numel_; }
  IntArrayRef sizes() const { return IntArrayRef(geometry(), static_cast<size_t>(dim_)); }
  IntArrayRef strides() const { return IntArrayRef(geometry() + dim_, static_cast<size_t>(dim_)); }
  // No wrapping and no check: 0 <= d < dim().
  int64_t size(int64_t d) const { return geometry()[d]; }
  int64_t stride(int64_t d) const { return geometry()[dim_ + d]; }
  int64_t storage_offset() const { return storage_offset_; }
  ScalarType dtype() const { return dtype_; }
  Device device() const { return device_; }
  Layout layout() const { return layout_; }
  size_t itemsize() const { return elementSize(dtype_); }

  // The first element; null where there are none, and on the meta device. Throws for a tensor without a storage.
  C10_ALWAYS_INLINE void* data() const {
    if (C10_UNLIKELY(!storage_)) throw_no_storage();
    char* start = static_cast<char*>(storage_->data());
    if (C10_LIKELY(storage_offset_ == 0) || start == nullptr) return start;
    return start + storage_offset_ * static_cast<int64_t>(itemsize());
  }
  const intrusive_ptr<StorageImpl>& storage() const { return storage_; }
  bool has_storage() const { return storage_.defined(); }

  // Row-major without gaps (size-1 dimensions are ignored, tensors without elements always are).
  bool is_contiguous() const { return contiguous_; }
  bool is_contiguous(MemoryFormat format) const;
  // Some order of the dimensions makes it contiguous.
  bool is_non_overlapping_and_dense() const;

  // The backend; Autograd where the tensor takes part in a recorded computation; ForwardAD where it has a tangent. A view
  // takes part where its base does.
  DispatchKeySet key_set() const { return base_ ? own_keys() | (base_->own_keys() & kDerivativeKeys) : own_keys(); }
  // Autograd's mark: a leaf that requires a gradient, or a result of a recorded operation.
  void set_autograd_key(bool on) {
    set_own_keys(on ? own_keys() | kAutogradKey : own_keys() - kAutogradKey);
  }
  bool has_own_autograd_key() const { return own_keys().has(DispatchKey::Autograd); }
  // Forward mode's mark: a tensor that has a tangent.
  void set_forward_key(bool on) {
    set_own_keys(on ? own_keys() | kForwardKey : own_keys() - kForwardKey);
  }

  AutogradMetaInterface* autograd_meta() const { return autograd_meta_.load(); }
  // Takes ownership.
  void set_autograd_meta(AutogradMetaInterface* meta);

  // The tensor whose storage this is a tracked view of (never itself a view); null for others.
  const intrusive_ptr<TensorImpl>& base() const { return base_; }
  bool is_view() const { return base_.defined(); }
  CreationMeta creation_meta() const { return creation_meta_; }
  void set_creation_meta(CreationMeta meta) { creation_meta_ = meta; }
  void set_base(intrusive_ptr<TensorImpl> base, CreationMeta meta) {
    base_ = static_cast<intrusive_ptr<TensorImpl>&&>(base);
    creation_meta_ = meta;
    view_version_.store<MemoryOrder::relaxed>(version());
  }
  // The version for which the view's gradient function was last made, at first when the view itself was. Several threads that
  // read grad_fn() may remake it at once; the store releases and the load acquires, so that the function is complete for a thread
  // that finds its version here.
  uint32_t view_version() const { return view_version_.load(); }
  void set_view_version(uint32_t version) { view_version_.store(version); }

  uint32_t version() const {
    return own_version_ ? own_version_->current() : storage_ ? storage_->version() : 0;
  }
  // Throws for an inference tensor outside inference mode.
  void bump_version() {
    if (C10_UNLIKELY(inference_)) {
      check_inference_update();
    } else if (own_version_) {
      own_version_->bump();
    } else if (storage_) {
      storage_->bump_version();
    }
  }
  void set_version_counter(intrusive_ptr<VersionCounter> counter) {
    own_version_ = static_cast<intrusive_ptr<VersionCounter>&&>(counter);
  }
  const intrusive_ptr<VersionCounter>& own_version() const { return own_version_; }
  // libtorch's form of the same (c10::VariableVersion at the end of this file).
  VariableVersion version_counter();
  // For a result that nobody has seen: filling it was no change.
  void start_versions() {
    if (storage_) storage_->set_version(0);
  }

  // A recorded operation kept this tensor, or a view of it, for the backward pass.
  bool kept_for_backward() const { return kept_for_backward_.load<MemoryOrder::relaxed>(); }
  void set_kept_for_backward(bool kept) {
    if (kept_for_backward() != kept) kept_for_backward_.store<MemoryOrder::relaxed>(kept);
  }

  // Made in inference mode (a view: of such a tensor): neither versions nor views are tracked.
  bool is_inference() const { return inference_; }
  void set_inference(bool inference) { inference_ = inference; }
  // A C++ number that became a 0-dim tensor: it yields in type promotion.
  bool is_wrapped_number() const { return wrapped_number_; }
  void set_wrapped_number(bool wrapped) { wrapped_number_ = wrapped; }

  // A second handle to the same data with the same geometry: no autograd state, not a view. A class with data of its own
  // copies itself, so that nothing of it is lost where autograd keeps, detaches or hands on a tensor.
  virtual intrusive_ptr<TensorImpl> shallow_copy() const;
  // Takes over the data, geometry and dtype of `other`; autograd state stays. Throws where the two are of different kinds.
  virtual void shallow_copy_from(const TensorImpl& other);
  // What this class of tensors is called in errors.
  virtual const char* kind() const { return "Tensor"; }

  // Changes the geometry over the same storage.
  void set_sizes_and_strides(IntArrayRef sizes, IntArrayRef strides);
  void set_sizes_contiguous(IntArrayRef sizes);
  void set_storage_offset(int64_t offset) { storage_offset_ = offset; }
  void set_storage(intrusive_ptr<StorageImpl> storage) {
    storage_ = static_cast<intrusive_ptr<StorageImpl>&&>(storage);
  }
  void set_dtype(ScalarType dtype) { dtype_ = dtype; }

 protected:
  // For kinds of tensors of their own: any keys and layout, no storage. Keys beyond the device's backend are those that handle
  // the calls; versions are counted in the tensor itself.
  TensorImpl(DispatchKeySet keys, ScalarType dtype, Device device, Layout layout, IntArrayRef sizes, IntArrayRef strides);
  // What shallow_copy() of a derived class hands on: wrapped number, versions.
  void copy_metadata_from(const TensorImpl& other) {
    wrapped_number_ = other.wrapped_number_;
    own_version_ = other.own_version_;
  }
  void release_resources() override;
  // Of a tensor whose parts differ in size: those dimensions have size -1. `numel` counts the elements of all parts; strides
  // are 0.
  void set_irregular_sizes(IntArrayRef sizes, int64_t numel, bool contiguous);

 private:
  int64_t* geometry() { return dim_ <= kInlineDims ? inline_ : outline_; }
  const int64_t* geometry() const { return dim_ <= kInlineDims ? inline_ : outline_; }
  [[noreturn]] C10_COLD void throw_no_storage() const;
  C10_COLD void check_inference_update() const;
  void allocate_geometry(int64_t dims);
  void update_numel_and_contiguity();
  DispatchKeySet own_keys() const { return DispatchKeySet::from_raw(key_set_.load<MemoryOrder::relaxed>()); }
  void set_own_keys(DispatchKeySet keys) { key_set_.store<MemoryOrder::relaxed>(keys.raw()); }

  intrusive_ptr<StorageImpl> storage_;
  int64_t storage_offset_ = 0;
  int64_t numel_ = 1;
  Atomic<AutogradMetaInterface*> autograd_meta_{nullptr};
  intrusive_ptr<TensorImpl> base_;
  intrusive_ptr<VersionCounter> own_version_;
  Atomic<uint32_t> key_set_;
  int32_t dim_ = 0;
  Atomic<uint32_t> view_version_;
  ScalarType dtype_;
  Device device_;
  Layout layout_ = Layout::Strided;
  CreationMeta creation_meta_ = CreationMeta::kDefault;
  bool contiguous_ = true;
  Atomic<bool> kept_for_backward_;
  bool inference_;
  bool wrapped_number_ = false;
  union {
    int64_t inline_[2 * kInlineDims];
    int64_t* outline_;
  };
};

// How often a tensor was changed in place, as libtorch's programs ask for it.
class VariableVersion {
 public:
  explicit VariableVersion(TensorImpl& tensor) : tensor_(tensor) {}
  bool enabled() const { return !tensor_.is_inference(); }
  // Throws for an inference tensor, which counts nothing.
  uint32_t current_version() const;
  void bump() { tensor_.bump_version(); }

 private:
  TensorImpl& tensor_;
};
inline VariableVersion TensorImpl::version_counter() { return VariableVersion(*this); }

// The product of `sizes`. Throws Error where a size is negative ("Trying to create tensor with negative dimension ..") or the
// product overflows.
int64_t checked_numel(IntArrayRef sizes);
// Bytes that a tensor of this geometry reaches from its storage's start; 0 without elements. Throws on overflow.
int64_t checked_storage_nbytes(IntArrayRef sizes, IntArrayRef strides, int64_t storage_offset, size_t itemsize);
// The backend key of a device. Throws NotImplementedError for devices this library has no backend for.
DispatchKeySet backend_key_set(Device device);

}  // namespace c10
