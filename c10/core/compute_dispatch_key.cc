#include "c10/core/compute_dispatch_key.h"

#include "c10/core/tensor_impl.h"
#include "c10/util/exception.h"

namespace c10 {

DispatchKey computeDispatchKey(std::optional<ScalarType> dtype, std::optional<Layout> layout, std::optional<Device> device) {
  const DispatchKey backend = backend_key_set(device.value_or(Device(DeviceType::CPU))).highest();
  const bool cpu = backend == DispatchKey::CPU;
  const bool cuda = backend == DispatchKey::CUDA;
  // The meta device holds no data whatever the layout.
  if (backend == DispatchKey::Meta) return backend;
  const auto choose = [&](DispatchKey on_cpu, DispatchKey on_cuda) {
    TORCH_CHECK_NOT_IMPLEMENTED(cpu || cuda, "Kindling has no ", toString(layout.value_or(Layout::Strided)),
                                " tensors on the backend ", toString(backend));
    return cpu ? on_cpu : on_cuda;
  };
  switch (layout.value_or(Layout::Strided)) {
    case Layout::Strided:
      return dtype && isQIntType(*dtype) ? choose(DispatchKey::QuantizedCPU, DispatchKey::QuantizedCUDA) : backend;
    case Layout::Sparse: return choose(DispatchKey::SparseCPU, DispatchKey::SparseCUDA);
    case Layout::SparseCsr:
    case Layout::SparseCsc:
    case Layout::SparseBsr:
    case Layout::SparseBsc: return choose(DispatchKey::SparseCsrCPU, DispatchKey::SparseCsrCUDA);
    case Layout::Jagged: return choose(DispatchKey::NestedTensorCPU, DispatchKey::NestedTensorCUDA);
    default: break;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(false, "Kindling has no tensors of the layout ", toString(layout.value_or(Layout::Strided)));
}

uint32_t factory_keys(const TensorOptions& options) {
  return DispatchKeySet(computeDispatchKey(std::nullopt, options.layout(), options.device())).raw();
}

}  // namespace c10
