#include "c10/core/accelerator.h"

#include <mutex>

#include "c10/core/cpu_generator.h"
#include "c10/core/device_guard_impl.h"
#include "c10/util/exception.h"

namespace at {
namespace {

using c10::DeviceIndex;
using c10::DeviceType;

constinit const AcceleratorHooksInterface* g_hooks[c10::COMPILE_TIME_MAX_DEVICE_TYPES] = {};

constexpr DeviceType kAccelerators[] = {DeviceType::PrivateUse1, DeviceType::CUDA, DeviceType::MTIA, DeviceType::XPU,
                                        DeviceType::HIP, DeviceType::MPS, DeviceType::HPU};

[[noreturn]] void unsupported(const char* what) {
  C10_THROW_ERROR(NotImplementedError, c10::str("the backend's AcceleratorHooksInterface does not override ", what));
}

const c10::impl::DeviceGuardImplInterface& guard_impl() { return *c10::impl::getDeviceGuardImpl(*getAccelerator(true)); }

const AcceleratorHooksInterface& hooks_of(DeviceType type) {
  const AcceleratorHooksInterface* hooks = detail::acceleratorHooks(type);
  TORCH_CHECK(hooks != nullptr, "no hooks are registered for ", type, " devices");
  return *hooks;
}

void seed(Generator generator, uint64_t value) {
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(value);
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

const Generator& getDefaultGenerator(c10::Device device) {
  if (device.is_cpu()) return getDefaultCPUGenerator();
  return hooks_of(device.type()).getDefaultGenerator(device.index());
}

}  // namespace detail

void RegisterPrivateUse1HooksInterface(PrivateUse1HooksInterface* hooks) {
  TORCH_CHECK(!isPrivateUse1HooksRegistered(), "PrivateUse1HooksInterface only could be registered once.");
  detail::registerAcceleratorHooks(DeviceType::PrivateUse1, hooks);
}

bool isPrivateUse1HooksRegistered() { return detail::acceleratorHooks(DeviceType::PrivateUse1) != nullptr; }

bool isAccelerator(DeviceType type) {
  for (const DeviceType accelerator : kAccelerators) {
    if (type == accelerator) return true;
  }
  return false;
}

std::optional<DeviceType> getAccelerator(bool checked) {
  if (c10::is_privateuse1_backend_registered()) return DeviceType::PrivateUse1;
  for (const DeviceType type : kAccelerators) {
    if (c10::impl::hasDeviceGuardImpl(type)) return type;
  }
  TORCH_CHECK(!checked, "Cannot access accelerator device when none is available.");
  return std::nullopt;
}

c10::Allocator* getPinnedMemoryAllocator(std::optional<DeviceType> type) {
  return hooks_of(type.has_value() ? *type : *getAccelerator(true)).getPinnedMemoryAllocator();
}

Generator make_generator_for(c10::Device device) {
  if (device.is_cpu()) return detail::createCPUGenerator();
  return hooks_of(device.type()).getNewGenerator(device.index());
}

void manual_seed(uint64_t value) {
  seed(detail::getDefaultCPUGenerator(), value);
  for (const DeviceType type : kAccelerators) {
    const AcceleratorHooksInterface* hooks = detail::acceleratorHooks(type);
    const DeviceIndex count = hooks != nullptr ? hooks->deviceCount() : DeviceIndex{0};
    for (DeviceIndex i = 0; i < count; ++i) seed(hooks->getDefaultGenerator(i), value);
  }
}

namespace accelerator {

DeviceIndex deviceCount() { return getAccelerator().has_value() ? guard_impl().deviceCount() : DeviceIndex{0}; }

void setDeviceIndex(DeviceIndex device_index) {
  const auto& impl = guard_impl();
  impl.setDevice(c10::Device(impl.type(), device_index));
}

DeviceIndex getDeviceIndex() { return guard_impl().getDevice().index(); }

void setCurrentStream(c10::Stream stream) {
  const auto& impl = guard_impl();
  TORCH_CHECK(stream.device_type() == impl.type(), "stream's device type ", stream.device_type(),
              " doesn't match the current accelerator ", impl.type());
  impl.setDevice(stream.device());
  impl.exchangeStream(stream);
}

c10::Stream getCurrentStream(DeviceIndex device_index) {
  const auto& impl = guard_impl();
  return impl.getStream(c10::Device(impl.type(), device_index));
}

void synchronizeDevice(DeviceIndex device_index) { guard_impl().synchronizeDevice(device_index); }

DeviceIndex exchangeDevice(DeviceIndex device_index) {
  const auto& impl = guard_impl();
  if (device_index < 0) return -1;
  return impl.exchangeDevice(c10::Device(impl.type(), device_index)).index();
}

DeviceIndex maybeExchangeDevice(DeviceIndex device_index) { return exchangeDevice(device_index); }

}  // namespace accelerator
}  // namespace at

namespace torch::accelerator {
namespace {
c10::DeviceIndex index_or_current(c10::DeviceIndex device_index) {
  return device_index >= 0 ? device_index : at::accelerator::getDeviceIndex();
}
}  // namespace

bool is_available() { return at::accelerator::deviceCount() > 0; }

std::optional<c10::Device> current_accelerator() {
  const std::optional<c10::DeviceType> type = at::getAccelerator();
  return type.has_value() ? std::optional(c10::Device(*type)) : std::nullopt;
}

c10::Stream current_stream(c10::DeviceIndex device_index) {
  return at::accelerator::getCurrentStream(index_or_current(device_index));
}

void synchronize(c10::DeviceIndex device_index) { at::accelerator::synchronizeDevice(index_or_current(device_index)); }

}  // namespace torch::accelerator
