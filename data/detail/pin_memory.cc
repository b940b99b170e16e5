#include "data/detail/pin_memory.h"

#include "aten/ops/view/ops.h"
#include "c10/core/accelerator.h"

namespace torch::data::detail {

at::Tensor pinned(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_cpu()) return tensor;
  const std::optional<c10::DeviceType> type = at::getAccelerator();
  const at::AcceleratorHooksInterface* const hooks = type ? at::detail::acceleratorHooks(*type) : nullptr;
  return hooks != nullptr && hooks->isAvailable() ? at::pin_memory(tensor) : tensor;
}

}  // namespace torch::data::detail
