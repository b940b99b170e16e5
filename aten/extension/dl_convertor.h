// Tensors of other libraries, and for them, without a copy (aten/extension/dlpack.h).
//
//   DLManagedTensor* out = at::toDLPack(x);        // out->deleter(out) lets go of x
//   at::Tensor y = at::fromDLPack(in);             // `in` is let go of with y
#pragma once

#include <functional>

#include "aten/core/tensor.h"
#include "aten/extension/dlpack.h"

namespace at {

/// The element and device types in DLPack's terms and back. Throw BufferError for what the other side has no name for:
/// "Bits types are not supported by dlpack", "Unsupported kFloat bits 80", "Unsupported device_type: 7".
DLDataType getDLDataType(const Tensor& t);
DLDevice torchDeviceToDLDevice(Device device);
ScalarType toScalarType(const DLDataType& dtype);
Device dlDeviceToTorchDevice(DLDeviceType type, DeviceIndex index, void* data = nullptr);

/// A description of `src`, whose memory lives until its deleter is called. Throws BufferError for a tensor that is not
/// strided.
DLManagedTensor* toDLPack(const Tensor& src);
DLManagedTensorVersioned* toDLPackVersioned(const Tensor& src);
/// Fills a description that does not own: it holds as long as `src` and its sizes do.
void toDLPackNonOwning(const Tensor& src, DLTensor* out);

/// A tensor over that memory. Owns `src` from then on: its deleter is called with the last tensor over the memory; or
/// `deleter` is, with src's data, and src is the caller's. Throws BufferError for types and devices that do not exist
/// here, c10::Error for a negative size or stride; then `src` stays the caller's.
Tensor fromDLPack(DLManagedTensor* src);
Tensor fromDLPack(DLManagedTensor* src, std::function<void(void*)> deleter);
/// Throws too where the major version is another.
Tensor fromDLPackVersioned(DLManagedTensorVersioned* src);
Tensor fromDLPackVersioned(DLManagedTensorVersioned* src, std::function<void(void*)> deleter);

}  // namespace at
