#include "aten/core/from_blob.h"

#include "aten/core/empty.h"
#include "aten/cpu/cast.h"
#include "c10/core/accelerator.h"

namespace at {
namespace {

struct Blob {
  void* data;
  std::function<void(void*)> deleter;
};

// A device without an index: the one that the memory is on.
Device device_of(void* data, Device device) {
  const AcceleratorHooksInterface* hooks = device.has_index() ? nullptr : at::detail::acceleratorHooks(device.type());
  return hooks != nullptr && data != nullptr ? hooks->getDeviceFromPtr(data) : device;
}

void delete_blob(void* context) {
  Blob* blob = static_cast<Blob*>(context);
  if (blob->deleter) blob->deleter(blob->data);
  delete blob;
}

}  // namespace

Tensor TensorMaker::make_tensor() {
  TORCH_CHECK(!deleter_ || context_ == nullptr, "from_blob: deleter and context cannot both be given");
  const int64_t numel = checked_numel(sizes_);
  const DimVector row_major = strides_.has_value() ? DimVector() : strides_of_format(sizes_, MemoryFormat::Contiguous);
  const IntArrayRef strides = strides_.has_value() ? *strides_ : IntArrayRef(row_major);
  TORCH_CHECK(sizes_.size() == strides.size(), "from_blob: mismatch in length of strides and shape: ", strides.size(),
              " strides for ", sizes_.size(), " sizes");
  TORCH_CHECK(data_ != nullptr || numel == 0, "from_blob: data is null for a tensor of sizes ", sizes_);
  for (int64_t stride : strides) TORCH_CHECK(stride >= 0, "from_blob: negative strides are not supported: ", strides);
  const int64_t offset = storage_offset_.value_or(0);
  TORCH_CHECK(offset >= 0, "from_blob: negative storage offset ", offset);
  TORCH_CHECK(!device_.has_value() || !options_.has_device() || device_->type() == options_.device().type(),
              "from_blob: target_device ", *device_, " is not the options' device ", options_.device());
  const ScalarType dtype = options_.scalar_type();
  cpu::prepare_type(dtype);
  const size_t nbytes =
      static_cast<size_t>(checked_storage_nbytes(sizes_, strides, offset, elementSize(dtype)));
  const Device device = device_of(data_, device_.value_or(options_.device()));
  DataPtr pointer = deleter_ ? DataPtr(data_, new Blob{data_, std::move(deleter_)}, &delete_blob, device)
                    : context_ != nullptr
                        ? DataPtr(data_, context_.get(), context_.get_deleter(), device)
                        : DataPtr(data_, device);
  context_.release();
  auto storage = make_intrusive<StorageImpl>(nbytes, std::move(pointer), allocator_, resizable_);
  return Tensor(TensorImpl::strided(std::move(storage), dtype, device, sizes_, strides, offset));
}

Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, int64_t storage_offset,
                 const std::function<void(void*)>& deleter, const TensorOptions& options,
                 std::optional<Device> target_device) {
  return for_blob(data, sizes)
      .strides(strides)
      .storage_offset(storage_offset)
      .deleter(deleter)
      .options(options)
      .target_device(target_device)
      .make_tensor();
}

Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const std::function<void(void*)>& deleter,
                 const TensorOptions& options, std::optional<Device> target_device) {
  return from_blob(data, sizes, strides, 0, deleter, options, target_device);
}

Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  return for_blob(data, sizes).strides(strides).options(options).make_tensor();
}

Tensor from_blob(void* data, IntArrayRef sizes, const std::function<void(void*)>& deleter,
                 const TensorOptions& options, std::optional<Device> target_device) {
  return for_blob(data, sizes).deleter(deleter).options(options).target_device(target_device).make_tensor();
}

Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options) {
  return for_blob(data, sizes).options(options).make_tensor();
}

}  // namespace at
