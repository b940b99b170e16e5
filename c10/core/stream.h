#pragma once

#include <cstdint>

#include "c10/core/device.h"

namespace c10 {

using StreamId = int64_t;

// A queue of work on a device: its device and its number there. The CPU has one, number 0.
class Stream {
 public:
  Stream(Device device, StreamId id) : device_(device), id_(id) {}
  Device device() const { return device_; }
  StreamId id() const { return id_; }
  friend bool operator==(const Stream& a, const Stream& b) { return a.device_ == b.device_ && a.id_ == b.id_; }

 private:
  Device device_;
  StreamId id_;
};

}  // namespace c10
