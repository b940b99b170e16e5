#include "autograd/engine/input_metadata.h"

#include <utility>

#include "autograd/engine/grad_ops.h"
#include "c10/core/device_guard_impl.h"
#include "c10/memory/small_object.h"

namespace torch::autograd {

InputMetadata::InputMetadata(const at::Tensor& result)
    : dim_(static_cast<int16_t>(result.dim())), dtype_(result.scalar_type()), device_(result.device()), defined_(true) {
  set_sizes(result.sizes());
  if (C10_UNLIKELY(!device_.is_cpu())) note_stream();
}

InputMetadata::InputMetadata(const at::TensorOptions& options, at::IntArrayRef shape)
    : dim_(static_cast<int16_t>(shape.size())),
      dtype_(c10::typeMetaToScalarType(options.dtype())),
      device_(options.device()),
      defined_(true) {
  set_sizes(shape);
  if (C10_UNLIKELY(!device_.is_cpu())) note_stream();
}

InputMetadata::InputMetadata(const InputMetadata& other)
    : dim_(other.dim_),
      dtype_(other.dtype_),
      device_(other.device_),
      defined_(other.defined_),
      has_stream_(other.has_stream_),
      stream_id_(other.stream_id_) {
  set_sizes(other.shape());
}

InputMetadata::InputMetadata(InputMetadata&& other) noexcept
    : dim_(other.dim_),
      dtype_(other.dtype_),
      device_(other.device_),
      defined_(other.defined_),
      has_stream_(other.has_stream_),
      stream_id_(other.stream_id_) {
  if (dim_ > kInlineDims) {
    outline_ = other.outline_;
    other.dim_ = 0;
    other.defined_ = false;
    other.has_stream_ = false;
  } else {
    for (int16_t d = 0; d < dim_; ++d) inline_[d] = other.inline_[d];
  }
}

InputMetadata& InputMetadata::operator=(InputMetadata other) noexcept {
  if (this != &other) {
    this->~InputMetadata();
    ::new (this) InputMetadata(std::move(other));
  }
  return *this;
}

void InputMetadata::note_stream() {
  if (device_.is_meta() || !c10::impl::hasDeviceGuardImpl(device_.type())) return;
  const c10::impl::DeviceGuardImplInterface* const impl = c10::impl::getDeviceGuardImpl(device_.type());
  if (!device_.has_index()) device_ = impl->getDevice();
  stream_id_ = impl->getStream(device_).id();
  has_stream_ = true;
}

void InputMetadata::set_sizes(at::IntArrayRef sizes) {
  int64_t* to = inline_;
  if (dim_ > kInlineDims) to = outline_ = static_cast<int64_t*>(c10::small_alloc(sizeof(int64_t) * dim_));
  for (int16_t d = 0; d < dim_; ++d) to[d] = sizes[d];
}

void InputMetadata::free_sizes() noexcept {
  c10::small_free(outline_, sizeof(int64_t) * dim_);
}

bool InputMetadata::has_shape_of(const at::Tensor& t) const {
  const c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
  if (impl.dim() != dim_) return false;
  const int64_t* sizes = data();
  for (int16_t d = 0; d < dim_; ++d) {
    if (impl.size(d) != sizes[d]) return false;
  }
  return true;
}

at::Tensor InputMetadata::zeros() const {
  return grad_ops::zeros(shape(), scalar_type(), device());
}

}  // namespace torch::autograd
