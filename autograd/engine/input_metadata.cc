#include "autograd/engine/input_metadata.h"

#include <utility>

#include "autograd/engine/grad_ops.h"
#include "c10/core/device_guard_impl.h"
#include "c10/memory/small_object.h"

namespace torch::autograd {

void InputMetadata::set(const at::Tensor& result) {
  const c10::TensorImpl& impl = *result.unsafeGetTensorImpl();
  if (C10_UNLIKELY(is_outline())) *this = InputMetadata();
  dtype_ = impl.dtype();
  device_ = impl.device();
  defined_ = true;
  dim_ = 0;
  has_stream_ = false;
  const c10::StreamId stream = C10_LIKELY(device_.is_cpu()) ? 0 : find_stream();
  dim_ = static_cast<int16_t>(impl.dim());
  set_numbers(impl.sizes().data(), stream);
}

InputMetadata::InputMetadata(const at::TensorOptions& options, at::IntArrayRef shape)
    : dim_(static_cast<int16_t>(shape.size())),
      dtype_(c10::typeMetaToScalarType(options.dtype())),
      device_(options.device()),
      defined_(true) {
  set_numbers(shape.data(), C10_LIKELY(device_.is_cpu()) ? 0 : find_stream());
}

InputMetadata::InputMetadata(const InputMetadata& other)
    : dim_(other.dim_),
      dtype_(other.dtype_),
      device_(other.device_),
      defined_(other.defined_),
      has_stream_(other.has_stream_) {
  set_numbers(other.data(), has_stream_ ? other.data()[dim_] : 0);
}

InputMetadata::InputMetadata(InputMetadata&& other) noexcept
    : dim_(other.dim_),
      dtype_(other.dtype_),
      device_(other.device_),
      defined_(other.defined_),
      has_stream_(other.has_stream_) {
  if (is_outline()) {
    outline_ = other.outline_;
    other.dim_ = 0;
    other.defined_ = false;
    other.has_stream_ = false;
  } else {
    for (int i = 0; i < count(); ++i) inline_[i] = other.inline_[i];
  }
}

InputMetadata& InputMetadata::operator=(InputMetadata other) noexcept {
  if (this != &other) {
    this->~InputMetadata();
    ::new (this) InputMetadata(std::move(other));
  }
  return *this;
}

c10::StreamId InputMetadata::find_stream() {
  if (device_.is_meta() || !c10::impl::hasDeviceGuardImpl(device_.type())) return 0;
  const c10::impl::DeviceGuardImplInterface* const impl = c10::impl::getDeviceGuardImpl(device_.type());
  if (!device_.has_index()) device_ = impl->getDevice();
  has_stream_ = true;
  return impl->getStream(device_).id();
}

void InputMetadata::set_numbers(const int64_t* sizes, c10::StreamId stream) {
  int64_t* to = inline_;
  if (is_outline()) to = outline_ = static_cast<int64_t*>(c10::small_alloc(sizeof(int64_t) * count()));
  for (int d = 0; d < dim_; ++d) to[d] = sizes[d];
  if (C10_UNLIKELY(has_stream_)) to[dim_] = stream;
}

void InputMetadata::free_outline() noexcept {
  c10::small_free(outline_, sizeof(int64_t) * count());
}

bool InputMetadata::has_shape_of(const at::Tensor& t) const {
  const c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
  if (impl.dim() != dim_) return false;
  const int64_t* sizes = data();
  for (int d = 0; d < dim_; ++d) {
    if (impl.size(d) != sizes[d]) return false;
  }
  return true;
}

at::Tensor InputMetadata::zeros() const {
  return grad_ops::zeros(shape(), scalar_type(), device());
}

}  // namespace torch::autograd
