// The accelerator of a program: the one type of device beside the CPU whose backend is linked (CUDA, or PrivateUse1 under its
// own name), its hooks, and its current device and stream.
//
//   if (at::accelerator::deviceCount() > 0) model->to(torch::Device(*at::getAccelerator()));
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "c10/core/device.h"
#include "c10/core/generator.h"
#include "c10/core/stream.h"

namespace c10 {
class Allocator;
class Storage;
}  // namespace c10

namespace at {

/// What a device type offers that is neither memory nor streams. A backend derives from it and registers one object that lives
/// as long as the program; what it leaves out says so when it is asked for.
struct AcceleratorHooksInterface {
  virtual ~AcceleratorHooksInterface() = default;

  /// Called before the backend is used first; may be called again.
  virtual void init() const {}
  /// Whether the backend is part of the program; whether it also has a device that works.
  virtual bool isBuilt() const { return false; }
  virtual bool isAvailable() const;
  /// Whether something was done on the device that makes work there cheap (a context exists).
  virtual bool hasPrimaryContext(c10::DeviceIndex device_index) const;
  virtual c10::DeviceIndex deviceCount() const { return 0; }
  virtual void setCurrentDevice(c10::DeviceIndex device) const;
  virtual c10::DeviceIndex getCurrentDevice() const;
  virtual c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const;
  virtual c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const;

  /// Whether the memory at `data` is pinned: host memory that the device reads by itself.
  virtual bool isPinnedPtr(const void* /*data*/) const { return false; }
  virtual c10::Allocator* getPinnedMemoryAllocator() const;
  /// The device that the memory is on.
  virtual c10::Device getDeviceFromPtr(void* data) const;

  /// The generator that a device's operators draw from where none is given (-1: the current device's), and a new one.
  virtual const at::Generator& getDefaultGenerator(c10::DeviceIndex device_index = -1) const;
  virtual at::Generator getNewGenerator(c10::DeviceIndex device_index = -1) const;
};

/// The hooks of a backend outside this library.
struct PrivateUse1HooksInterface : AcceleratorHooksInterface {
  bool isBuilt() const override { return true; }
  /// Gives a storage of the device `new_bytes` bytes and keeps its contents. Unless it is overridden: new memory of the
  /// storage's allocator, and Allocator::copy_data.
  virtual void resizePrivateUse1Bytes(const c10::Storage& storage, size_t new_bytes) const;
};

/// Registers the hooks of PrivateUse1, once a process; they are never deleted.
void RegisterPrivateUse1HooksInterface(PrivateUse1HooksInterface* hooks);
bool isPrivateUse1HooksRegistered();

namespace detail {

// The types of devices that can be a program's accelerator, the first that is there.
inline constexpr c10::DeviceType kAccelerators[] = {c10::DeviceType::PrivateUse1, c10::DeviceType::CUDA, c10::DeviceType::MTIA, c10::DeviceType::XPU,
                                        c10::DeviceType::HIP, c10::DeviceType::MPS, c10::DeviceType::HPU};

/// Throws c10::Error where there are none.
const PrivateUse1HooksInterface& getPrivateUse1Hooks();
/// The hooks of a device type; null where none are registered. Further backends of the library register theirs.
const AcceleratorHooksInterface* acceleratorHooks(c10::DeviceType type);
void registerAcceleratorHooks(c10::DeviceType type, const AcceleratorHooksInterface* hooks);
/// The generator that operators use on `device` where none is given. Throws c10::Error for devices without generators.
const Generator& getDefaultGenerator(c10::Device device);
}  // namespace detail

/// The type of device that is this program's accelerator: PrivateUse1 where a backend gave it a name, else the linked one
/// that has a device.
/// None: nothing, or c10::Error "Cannot access accelerator device when none is available." where `checked`.
std::optional<c10::DeviceType> getAccelerator(bool checked = false);
/// Whether devices of this type are accelerators at all.
bool isAccelerator(c10::DeviceType type);

/// Memory that the accelerator reads by itself. Throws c10::Error where there is no accelerator, or none that pins memory.
c10::Allocator* getPinnedMemoryAllocator(std::optional<c10::DeviceType> type = std::nullopt);
/// A new generator of a device. Throws c10::Error for devices without generators.
Generator make_generator_for(c10::Device device);

namespace accelerator {

/// 0 where there is no accelerator; the others throw then, as getAccelerator(true) does.
c10::DeviceIndex deviceCount();
void setDeviceIndex(c10::DeviceIndex device_index);
c10::DeviceIndex getDeviceIndex();
/// Makes `stream` current on its device, and its device current.
void setCurrentStream(c10::Stream stream);
c10::Stream getCurrentStream(c10::DeviceIndex device_index);
/// Waits for all streams of a device.
void synchronizeDevice(c10::DeviceIndex device_index);
/// Makes a device current and returns the one that was; a negative index changes nothing, and maybeExchangeDevice may leave
/// a device as it is that nobody has used.
c10::DeviceIndex exchangeDevice(c10::DeviceIndex device_index);
c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device_index);

}  // namespace accelerator
}  // namespace at

/// The same by the names of torch.accelerator. An index of -1 is the current device.
namespace torch::accelerator {

bool is_available();
inline c10::DeviceIndex device_count() { return at::accelerator::deviceCount(); }
/// The accelerator as a device without an index; nothing where there is none.
std::optional<c10::Device> current_accelerator();
inline c10::DeviceIndex current_device_index() { return at::accelerator::getDeviceIndex(); }
inline void set_device_index(c10::DeviceIndex device_index) { at::accelerator::setDeviceIndex(device_index); }
c10::Stream current_stream(c10::DeviceIndex device_index = -1);
inline void set_stream(c10::Stream stream) { at::accelerator::setCurrentStream(stream); }
void synchronize(c10::DeviceIndex device_index = -1);

}  // namespace torch::accelerator
