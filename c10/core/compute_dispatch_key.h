#pragma once

#include <cstdint>
#include <optional>

#include "c10/core/dispatch_key_set.h"
#include "c10/core/tensor_options.h"

namespace c10 {

/// The backend of a tensor with these options. Throws NotImplementedError where there is none for the device or the layout.
DispatchKey computeDispatchKey(std::optional<ScalarType> dtype, std::optional<Layout> layout, std::optional<Device> device);

/// The keys of a call that makes a tensor.
uint32_t factory_keys(const TensorOptions& options);

namespace detail {
// Whether such a call is the CPU's.
inline bool is_plain(const TensorOptions& options) {
  return options.device().type() == DeviceType::CPU && options.layout() == Layout::Strided;
}
}  // namespace detail

}  // namespace c10
