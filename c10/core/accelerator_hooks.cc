#include "c10/core/accelerator.h"

#include "c10/util/exception.h"

namespace at {
namespace {

using c10::DeviceIndex;
using c10::DeviceType;

constinit const AcceleratorHooksInterface* g_hooks[c10::COMPILE_TIME_MAX_DEVICE_TYPES] = {};

[[noreturn]] void unsupported(const char* what) {
  C10_THROW_ERROR(NotImplementedError, c10::str("the backend's AcceleratorHooksInterface does not override ", what));
}

}  // namespace

bool AcceleratorHooksInterface::isAvailable() const { return isBuilt() && deviceCount() > 0; }
bool AcceleratorHooksInterface::hasPrimaryContext(DeviceIndex) const { unsupported("hasPrimaryContext"); }
void AcceleratorHooksInterface::setCurrentDevice(DeviceIndex) const { unsupported("setCurrentDevice"); }
DeviceIndex AcceleratorHooksInterface::getCurrentDevice() const { unsupported("getCurrentDevice"); }
DeviceIndex AcceleratorHooksInterface::exchangeDevice(DeviceIndex) const { unsupported("exchangeDevice"); }
DeviceIndex AcceleratorHooksInterface::maybeExchangeDevice(DeviceIndex) const { unsupported("maybeExchangeDevice"); }
c10::Allocator* AcceleratorHooksInterface::getPinnedMemoryAllocator() const { unsupported("getPinnedMemoryAllocator"); }
c10::Device AcceleratorHooksInterface::getDeviceFromPtr(void*) const { unsupported("getDeviceFromPtr"); }
const Generator& AcceleratorHooksInterface::getDefaultGenerator(DeviceIndex) const { unsupported("getDefaultGenerator"); }
Generator AcceleratorHooksInterface::getNewGenerator(DeviceIndex) const { unsupported("getNewGenerator"); }

namespace detail {

void registerAcceleratorHooks(DeviceType type, const AcceleratorHooksInterface* hooks) {
  TORCH_CHECK(isAccelerator(type), "registerAcceleratorHooks: ", type, " devices are no accelerators");
  __atomic_store_n(&g_hooks[static_cast<int>(type)], hooks, __ATOMIC_RELEASE);
}

const AcceleratorHooksInterface* acceleratorHooks(DeviceType type) {
  return c10::isValidDeviceType(type) ? __atomic_load_n(&g_hooks[static_cast<int>(type)], __ATOMIC_ACQUIRE) : nullptr;
}

const PrivateUse1HooksInterface& getPrivateUse1Hooks() {
  TORCH_CHECK(isPrivateUse1HooksRegistered(),
              "Please register PrivateUse1HooksInterface by `RegisterPrivateUse1HooksInterface` first.");
  return static_cast<const PrivateUse1HooksInterface&>(*acceleratorHooks(DeviceType::PrivateUse1));
}

}  // namespace detail

void RegisterPrivateUse1HooksInterface(PrivateUse1HooksInterface* hooks) {
  TORCH_CHECK(!isPrivateUse1HooksRegistered(), "PrivateUse1HooksInterface only could be registered once.");
  detail::registerAcceleratorHooks(DeviceType::PrivateUse1, hooks);
}

bool isPrivateUse1HooksRegistered() { return detail::acceleratorHooks(DeviceType::PrivateUse1) != nullptr; }

bool isAccelerator(DeviceType type) {
  for (const DeviceType accelerator : detail::kAccelerators) {
    if (type == accelerator) return true;
  }
  return false;
}

}  // namespace at
