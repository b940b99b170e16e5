// What a device offers besides memory: the current device of a thread, streams and events. A backend derives from
// DeviceGuardImplInterface and registers one object that lives as long as the program:
//
//   struct ShadowGuardImpl final : c10::impl::DeviceGuardImplInterface { ... };
//   C10_REGISTER_GUARD_IMPL(PrivateUse1, ShadowGuardImpl);
//
// The current device and the current streams are per thread.
#pragma once

#include <cstdint>

#include "c10/core/device.h"
#include "c10/core/stream.h"

namespace c10 {

class DataPtr;

/// What an event is for: plain ordering (cheap), or also timing with elapsedTime.
enum class EventFlag : int8_t { PYTORCH_DEFAULT, BACKEND_DEFAULT, INVALID };

namespace impl {

struct DeviceGuardImplInterface {
  constexpr DeviceGuardImplInterface() = default;
  DeviceGuardImplInterface(const DeviceGuardImplInterface&) = default;
  DeviceGuardImplInterface& operator=(const DeviceGuardImplInterface&) = default;
  virtual ~DeviceGuardImplInterface() = default;

  // --- devices ---
  /// The type of device that this object manages.
  virtual DeviceType type() const = 0;
  /// Makes `device` current and returns the one that was.
  virtual Device exchangeDevice(Device device) const = 0;
  virtual Device getDevice() const = 0;
  virtual void setDevice(Device device) const = 0;
  /// The same for destructors: an error is ignored.
  virtual void uncheckedSetDevice(Device device) const noexcept = 0;
  /// 0 where there is none; never throws.
  virtual DeviceIndex deviceCount() const noexcept = 0;
  /// Waits for all streams of a device.
  virtual void synchronizeDevice(DeviceIndex device_index) const;

  // --- streams ---
  /// The current stream of a device.
  virtual Stream getStream(Device device) const = 0;
  virtual Stream getDefaultStream(Device device) const;
  /// A stream of a pool shared by all.
  virtual Stream getStreamFromGlobalPool(Device device, bool isHighPriority = false) const;
  /// A stream other than the default one; a lower number is a higher priority.
  virtual Stream getNewStream(Device device, int priority = 0) const;
  /// Makes `stream` the current one of its device and returns the one that was. The current device stays.
  virtual Stream exchangeStream(Stream stream) const = 0;
  virtual bool queryStream(const Stream& stream) const;
  virtual void synchronizeStream(const Stream& stream) const;
  virtual void* getStreamNativeHandle(const Stream& stream) const;

  // --- events: a pointer that `record` makes and the others take; null before ---
  virtual void destroyEvent(void* event, DeviceIndex device_index) const noexcept;
  /// Puts the event behind all work of `stream`, creating it where `*event` is null.
  virtual void record(void** event, const Stream& stream, DeviceIndex device_index, EventFlag flag) const;
  /// Work put on `stream` from now on waits for the event.
  virtual void block(void* event, const Stream& stream) const;
  /// Whether all work in front of the event is done.
  virtual bool queryEvent(void* event) const;
  virtual void synchronizeEvent(void* event) const;
  /// Milliseconds between two events.
  virtual double elapsedTime(void* first, void* second, DeviceIndex device_index) const;

  // --- memory ---
  /// The memory is used by `stream` too: it is not to be reused before that work is done.
  virtual void recordDataPtrOnStream(const DataPtr& data, const Stream& stream) const;
};

/// A device type with one device, one stream and nothing to wait for: the CPU and Meta.
template <DeviceType kType>
struct NoOpDeviceGuardImpl final : DeviceGuardImplInterface {
  constexpr NoOpDeviceGuardImpl() = default;
  DeviceType type() const override { return kType; }
  Device exchangeDevice(Device) const override { return getDevice(); }
  Device getDevice() const override { return Device(kType, -1); }
  void setDevice(Device) const override {}
  void uncheckedSetDevice(Device) const noexcept override {}
  DeviceIndex deviceCount() const noexcept override { return 1; }
  void synchronizeDevice(DeviceIndex) const override {}
  Stream getStream(Device) const override { return Stream(Stream::DEFAULT, getDevice()); }
  Stream getDefaultStream(Device device) const override { return getStream(device); }
  Stream getStreamFromGlobalPool(Device device, bool) const override { return getStream(device); }
  Stream getNewStream(Device device, int) const override { return getStream(device); }
  Stream exchangeStream(Stream stream) const override { return stream; }
  bool queryStream(const Stream&) const override { return true; }
  void synchronizeStream(const Stream&) const override {}
};

/// Makes `impl` the object of a device type; the last registration holds. It must live as long as the program.
void registerDeviceGuardImpl(DeviceType type, const DeviceGuardImplInterface* impl);
/// The object of a device type. Throws c10::Error where no backend of it is linked ("Kindling is not linked with support
/// for cuda devices").
const DeviceGuardImplInterface* getDeviceGuardImpl(DeviceType type);
bool hasDeviceGuardImpl(DeviceType type);
/// The object that a backend registered; null for the CPU and Meta, which need none. Links no object by itself.
const DeviceGuardImplInterface* registered_guard_impl(DeviceType type);

struct DeviceGuardImplRegistrar {
  DeviceGuardImplRegistrar(DeviceType type, const DeviceGuardImplInterface* impl) {
    registerDeviceGuardImpl(type, impl);
  }
};

/// Calls through the registered object of a device type known at run time: the T of InlineDeviceGuard<T> and its kin.
class VirtualGuardImpl final {
 public:
  VirtualGuardImpl(DeviceType type) : impl_(getDeviceGuardImpl(type)) {}
  VirtualGuardImpl(const DeviceGuardImplInterface* impl) : impl_(impl) {}

  DeviceType type() const { return impl_->type(); }
  Device exchangeDevice(Device device) const { return impl_->exchangeDevice(device); }
  Device getDevice() const { return impl_->getDevice(); }
  void setDevice(Device device) const { impl_->setDevice(device); }
  void uncheckedSetDevice(Device device) const noexcept { impl_->uncheckedSetDevice(device); }
  DeviceIndex deviceCount() const noexcept { return impl_->deviceCount(); }
  void synchronizeDevice(DeviceIndex device_index) const { impl_->synchronizeDevice(device_index); }
  Stream getStream(Device device) const { return impl_->getStream(device); }
  Stream getDefaultStream(Device device) const { return impl_->getDefaultStream(device); }
  Stream getStreamFromGlobalPool(Device device, bool isHighPriority = false) const {
    return impl_->getStreamFromGlobalPool(device, isHighPriority);
  }
  Stream getNewStream(Device device, int priority = 0) const { return impl_->getNewStream(device, priority); }
  Stream exchangeStream(Stream stream) const { return impl_->exchangeStream(stream); }
  bool queryStream(const Stream& stream) const { return impl_->queryStream(stream); }
  void synchronizeStream(const Stream& stream) const { impl_->synchronizeStream(stream); }
  void* getStreamNativeHandle(const Stream& stream) const { return impl_->getStreamNativeHandle(stream); }
  void destroyEvent(void* event, DeviceIndex device_index) const noexcept { impl_->destroyEvent(event, device_index); }
  void record(void** event, const Stream& stream, DeviceIndex device_index, EventFlag flag) const {
    impl_->record(event, stream, device_index, flag);
  }
  void block(void* event, const Stream& stream) const { impl_->block(event, stream); }
  bool queryEvent(void* event) const { return impl_->queryEvent(event); }
  void synchronizeEvent(void* event) const { impl_->synchronizeEvent(event); }
  double elapsedTime(void* first, void* second, DeviceIndex device_index) const {
    return impl_->elapsedTime(first, second, device_index);
  }
  void recordDataPtrOnStream(const DataPtr& data, const Stream& stream) const {
    impl_->recordDataPtrOnStream(data, stream);
  }

 private:
  const DeviceGuardImplInterface* impl_;
};

}  // namespace impl
}  // namespace c10

/// Registers `Impl` for a device type before main, from any namespace.
#define C10_REGISTER_GUARD_IMPL(device_type, Impl)                                         \
  [[maybe_unused]] static const ::c10::impl::DeviceGuardImplRegistrar g_##device_type##_guard_registrar( \
      ::c10::DeviceType::device_type, new Impl())
