#include "aten/extension/dl_convertor.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "aten/core/from_blob.h"
#include "c10/core/tensor_options.h"
#include "c10/util/exception.h"

namespace at {
namespace {

struct TypePair {
  ScalarType torch;
  uint8_t code;
  uint8_t bits;
};
constexpr TypePair kTypes[] = {
    {kByte, kDLUInt, 8},
    {kChar, kDLInt, 8},
    {kShort, kDLInt, 16},
    {kInt, kDLInt, 32},
    {kLong, kDLInt, 64},
    {kHalf, kDLFloat, 16},
    {kFloat, kDLFloat, 32},
    {kDouble, kDLFloat, 64},
    {kComplexHalf, kDLComplex, 32},
    {kComplexFloat, kDLComplex, 64},
    {kComplexDouble, kDLComplex, 128},
    {kBool, kDLBool, 8},
    {kBFloat16, kDLBfloat, 16},
    {kUInt16, kDLUInt, 16},
    {kUInt32, kDLUInt, 32},
    {kUInt64, kDLUInt, 64},
    {kFloat8_e5m2, kDLFloat8_e5m2, 8},
    {kFloat8_e5m2fnuz, kDLFloat8_e5m2fnuz, 8},
    {kFloat8_e4m3fn, kDLFloat8_e4m3fn, 8},
    {kFloat8_e4m3fnuz, kDLFloat8_e4m3fnuz, 8},
    {kFloat8_e8m0fnu, kDLFloat8_e8m0fnu, 8},
};

struct DevicePair {
  DeviceType torch;
  DLDeviceType dl;
};
constexpr DevicePair kDevices[] = {
    {DeviceType::CPU, kDLCPU},
    {DeviceType::CUDA, kDLCUDA},
    {DeviceType::HIP, kDLROCM},
    {DeviceType::XPU, kDLOneAPI},
    {DeviceType::MAIA, kDLMAIA},
    {DeviceType::MPS, kDLMetal},
    {DeviceType::PrivateUse1, kDLExtDev},
};

// A tensor on its way out: the handle keeps the memory, the vectors the geometry.
template <class Managed>
struct Exported {
  Tensor handle;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  Managed managed;
};

void fill(const Tensor& src, int64_t* sizes, int64_t* strides, DLTensor& out) {
  out.data = src.data_ptr();
  out.device = torchDeviceToDLDevice(src.device());
  out.ndim = static_cast<int32_t>(src.dim());
  out.dtype = getDLDataType(src);
  out.shape = sizes;
  out.strides = strides;
  out.byte_offset = 0;
}

template <class Managed>
Managed* export_tensor(const Tensor& src) {
  TORCH_CHECK_BUFFER(src.layout() == kStrided && !src.is_nested(), "toDLPack: expected a strided tensor, but got ",
                     src.is_nested() ? "a nested one, of layout " : "one of layout ", src.layout());
  auto out = std::make_unique<Exported<Managed>>();
  out->handle = src;
  out->sizes = src.sizes().vec();
  out->strides = src.strides().vec();
  // Where there is at most one element nobody may rely on strides; 1 is what consumers expect.
  for (size_t d = 0; d < out->sizes.size(); ++d) {
    if (out->sizes[d] < 2) out->strides[d] = 1;
  }
  fill(src, out->sizes.data(), out->strides.data(), out->managed.dl_tensor);
  out->managed.manager_ctx = out.get();
  out->managed.deleter = [](Managed* self) { delete static_cast<Exported<Managed>*>(self->manager_ctx); };
  if constexpr (requires { out->managed.version; }) {
    out->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    out->managed.flags = 0;
  }
  return &out.release()->managed;
}

Tensor import_tensor(const DLTensor& src, std::function<void(void*)> deleter) {
  TORCH_CHECK(src.ndim >= 0 && src.ndim <= c10::TensorImpl::kMaxDims, "fromDLPack: ", src.ndim, " dimensions");
  TORCH_CHECK(src.ndim == 0 || src.shape != nullptr, "fromDLPack: no shape for ", src.ndim, " dimensions");
  const ScalarType dtype = toScalarType(src.dtype);
  const Device device =
      dlDeviceToTorchDevice(src.device.device_type, static_cast<DeviceIndex>(src.device.device_id), src.data);
  char* data = static_cast<char*>(src.data);
  if (data != nullptr) data += src.byte_offset;
  const IntArrayRef sizes(src.shape, static_cast<size_t>(src.ndim));
  const TensorOptions options = TensorOptions().dtype(dtype).device(device);
  if (src.strides == nullptr) return at::from_blob(data, sizes, deleter, options);
  return at::from_blob(data, sizes, IntArrayRef(src.strides, static_cast<size_t>(src.ndim)), deleter, options);
}

template <class Managed>
Tensor import_owned(Managed* src) {
  TORCH_CHECK(src != nullptr, "fromDLPack: the tensor is null");
  // Null data has nobody to be deleted with: from_blob keeps the deleter anyhow, with the storage.
  return import_tensor(src->dl_tensor, [src](void*) {
    if (src->deleter != nullptr) src->deleter(src);
  });
}

void check_version(const DLManagedTensorVersioned* src) {
  TORCH_CHECK(src != nullptr, "fromDLPack: the tensor is null");
  TORCH_CHECK_BUFFER(src->version.major == DLPACK_MAJOR_VERSION, "fromDLPack: DLPack version ", src->version.major, ".",
                     src->version.minor, " is not supported, only ", DLPACK_MAJOR_VERSION, ".x is");
}

const char* code_name(uint8_t code) {
  constexpr const char* kNames[] = {"kInt", "kUInt", "kFloat", "kOpaqueHandle", "kBfloat", "kComplex", "kBool"};
  return code < 7 ? kNames[code] : "type";
}

}  // namespace

DLDataType getDLDataType(const Tensor& t) {
  const ScalarType type = t.scalar_type();
  for (const TypePair& pair : kTypes) {
    if (pair.torch == type) return {pair.code, pair.bits, 1};
  }
  TORCH_CHECK_BUFFER(!c10::isQIntType(type), "QUInt/QInt types are not supported by dlpack");
  TORCH_CHECK_BUFFER(!c10::isBitsType(type), "Bits types are not supported by dlpack");
  C10_THROW_ERROR(BufferError, c10::str(type, " types are not supported by dlpack"));
}

DLDevice torchDeviceToDLDevice(Device device) {
  for (const DevicePair& pair : kDevices) {
    if (pair.torch == device.type()) return {pair.dl, device.index() < 0 ? 0 : device.index()};
  }
  C10_THROW_ERROR(BufferError, c10::str("Cannot pack tensors on ", device.str()));
}

ScalarType toScalarType(const DLDataType& dtype) {
  TORCH_CHECK_BUFFER(dtype.lanes == 1, "ATen does not support lanes != 1");
  for (const TypePair& pair : kTypes) {
    if (pair.code == dtype.code && pair.bits == dtype.bits) return pair.torch;
  }
  TORCH_CHECK_BUFFER(dtype.code <= kDLBool && dtype.code != kDLOpaqueHandle, "Unsupported code ", int{dtype.code});
  C10_THROW_ERROR(BufferError, c10::str("Unsupported ", code_name(dtype.code), " bits ", int{dtype.bits}));
}

Device dlDeviceToTorchDevice(DLDeviceType type, DeviceIndex index, void*) {
  if (type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost) return Device(DeviceType::CPU);
  for (const DevicePair& pair : kDevices) {
    if (pair.dl == type) return Device(pair.torch, index);
  }
  C10_THROW_ERROR(BufferError, c10::str("Unsupported device_type: ", static_cast<int>(type)));
}

DLManagedTensor* toDLPack(const Tensor& src) { return export_tensor<DLManagedTensor>(src); }
DLManagedTensorVersioned* toDLPackVersioned(const Tensor& src) { return export_tensor<DLManagedTensorVersioned>(src); }

void toDLPackNonOwning(const Tensor& src, DLTensor* out) {
  // DLPack does not promise to write through these.
  fill(src, const_cast<int64_t*>(src.sizes().data()), const_cast<int64_t*>(src.strides().data()), *out);
}

Tensor fromDLPack(DLManagedTensor* src) { return import_owned(src); }

Tensor fromDLPack(DLManagedTensor* src, std::function<void(void*)> deleter) {
  TORCH_CHECK(src != nullptr, "fromDLPack: the tensor is null");
  return import_tensor(src->dl_tensor, std::move(deleter));
}

Tensor fromDLPackVersioned(DLManagedTensorVersioned* src) {
  check_version(src);
  return import_owned(src);
}

Tensor fromDLPackVersioned(DLManagedTensorVersioned* src, std::function<void(void*)> deleter) {
  check_version(src);
  return import_tensor(src->dl_tensor, std::move(deleter));
}

}  // namespace at
