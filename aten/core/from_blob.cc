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

Tensor from_blob(
    void* data,
    IntArrayRef sizes,
    IntArrayRef strides,
    const std::function<void(void*)>& deleter,
    const TensorOptions& options) {
  TORCH_CHECK(
      sizes.size() == strides.size(),
      "from_blob: mismatch in length of strides and shape: ", strides.size(), " strides for ", sizes.size(), " sizes");
  const int64_t numel = checked_numel(sizes);
  TORCH_CHECK(data != nullptr || numel == 0, "from_blob: data is null for a tensor of sizes ", sizes);
  for (int64_t stride : strides) TORCH_CHECK(stride >= 0, "from_blob: negative strides are not supported: ", strides);
  const ScalarType dtype = options.scalar_type();
  cpu::prepare_type(dtype);
  const size_t nbytes = static_cast<size_t>(checked_storage_nbytes(sizes, strides, 0, elementSize(dtype)));
  const Device device = device_of(data, options.device());
  DataPtr pointer = deleter ? DataPtr(data, new Blob{data, deleter}, &delete_blob, device) : DataPtr(data, device);
  auto storage = make_intrusive<StorageImpl>(nbytes, std::move(pointer), nullptr, /*resizable=*/false);
  return Tensor(TensorImpl::strided(std::move(storage), dtype, device, sizes, strides, int64_t{0}));
}

Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  return from_blob(data, sizes, strides, nullptr, options);
}

Tensor from_blob(
    void* data, IntArrayRef sizes, const std::function<void(void*)>& deleter, const TensorOptions& options) {
  checked_numel(sizes);
  return from_blob(data, sizes, strides_of_format(sizes, MemoryFormat::Contiguous), deleter, options);
}

Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options) {
  return from_blob(data, sizes, nullptr, options);
}

}  // namespace at
