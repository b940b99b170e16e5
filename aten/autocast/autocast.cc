#include "aten/autocast/autocast.h"

#include "c10/core/device.h"
#include "c10/core/device_guard_impl.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"

namespace torch::amp {
namespace {

bool has_device(c10::DeviceType type) {
  return c10::impl::hasDeviceGuardImpl(type) && c10::impl::getDeviceGuardImpl(type)->deviceCount() > 0;
}

bool can_enable(c10::DeviceType type, c10::ScalarType dtype) {
  if (type == c10::DeviceType::CUDA && !has_device(type)) {
    TORCH_WARN("User provided device_type of 'cuda', but CUDA is not available. Disabling");
    return false;
  }
  const bool supported = dtype == c10::kBFloat16 || dtype == c10::kHalf;
  if (type == c10::DeviceType::CPU && !supported) {
    TORCH_WARN(
        "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
        "CPU Autocast only supports dtype of torch.bfloat16, torch.float16 currently.");
  }
  return supported || type != c10::DeviceType::CPU;
}

}  // namespace

autocast::autocast(c10::DeviceType device_type, std::optional<c10::ScalarType> dtype, bool enabled,
                   std::optional<bool> cache_enabled)
    : device_type_(device_type),
      dtype_before_(c10::kFloat),
      included_before_(c10::thread_state().included),
      excluded_before_(c10::thread_state().explicitly_excluded),
      cache_enabled_before_(at::autocast::is_autocast_cache_enabled()) {
  TORCH_CHECK(at::autocast::is_autocast_available(device_type), "User specified an unsupported autocast device_type '",
              c10::DeviceTypeName(device_type, true), "'");
  dtype_before_ = at::autocast::get_autocast_dtype(device_type);
  const c10::ScalarType type = dtype.value_or(dtype_before_);
  const bool on = enabled && can_enable(device_type, type);
  at::autocast::set_autocast_enabled(device_type, on);
  at::autocast::set_autocast_dtype(device_type, type);
  at::autocast::set_autocast_cache_enabled(cache_enabled.value_or(cache_enabled_before_));
  at::autocast::increment_nesting();
}

autocast::autocast(const std::string& device_type, std::optional<c10::ScalarType> dtype, bool enabled,
                   std::optional<bool> cache_enabled)
    : autocast(c10::Device(device_type).type(), dtype, enabled, cache_enabled) {}

autocast::~autocast() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  const auto key = at::autocast::get_autocast_dispatch_key_from_device_type(device_type_);
  c10::impl::tls_set_dispatch_key_included(key, included_before_.has(key));
  c10::impl::tls_set_dispatch_key_excluded(key, excluded_before_.has(key));
  at::autocast::set_autocast_dtype(device_type_, dtype_before_);
  at::autocast::set_autocast_cache_enabled(cache_enabled_before_);
}

}  // namespace torch::amp
