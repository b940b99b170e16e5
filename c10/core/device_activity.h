// What devices do while a profile is taken. A backend registers a source; the profiler asks it by the type of its
// devices.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "c10/core/device.h"

namespace c10 {

enum class ActivityKind : uint8_t {
  kKernel,
  kCopy,
  kSet,
  kWait,      // of a stream, or of a thread for one
  kCall,      // of the backend's runtime, by a thread
  kOverhead,  // of measuring
};

/// One thing that a device did, or that a thread asked the device's runtime for.
struct DeviceActivity {
  ActivityKind kind = ActivityKind::kKernel;
  std::string name;
  /// Nanoseconds of the steady clock.
  uint64_t start_ns = 0, end_ns = 0;
  /// Where it ran; the CPU for calls and overhead.
  Device device = Device(DeviceType::CPU);
  /// The number of the stream on the device; of calls and overhead the operating system's number of the thread.
  int64_t resource = 0;
  /// A call and what it caused have the same number; 0 for none.
  uint64_t correlation = 0;
  /// The range that was open in the thread of the call, as push_range() was told; 0 for none.
  uint64_t range = 0;
  /// Of copies and fills.
  uint64_t bytes = 0;
  /// What else is known, by its name in traces; values are JSON.
  std::vector<std::pair<std::string, std::string>> details;
};

/// Collects activities between start() and stop(), of all threads of the process and all devices of a type.
class DeviceActivitySource {
 public:
  virtual ~DeviceActivitySource() = default;
  /// Begins to collect. Where that is impossible it warns, saying why, and returns false. Throws Error where it
  /// collects already.
  virtual bool start() = 0;
  /// Opens a range in the calling thread, around calls that belong to it, and closes it: the innermost open range is a
  /// call's. Numbers are positive and used once a process.
  virtual void push_range(uint64_t range) noexcept = 0;
  virtual void pop_range(uint64_t range) noexcept = 0;
  /// Waits for the devices, ends and returns what was collected, in any order. What went wrong is a warning.
  virtual std::vector<DeviceActivity> stop() = 0;
};

/// `source` lives as long as the program; the last one that is registered for a type holds.
void register_device_activity_source(DeviceType type, DeviceActivitySource* source);
/// Null where no backend of the type has one.
DeviceActivitySource* device_activity_source(DeviceType type);

}  // namespace c10
