#include "aten/autocast/autocast_mode.h"
#include "c10/core/thread_state.h"

namespace at::autocast_kernels {
extern const char linked;
}  // namespace at::autocast_kernels

namespace at::autocast {
namespace {

// The kernels of the operators: named here, so that they are linked where autocast is switched on.
const char* const volatile kernels = &autocast_kernels::linked;

}  // namespace

void set_autocast_enabled(DeviceType device_type, bool enabled) {
  (void)kernels;
  const DispatchKey key = get_autocast_dispatch_key_from_device_type(device_type);
  c10::impl::tls_set_dispatch_key_included(key, enabled);
  if (enabled) c10::impl::tls_set_dispatch_key_excluded(key, false);
}

}  // namespace at::autocast
