// The device of a call's arguments, made current while a kernel of theirs runs.
#pragma once

#include <optional>

#include "aten/core/tensor.h"
#include "c10/core/device_guard.h"
#include "c10/core/tensor_options.h"
#include "c10/value/list.h"

namespace at {

/// Makes the device of the first argument that is not on the CPU the calling thread's current one until the end of the
/// scope. Arguments are tensors, lists of tensors, and the options of a tensor to be made.
class DeviceScope {
 public:
  template <class... Arguments>
  explicit DeviceScope(const Arguments&... arguments) {
    (meet(arguments), ...);
  }

 private:
  void meet(Device device) {
    if (device.is_cpu() || guard_.current_device().has_value()) return;
    guard_.reset_device(device);
  }
  void meet(const Tensor& t) {
    if (t.defined()) meet(t.device());
  }
  void meet(const std::optional<Tensor>& t) {
    if (t.has_value()) meet(*t);
  }
  void meet(TensorList tensors) {
    for (const Tensor& t : tensors) meet(t);
  }
  void meet(const c10::List<std::optional<Tensor>>& tensors) {
    for (const std::optional<Tensor>& t : tensors) meet(t);
  }
  void meet(const TensorOptions& options) { meet(options.device()); }

  c10::OptionalDeviceGuard guard_;
};

}  // namespace at
