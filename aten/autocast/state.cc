#include "aten/autocast/state.h"

#include "aten/autocast/autocast_mode.h"
#include "aten/core/thread_local_state.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"

namespace at::autocast {
namespace {

thread_local constinit detail::State of_thread;

struct Carried final : c10::intrusive_ptr_target {
  detail::State state;
};

impl::ThreadLocalPart::Value carried() {
  auto value = c10::make_intrusive<Carried>();
  value->state = of_thread;
  return value;
}

void set_carried(const impl::ThreadLocalPart::Value& value) {
  of_thread = value ? static_cast<const Carried&>(*value).state : detail::State();
}

[[maybe_unused]] const bool registered = impl::register_thread_local_part({carried, set_carried});

ScalarType& dtype_of(DeviceType device) {
  switch (get_autocast_dispatch_key_from_device_type(device)) {
    case DispatchKey::AutocastCPU:
      return of_thread.dtypes[0];
    case DispatchKey::AutocastCUDA:
      return of_thread.dtypes[1];
    default:
      return of_thread.dtypes[2];
  }
}

}  // namespace

detail::State& detail::state() {
  return of_thread;
}

bool is_autocast_available(DeviceType device_type) {
  return device_type == DeviceType::CPU || device_type == DeviceType::CUDA || device_type == DeviceType::PrivateUse1;
}

DispatchKey get_autocast_dispatch_key_from_device_type(DeviceType device_type) {
  switch (device_type) {
    case DeviceType::CPU:
      return DispatchKey::AutocastCPU;
    case DeviceType::CUDA:
      return DispatchKey::AutocastCUDA;
    case DeviceType::PrivateUse1:
      return DispatchKey::AutocastPrivateUse1;
    default:
      TORCH_CHECK(false, "unknown device type for autocast in get_autocast_dispatch_key_from_device_type: ",
                  c10::DeviceTypeName(device_type, true));
  }
}

bool is_autocast_enabled(DeviceType device_type) {
  const DispatchKey key = get_autocast_dispatch_key_from_device_type(device_type);
  const c10::ThreadState& thread = c10::thread_state();
  return thread.included.has(key) && !thread.excluded.has(key);
}

ScalarType get_autocast_dtype(DeviceType device_type) {
  return dtype_of(device_type);
}
ScalarType get_lower_precision_fp_from_device_type(DeviceType device_type) {
  return dtype_of(device_type);
}
void set_autocast_dtype(DeviceType device_type, ScalarType dtype) {
  dtype_of(device_type) = dtype;
}

int increment_nesting() {
  return ++of_thread.nesting;
}
int decrement_nesting() {
  return --of_thread.nesting;
}

bool is_autocast_cache_enabled() {
  return of_thread.cache_enabled;
}
void set_autocast_cache_enabled(bool enabled) {
  of_thread.cache_enabled = enabled;
}

}  // namespace at::autocast
