// Backend: a device and how its tensors are stored, in one name ("CPU", "SparseCUDA"), as older programs ask for it through
// Tensor::type(). Newer ones ask for device() and layout().
#pragma once

#include <string>

#include "c10/core/device.h"
#include "c10/core/layout.h"
#include "c10/util/text_stream.h"

namespace c10 {

enum class Backend {
  CPU,
  CUDA,
  HIP,
  VE,
  FPGA,
  IPU,
  XPU,
  SparseCPU,
  SparseCUDA,
  SparseHIP,
  SparseXPU,
  SparsePrivateUse1,
  SparseCsrCPU,
  SparseCsrCUDA,
  QuantizedCPU,
  QuantizedCUDA,
  QuantizedXPU,
  QuantizedPrivateUse1,
  XLA,
  Vulkan,
  Metal,
  Meta,
  MkldnnCPU,
  MPS,
  HPU,
  Lazy,
  PrivateUse1,
  Undefined,
  NumOptions
};

const char* toString(Backend backend);
void to_text(std::string& out, Backend backend);

// The backend of tensors on such a device; Undefined where there is no name for the pair.
Backend backend_of(DeviceType type, Layout layout, bool quantized = false);
// Throws Error for Undefined.
DeviceType backendToDeviceType(Backend backend);
Layout layout_from_backend(Backend backend);
bool isSparse(Backend backend);

template <TextStream Stream, SameType<Backend> X>
Stream& operator<<(Stream& out, X backend) {
  out << toString(backend);
  return out;
}

}  // namespace c10

namespace at {
using c10::Backend;
}
