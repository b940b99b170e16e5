#pragma once

#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"

namespace at {

// Uninitialised contiguous tensors for kernels and structured operators; programs call at::empty. Sizes are checked ("Trying
// to create tensor with negative dimension ..", overflow), memory comes from the device's allocator; a device without an index is the current one.
Tensor empty_contiguous(IntArrayRef sizes, ScalarType dtype, Device device = Device(DeviceType::CPU));
// Any strides; the storage reaches exactly as far as they do.
Tensor empty_with_strides(
    IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, Device device = Device(DeviceType::CPU));
// The same in memory that the program's accelerator reads by itself. Throws Error for a device other than the CPU and where no
// accelerator pins memory.
Tensor empty_pinned(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, Device device = Device(DeviceType::CPU));
// Throws NotImplementedError for a quantized dtype: its tensors need a quantizer.
void check_no_quantizer(const char* op, ScalarType dtype);
// A tensor that an operator has just made and filled: that was no change of it.
inline Tensor fresh(Tensor t) {
  t.unsafeGetTensorImpl()->start_versions();
  return t;
}
// The result that a shape rule describes.
Tensor empty_spec(const TensorSpec& spec);
// Strides of `sizes` in a memory format. Preserve is the caller's to resolve; ChannelsLast needs 4 sizes, ChannelsLast3d 5.
DimVector strides_of_format(IntArrayRef sizes, MemoryFormat format);
// The strides with which a result shaped like `self` keeps its layout: those of self where it is non-overlapping and dense,
// else dense ones in the same order of dimensions.
DimVector strides_like(const TensorBase& self);
// Gives `self` new sizes (contiguous, or in `format`), growing its storage where needed. Throws where the tensor requires a
// gradient or its storage cannot grow.
void resize_output(const Tensor& self, IntArrayRef sizes);
namespace detail {
// What a backend's own empty.memory_format and empty_strided are made of: tensors over memory of `allocator`, with the
// keys of its device. Without a format: contiguous.
Tensor empty_generic(
    IntArrayRef sizes,
    c10::Allocator* allocator,
    c10::DispatchKeySet keys,
    ScalarType dtype,
    std::optional<MemoryFormat> memory_format);
Tensor empty_strided_generic(
    IntArrayRef sizes, IntArrayRef strides, c10::Allocator* allocator, c10::DispatchKeySet keys, ScalarType dtype);
}  // namespace detail
// A 0-dim CPU tensor of the value: Double, Long, Bool or ComplexDouble, marked as a wrapped number.
Tensor wrapped_scalar_tensor(const Scalar& value);

}  // namespace at
