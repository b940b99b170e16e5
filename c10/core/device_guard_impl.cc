#include "c10/core/device_guard_impl.h"

#include "c10/util/exception.h"

namespace c10 {
namespace impl {
namespace {

// Never destroyed: guards may live in statics.
template <class T>
union Immortal {
  constexpr Immortal() : value() {}
  constexpr ~Immortal() {}
  T value;
};
constinit Immortal<NoOpDeviceGuardImpl<DeviceType::CPU>> g_cpu;
constinit Immortal<NoOpDeviceGuardImpl<DeviceType::Meta>> g_meta;

// What backends registered.
constinit const DeviceGuardImplInterface* g_registry[COMPILE_TIME_MAX_DEVICE_TYPES] = {};

const DeviceGuardImplInterface* find_guard_impl(DeviceType type) {
  if (const DeviceGuardImplInterface* impl = registered_guard_impl(type)) return impl;
  return type == DeviceType::CPU ? &g_cpu.value : type == DeviceType::Meta ? static_cast<const DeviceGuardImplInterface*>(&g_meta.value) : nullptr;
}

[[noreturn]] void unsupported(const DeviceGuardImplInterface& impl, const char* what) {
  C10_THROW_ERROR(NotImplementedError, str("the ", impl.type(), " backend does not support ", what));
}

}  // namespace

void registerDeviceGuardImpl(DeviceType type, const DeviceGuardImplInterface* impl) {
  TORCH_CHECK(isValidDeviceType(type), "registerDeviceGuardImpl: unknown device type ", static_cast<int>(type));
  __atomic_store_n(&g_registry[static_cast<int>(type)], impl, __ATOMIC_RELEASE);
}

const DeviceGuardImplInterface* registered_guard_impl(DeviceType type) {
  return isValidDeviceType(type) ? __atomic_load_n(&g_registry[static_cast<int>(type)], __ATOMIC_ACQUIRE) : nullptr;
}

bool hasDeviceGuardImpl(DeviceType type) { return find_guard_impl(type) != nullptr; }

const DeviceGuardImplInterface* getDeviceGuardImpl(DeviceType type) {
  const DeviceGuardImplInterface* const impl = find_guard_impl(type);
  TORCH_CHECK(impl != nullptr, "Kindling is not linked with support for ", type, " devices");
  return impl;
}

void DeviceGuardImplInterface::synchronizeDevice(DeviceIndex) const { unsupported(*this, "waiting for a whole device"); }
Stream DeviceGuardImplInterface::getDefaultStream(Device) const { unsupported(*this, "a default stream"); }
Stream DeviceGuardImplInterface::getStreamFromGlobalPool(Device, bool) const { unsupported(*this, "a pool of streams"); }
Stream DeviceGuardImplInterface::getNewStream(Device, int) const { unsupported(*this, "making streams"); }
bool DeviceGuardImplInterface::queryStream(const Stream&) const { unsupported(*this, "querying streams"); }
void DeviceGuardImplInterface::synchronizeStream(const Stream&) const { unsupported(*this, "waiting for streams"); }
void* DeviceGuardImplInterface::getStreamNativeHandle(const Stream&) const {
  unsupported(*this, "native handles of streams");
}
void DeviceGuardImplInterface::destroyEvent(void*, DeviceIndex) const noexcept {}
void DeviceGuardImplInterface::record(void**, const Stream&, DeviceIndex, EventFlag) const {
  unsupported(*this, "events");
}
void DeviceGuardImplInterface::block(void*, const Stream&) const { unsupported(*this, "events"); }
bool DeviceGuardImplInterface::queryEvent(void*) const { unsupported(*this, "events"); }
void DeviceGuardImplInterface::synchronizeEvent(void*) const { unsupported(*this, "waiting for events"); }
double DeviceGuardImplInterface::elapsedTime(void*, void*, DeviceIndex) const { unsupported(*this, "timing by events"); }
void DeviceGuardImplInterface::recordDataPtrOnStream(const DataPtr&, const Stream&) const {}

}  // namespace impl

bool Stream::query() const { return impl::getDeviceGuardImpl(device_type())->queryStream(*this); }
void Stream::synchronize() const { impl::getDeviceGuardImpl(device_type())->synchronizeStream(*this); }
void* Stream::native_handle() const { return impl::getDeviceGuardImpl(device_type())->getStreamNativeHandle(*this); }

Stream Stream::unpack3(StreamId id, DeviceIndex device_index, DeviceType device_type) {
  TORCH_CHECK(isValidDeviceType(device_type), "Stream::unpack3: unknown device type ", static_cast<int>(device_type));
  return Stream(UNSAFE, Device(device_type, device_index), id);
}

void to_text(std::string& out, const Stream& stream) {
  out += str("stream ", stream.id(), " on device ", stream.device());
}

}  // namespace c10
