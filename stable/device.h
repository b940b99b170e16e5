#pragma once

#include <cstdint>
#include <string>

#include "c10/core/device.h"
#include "stable/headeronly.h"

namespace torch::stable {

namespace accelerator {
using DeviceIndex = int32_t;
}  // namespace accelerator

using DeviceType = torch::headeronly::DeviceType;
using DeviceIndex = accelerator::DeviceIndex;

/// A type of device and the number of one of them, -1 for the current one.
///
///   torch::stable::Device cpu(torch::headeronly::DeviceType::CPU), second("cuda:1");
///
/// Throws c10::Error for text that names no device, and for an index below -1 or, on the CPU, above 0.
class Device {
 public:
  explicit(false) Device(DeviceType type, DeviceIndex index = -1)
      : device_(type, static_cast<c10::DeviceIndex>(index)) {}
  explicit(false) Device(const std::string& device_string) : device_(device_string) {}

  bool operator==(const Device&) const = default;
  void set_index(DeviceIndex index) { device_.set_index(static_cast<c10::DeviceIndex>(index)); }
  DeviceType type() const { return device_.type(); }
  DeviceIndex index() const { return device_.index(); }
  bool has_index() const { return device_.has_index(); }
  bool is_cuda() const { return device_.is_cuda(); }
  bool is_cpu() const { return device_.is_cpu(); }

  explicit(false) operator c10::Device() const { return device_; }

 private:
  c10::Device device_;
};

}  // namespace torch::stable
