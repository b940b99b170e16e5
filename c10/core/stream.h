#pragma once

#include <cstddef>
#include <cstdint>

#include "c10/core/device.h"

namespace c10 {

using StreamId = int64_t;

/// A stream as three plain numbers, for files and foreign interfaces.
struct StreamData3 {
  StreamId stream_id;
  DeviceIndex device_index;
  DeviceType device_type;
};

/// A queue of work on a device: what is put on one stream runs in order, different streams run side by side. A plain value,
/// the device and the stream's number there; the device's DeviceGuardImplInterface gives it a meaning. The CPU has one, number 0, which is always
/// finished.
///
///   c10::Stream stream = c10::impl::getDeviceGuardImpl(c10::kCUDA)->getNewStream(device);
///   { c10::StreamGuard guard(stream);  y = x + 1; }
///   stream.synchronize();
class Stream final {
 public:
  enum Unsafe { UNSAFE };
  enum Default { DEFAULT };

  /// The stream with this number; that the device has it is the caller's to know.
  explicit constexpr Stream(Unsafe, Device device, StreamId id) : device_(device), id_(id) {}
  /// The device's default stream.
  explicit constexpr Stream(Default, Device device) : device_(device), id_(0) {}

  constexpr Device device() const noexcept { return device_; }
  constexpr DeviceType device_type() const noexcept { return device_.type(); }
  constexpr DeviceIndex device_index() const noexcept { return device_.index(); }
  constexpr StreamId id() const noexcept { return id_; }

  /// Whether all work put on the stream so far is done.
  bool query() const;
  /// Waits, on the calling thread, until all work put on the stream so far is done.
  void synchronize() const;
  /// Work put on this stream from now on starts when `event` has happened; `event` is a c10::Event or any type with
  /// block(stream). An event that was not recorded counts as happened.
  template <class Event>
  void wait(const Event& event) const {
    event.block(*this);
  }
  /// The backend's own handle (a cudaStream_t), owned by the backend. Throws where it has none.
  void* native_handle() const;

  uint64_t hash() const noexcept {
    return static_cast<uint64_t>(static_cast<uint8_t>(device_type())) << 56 |
           static_cast<uint64_t>(static_cast<uint8_t>(device_index())) << 48 |
           (static_cast<uint64_t>(id_) & ((uint64_t{1} << 48) - 1));
  }
  /// The whole stream in one number: 48 bits of the id with its sign, 8 of the device's index, 8 of its type.
  uint64_t pack() const noexcept { return hash(); }
  static Stream unpack(uint64_t bits) {
    return unpack3(static_cast<StreamId>(bits << 16) >> 16, static_cast<DeviceIndex>(bits >> 48),
                   static_cast<DeviceType>(bits >> 56));
  }
  constexpr StreamData3 pack3() const { return {id_, device_.index(), device_.type()}; }
  /// Throws c10::Error for a device type that does not exist.
  static Stream unpack3(StreamId id, DeviceIndex device_index, DeviceType device_type);

  constexpr bool operator==(const Stream&) const noexcept = default;

 private:
  Device device_;
  StreamId id_;
};

/// "stream 3 on device cuda:0"
void to_text(std::string& out, const Stream& stream);
template <TextStream Out, SameType<Stream> X>
Out& operator<<(Out& out, const X& stream) {
  std::string text;
  to_text(text, stream);
  out << text.c_str();
  return out;
}

}  // namespace c10

namespace std {
template <>
struct hash<c10::Stream> {
  size_t operator()(const c10::Stream& stream) const noexcept { return static_cast<size_t>(stream.hash()); }
};
}  // namespace std

namespace at {
using c10::Stream;
}
