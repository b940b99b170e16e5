#include "c10/core/accelerator.h"

#include <mutex>

#include "c10/core/cpu_generator.h"
#include "c10/core/device_guard_impl.h"
#include "c10/util/exception.h"

namespace at {
namespace {

using c10::DeviceIndex;
using c10::DeviceType;

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

namespace detail {

const Generator& getDefaultGenerator(c10::Device device) {
  if (device.is_cpu()) return getDefaultCPUGenerator();
  return hooks_of(device.type()).getDefaultGenerator(device.index());
}

}  // namespace detail

std::optional<DeviceType> getAccelerator(bool checked) {
  if (c10::is_privateuse1_backend_registered()) return DeviceType::PrivateUse1;
  for (const DeviceType type : detail::kAccelerators) {
    if (!c10::impl::hasDeviceGuardImpl(type)) continue;
    // Plug-in devices need not say whether there is one.
    const AcceleratorHooksInterface* hooks = detail::acceleratorHooks(type);
    if (type == DeviceType::PrivateUse1 || hooks == nullptr || hooks->isAvailable()) return type;
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
  for (const DeviceType type : detail::kAccelerators) {
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
