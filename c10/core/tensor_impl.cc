#include "c10/core/tensor_impl.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "c10/core/thread_state.h"
#include "c10/memory/small_object.h"
#include "c10/util/exception.h"
#include "c10/util/small_vector.h"

namespace c10 {
namespace {

// Row-major strides of `sizes`; a dimension of size 0 counts as 1, as documented for empty tensors.
inline void write_contiguous_strides(const int64_t* sizes, int64_t* strides, int64_t dim) {
  int64_t step = 1;
  for (int64_t d = dim - 1; d >= 0; --d) {
    strides[d] = step;
    step *= sizes[d] > 1 ? sizes[d] : 1;
  }
}

}  // namespace

DispatchKeySet backend_key_set(Device device) {
  switch (device.type()) {
    case DeviceType::CPU: return DispatchKey::CPU;
    case DeviceType::CUDA: return DispatchKey::CUDA;
    case DeviceType::Meta: return DispatchKey::Meta;
    case DeviceType::PrivateUse1: return DispatchKey::PrivateUse1;
    case DeviceType::XPU: return DispatchKey::XPU;
    case DeviceType::MPS: return DispatchKey::MPS;
    default: break;
  }
  C10_THROW_ERROR(NotImplementedError, str("Kindling has no backend for device type ", device.str(),
                                           "; it has cpu, cuda, meta, xpu, mps and privateuseone"));
}

void TensorImpl::check_inference_update() const {
  TORCH_CHECK(thread_state().inference,
              "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a "
              "normal tensor before doing inplace update.");
}

uint32_t VariableVersion::current_version() const {
  TORCH_CHECK(enabled(), "Inference tensors do not track version counter.");
  return tensor_.version();
}

// Makes room for `dims` sizes and strides; their values are the caller's to write. Every tensor's geometry comes through
// here: kernels rely on kMaxDims.
inline void TensorImpl::allocate_geometry(int64_t dims) {
  if (C10_LIKELY(dims <= kInlineDims && dim_ <= kInlineDims)) {
    dim_ = static_cast<int32_t>(dims);
    return;
  }
  TORCH_CHECK(dims <= kMaxDims, "cannot make a tensor of ", dims, " dims, max supported is ", kMaxDims);
  if (dims == dim_) return;
  int64_t* fresh =
      dims > kInlineDims ? static_cast<int64_t*>(small_alloc(sizeof(int64_t) * 2 * dims)) : nullptr;
  if (dim_ > kInlineDims) small_free(outline_, sizeof(int64_t) * 2 * dim_);
  if (fresh != nullptr) outline_ = fresh;
  dim_ = static_cast<int32_t>(dims);
}

inline void TensorImpl::update_numel_and_contiguity() {
  const int64_t* sizes = geometry();
  const int64_t* strides = sizes + dim_;
  int64_t numel = 1;
  bool contiguous = true;
  for (int64_t d = dim_ - 1; d >= 0; --d) {
    if (sizes[d] != 1) {
      contiguous &= strides[d] == numel;
      numel *= sizes[d];
    }
  }
  numel_ = numel;
  contiguous_ = contiguous || numel == 0;
}

TensorImpl::TensorImpl(intrusive_ptr<StorageImpl> storage, ScalarType dtype, Device device, IntArrayRef sizes)
    : storage_(std::move(storage)),
      key_set_((device.type() == DeviceType::CPU ? DispatchKeySet(DispatchKey::CPU) : backend_key_set(device)).raw()),
      dtype_(dtype),
      device_(device),
      inference_(thread_state().inference) {
  const int64_t dim = static_cast<int64_t>(sizes.size());
  allocate_geometry(dim);
  int64_t* const own = geometry();
  int64_t numel = 1;
  for (int64_t d = 0; d < dim; ++d) {
    own[d] = sizes[d];
    numel *= sizes[d];
  }
  write_contiguous_strides(own, own + dim, dim);
  numel_ = numel;
}

TensorImpl::TensorImpl(
    intrusive_ptr<StorageImpl> storage,
    ScalarType dtype,
    Device device,
    IntArrayRef sizes,
    IntArrayRef strides,
    int64_t storage_offset)
    : storage_(std::move(storage)),
      storage_offset_(storage_offset),
      key_set_((device.type() == DeviceType::CPU ? DispatchKeySet(DispatchKey::CPU) : backend_key_set(device)).raw()),
      dtype_(dtype),
      device_(device),
      inference_(thread_state().inference) {
  const int64_t dim = static_cast<int64_t>(sizes.size());
  allocate_geometry(dim);
  int64_t* own = geometry();
  for (int64_t d = 0; d < dim; ++d) {
    own[d] = sizes[d];
    own[dim + d] = strides[d];
  }
  update_numel_and_contiguity();
}

TensorImpl::TensorImpl(
    DispatchKeySet keys, ScalarType dtype, Device device, Layout layout, IntArrayRef sizes, IntArrayRef strides)
    : TensorImpl(intrusive_ptr<StorageImpl>(), dtype, device, sizes, strides, 0) {
  set_own_keys(keys);
  layout_ = layout;
  own_version_ = make_intrusive<VersionCounter>();
}

intrusive_ptr<TensorImpl> TensorImpl::contiguous(
    intrusive_ptr<StorageImpl> storage, ScalarType dtype, Device device, IntArrayRef sizes) {
  auto* impl = new TensorImpl(std::move(storage), dtype, device, sizes);
  detail::RefCount::init(impl);
  return intrusive_ptr<TensorImpl>::reclaim(impl);
}

intrusive_ptr<TensorImpl> TensorImpl::strided(
    intrusive_ptr<StorageImpl> storage,
    ScalarType dtype,
    Device device,
    IntArrayRef sizes,
    IntArrayRef strides,
    int64_t storage_offset) {
  auto* impl = new TensorImpl(std::move(storage), dtype, device, sizes, strides, storage_offset);
  detail::RefCount::init(impl);
  return intrusive_ptr<TensorImpl>::reclaim(impl);
}

TensorImpl::~TensorImpl() {
  delete autograd_meta_.load<MemoryOrder::relaxed>();
  if (dim_ > kInlineDims) small_free(outline_, sizeof(int64_t) * 2 * dim_);
}

void TensorImpl::throw_no_storage() const {
  TORCH_CHECK(false, "Cannot access data pointer of Tensor that doesn't have storage (a ", kind(), ")");
  __builtin_unreachable();
}

void TensorImpl::release_resources() {
  set_autograd_meta(nullptr);
  storage_.reset();
  base_.reset();
}

void TensorImpl::set_autograd_meta(AutogradMetaInterface* meta) {
  AutogradMetaInterface* const before = autograd_meta_.load();
  autograd_meta_.store(meta);
  delete before;
}

namespace {
// Whether the elements lie without gaps, the dimensions from the innermost on; those of size 1 do not matter.
bool is_dense_in_order(const TensorImpl& t, std::initializer_list<size_t> order) {
  int64_t expected = 1;
  for (size_t d : order) {
    if (t.sizes()[d] == 1) continue;
    if (t.strides()[d] != expected) return false;
    expected *= t.sizes()[d];
  }
  return true;
}
}  // namespace

bool TensorImpl::is_contiguous(MemoryFormat format) const {
  switch (format) {
    case MemoryFormat::ChannelsLast: return dim_ == 4 && is_dense_in_order(*this, {1, 3, 2, 0});
    case MemoryFormat::ChannelsLast3d: return dim_ == 5 && is_dense_in_order(*this, {1, 4, 3, 2, 0});
    default: return contiguous_;
  }
}

bool TensorImpl::is_non_overlapping_and_dense() const {
  if (contiguous_) return true;
  const int64_t* sizes = geometry();
  const int64_t* strides = sizes + dim_;
  SmallVector<int64_t, kInlineDims> order;
  for (int64_t d = 0; d < dim_; ++d) {
    if (sizes[d] != 1) order.push_back(d);
  }
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return strides[a] < strides[b]; });
  int64_t expected = 1;
  for (int64_t d : order) {
    if (strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

intrusive_ptr<TensorImpl> TensorImpl::shallow_copy() const {
  auto copy = strided(storage_, dtype_, device_, sizes(), strides(), storage_offset_);
  copy->copy_metadata_from(*this);
  return copy;
}

void TensorImpl::shallow_copy_from(const TensorImpl& other) {
  TORCH_CHECK(std::string_view(kind()) == other.kind(), "a ", kind(), " cannot take over the data of a ", other.kind());
  storage_ = other.storage_;
  storage_offset_ = other.storage_offset_;
  dtype_ = other.dtype_;
  device_ = other.device_;
  constexpr DispatchKeySet kKind = kBackendKeys | DispatchKeySet(DispatchKey::Wrapper);
  set_own_keys((own_keys() & kDerivativeKeys) | (other.own_keys() & kKind));
  set_sizes_and_strides(other.sizes(), other.strides());
}

void TensorImpl::set_sizes_and_strides(IntArrayRef sizes, IntArrayRef strides) {
  // The arguments may be this tensor's own.
  SmallVector<int64_t, kInlineDims> new_sizes(sizes.begin(), sizes.end());
  SmallVector<int64_t, kInlineDims> new_strides(strides.begin(), strides.end());
  const int64_t dim = static_cast<int64_t>(new_sizes.size());
  allocate_geometry(dim);
  int64_t* own = geometry();
  std::copy(new_sizes.begin(), new_sizes.end(), own);
  std::copy(new_strides.begin(), new_strides.end(), own + dim);
  update_numel_and_contiguity();
}

void TensorImpl::set_irregular_sizes(IntArrayRef sizes, int64_t numel, bool contiguous) {
  const SmallVector<int64_t, kInlineDims> strides(sizes.size(), 0);
  set_sizes_and_strides(sizes, strides);
  numel_ = numel;
  contiguous_ = contiguous;
}

void TensorImpl::set_sizes_contiguous(IntArrayRef sizes) {
  SmallVector<int64_t, kInlineDims> new_sizes(sizes.begin(), sizes.end());
  const int64_t dim = static_cast<int64_t>(new_sizes.size());
  allocate_geometry(dim);
  int64_t* own = geometry();
  std::copy(new_sizes.begin(), new_sizes.end(), own);
  write_contiguous_strides(own, own + dim, dim);
  update_numel_and_contiguity();
}

int64_t checked_numel(IntArrayRef sizes) {
  // A size of 0 counts as 1 here: strides are products of the others, and must not overflow either.
  int64_t product = 1;
  bool overflow = false;
  bool empty = false;
  for (int64_t size : sizes) {
    TORCH_CHECK(size >= 0, "Trying to create tensor with negative dimension ", size, ": ", sizes);
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(product, size == 0 ? 1 : size, &product);
  }
  TORCH_CHECK(!overflow, "numel: integer multiplication overflow for sizes ", sizes);
  return empty ? 0 : product;
}

int64_t checked_storage_nbytes(IntArrayRef sizes, IntArrayRef strides, int64_t storage_offset, size_t itemsize) {
  int64_t last = storage_offset;
  bool overflow = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    int64_t extent;
    overflow |= __builtin_mul_overflow(sizes[d] - 1, strides[d], &extent);
    overflow |= __builtin_add_overflow(last, extent, &last);
  }
  int64_t nbytes;
  overflow |= __builtin_add_overflow(last, int64_t{1}, &last);
  overflow |= __builtin_mul_overflow(last, static_cast<int64_t>(itemsize), &nbytes);
  TORCH_CHECK(!overflow, "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
  return nbytes;
}

}  // namespace c10
