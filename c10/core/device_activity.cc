#include "c10/core/device_activity.h"

#include <array>
#include <atomic>
#include <cstddef>

namespace c10 {
namespace {

constinit std::array<std::atomic<DeviceActivitySource*>, COMPILE_TIME_MAX_DEVICE_TYPES> g_sources{};

}  // namespace

void register_device_activity_source(DeviceType type, DeviceActivitySource* source) {
  g_sources.at(static_cast<size_t>(type)).store(source);
}

DeviceActivitySource* device_activity_source(DeviceType type) {
  return g_sources.at(static_cast<size_t>(type)).load();
}

}  // namespace c10
