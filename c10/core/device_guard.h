// The current device of a thread, changed for a scope.
#pragma once

#include <optional>
#include <utility>

#include "c10/core/device.h"
#include "c10/core/device_guard_impl.h"
#include "c10/util/exception.h"

namespace c10 {
namespace impl {

/// DeviceGuard over a backend's own T, which has DeviceGuardImplInterface's functions for devices and either knows its type
/// statically (T::static_type) or is made from one. A device without an index means the current one.
template <class T>
class InlineDeviceGuard {
 public:
  InlineDeviceGuard() = delete;
  explicit InlineDeviceGuard(Device device)
      : impl_(device.type()),
        original_(device.has_index() ? impl_.exchangeDevice(device) : impl_.getDevice()),
        current_(device.has_index() ? device : original_) {}
  explicit InlineDeviceGuard(DeviceIndex index)
    requires requires { T::static_type; }
      : InlineDeviceGuard(Device(T::static_type, index)) {}
  /// With an implementation other than the registered one.
  InlineDeviceGuard(Device device, const DeviceGuardImplInterface* impl)
    requires std::is_same_v<T, VirtualGuardImpl>
      : impl_(impl),
        original_(device.has_index() ? impl_.exchangeDevice(device) : impl_.getDevice()),
        current_(device.has_index() ? device : original_) {}
  InlineDeviceGuard(const InlineDeviceGuard&) = delete;
  InlineDeviceGuard& operator=(const InlineDeviceGuard&) = delete;
  ~InlineDeviceGuard() { impl_.uncheckedSetDevice(original_); }

  void set_device(Device device) {
    TORCH_CHECK(device.type() == current_.type(), "a guard of ", current_.type(), " devices cannot set device ", device);
    const DeviceIndex index = device.has_index() ? device.index() : original_.index();
    if (index == current_.index()) return;
    impl_.setDevice(Device(device.type(), index));
    current_ = Device(device.type(), index);
  }
  void reset_device(Device device)
    requires(!std::is_same_v<T, VirtualGuardImpl>)
  {
    set_device(device);
  }
  /// A device of another type too: the first one's is restored then.
  void reset_device(Device device, const DeviceGuardImplInterface* impl = nullptr)
    requires std::is_same_v<T, VirtualGuardImpl>
  {
    if (device.type() == original_.type()) {
      set_device(device);
      return;
    }
    const T next = impl != nullptr ? T(impl) : T(device.type());
    const Device before = device.has_index() ? next.exchangeDevice(device) : next.getDevice();
    impl_.uncheckedSetDevice(original_);
    impl_ = next;
    original_ = before;
    current_ = device.has_index() ? device : before;
  }
  void set_index(DeviceIndex index) { set_device(Device(current_.type(), index)); }
  Device original_device() const { return original_; }
  Device current_device() const { return current_; }

 private:
  T impl_;
  Device original_;
  Device current_;
};

template <class T>
class InlineOptionalDeviceGuard {
 public:
  InlineOptionalDeviceGuard() = default;
  explicit InlineOptionalDeviceGuard(std::optional<Device> device) {
    if (device.has_value()) guard_.emplace(*device);
  }
  InlineOptionalDeviceGuard(const InlineOptionalDeviceGuard&) = delete;
  InlineOptionalDeviceGuard& operator=(const InlineOptionalDeviceGuard&) = delete;

  void set_device(Device device) { reset_device(device); }
  template <class... Impl>
  void reset_device(Device device, Impl... impl) {
    if (guard_.has_value()) {
      guard_->reset_device(device, impl...);
    } else {
      guard_.emplace(device, impl...);
    }
  }
  void set_index(DeviceIndex index)
    requires requires { T::static_type; }
  {
    reset_device(Device(T::static_type, index));
  }
  std::optional<Device> original_device() const {
    return guard_.has_value() ? std::optional(guard_->original_device()) : std::nullopt;
  }
  std::optional<Device> current_device() const {
    return guard_.has_value() ? std::optional(guard_->current_device()) : std::nullopt;
  }
  void reset() { guard_.reset(); }

 private:
  std::optional<InlineDeviceGuard<T>> guard_;
};

}  // namespace impl

/// Makes `device` the calling thread's current device of its type until the end of the scope. "cuda" without an index keeps
/// the current one. Throws c10::Error for a type of device that no linked backend has.
///
///   c10::DeviceGuard guard(tensor.device());
class DeviceGuard {
 public:
  DeviceGuard() = delete;
  explicit DeviceGuard(Device device) : guard_(device) {}
  /// With an implementation other than the registered one, for tests.
  DeviceGuard(Device device, const impl::DeviceGuardImplInterface* impl) : guard_(device, impl) {}

  /// Another device; of another type too, and then the first type's device is restored now.
  void reset_device(Device device) { guard_.reset_device(device); }
  void reset_device(Device device, const impl::DeviceGuardImplInterface* impl) { guard_.reset_device(device, impl); }
  void set_index(DeviceIndex index) { guard_.set_index(index); }
  Device original_device() const { return guard_.original_device(); }
  Device current_device() const { return guard_.current_device(); }

 private:
  impl::InlineDeviceGuard<impl::VirtualGuardImpl> guard_;
};

/// A DeviceGuard that may have no device: then it does nothing.
class OptionalDeviceGuard {
 public:
  OptionalDeviceGuard() = default;
  explicit OptionalDeviceGuard(Device device) : guard_(device) {}
  explicit OptionalDeviceGuard(std::optional<Device> device) : guard_(device) {}
  OptionalDeviceGuard(Device device, const impl::DeviceGuardImplInterface* impl) { guard_.reset_device(device, impl); }

  void reset_device(Device device) { guard_.reset_device(device); }
  void reset_device(Device device, const impl::DeviceGuardImplInterface* impl) { guard_.reset_device(device, impl); }
  std::optional<Device> original_device() const { return guard_.original_device(); }
  std::optional<Device> current_device() const { return guard_.current_device(); }

 private:
  impl::InlineOptionalDeviceGuard<impl::VirtualGuardImpl> guard_;
};

}  // namespace c10

namespace at {
using c10::DeviceGuard;
using c10::OptionalDeviceGuard;
}  // namespace at
