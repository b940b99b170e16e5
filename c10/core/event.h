// A mark in a stream that others can wait for.
#pragma once

#include <utility>

#include "c10/core/device.h"
#include "c10/core/device_guard_impl.h"
#include "c10/core/stream.h"
#include "c10/util/exception.h"

namespace c10 {
namespace impl {

/// Event over a backend's own T.
template <class T>
class InlineEvent final {
 public:
  InlineEvent() = delete;
  explicit InlineEvent(DeviceType type, EventFlag flag = EventFlag::PYTORCH_DEFAULT) : impl_(type), type_(type), flag_(flag) {}
  InlineEvent(const InlineEvent&) = delete;
  InlineEvent& operator=(const InlineEvent&) = delete;
  InlineEvent(InlineEvent&& other) noexcept : InlineEvent(other.impl_, other.type_, other.flag_) { swap(other); }
  InlineEvent& operator=(InlineEvent&& other) noexcept {
    swap(other);
    return *this;
  }
  ~InlineEvent() {
    if (event_ != nullptr) impl_.destroyEvent(event_, index_);
  }

  DeviceType device_type() const noexcept { return type_; }
  DeviceIndex device_index() const noexcept { return index_; }
  Device device() const noexcept { return Device(type_, index_); }
  EventFlag flag() const noexcept { return flag_; }
  bool was_marked_for_recording() const noexcept { return recorded_; }
  void* eventId() const noexcept { return event_; }

  void recordOnce(const Stream& stream) {
    if (!recorded_) record(stream);
  }
  void record(const Stream& stream) {
    check_type(stream, "record");
    TORCH_CHECK(!recorded_ || index_ == stream.device_index(), "Event::record: the event was recorded on device ", device(),
                " and cannot be recorded on a stream of ", stream.device());
    impl_.record(&event_, stream, stream.device_index(), flag_);
    recorded_ = true;
    index_ = stream.device_index();
  }
  void block(const Stream& stream) const {
    if (!recorded_) return;
    check_type(stream, "block");
    impl_.block(event_, stream);
  }
  bool query() const { return !recorded_ || impl_.queryEvent(event_); }
  void synchronize() const {
    if (recorded_) impl_.synchronizeEvent(event_);
  }
  double elapsedTime(const InlineEvent& other) const {
    TORCH_CHECK(other.type_ == type_, "Event::elapsedTime: the events are of devices ", type_, " and ", other.type_);
    TORCH_CHECK_VALUE(flag_ == EventFlag::BACKEND_DEFAULT && other.flag_ == EventFlag::BACKEND_DEFAULT,
                      "Both events must be created with argument 'enable_timing=True'.");
    TORCH_CHECK_VALUE(recorded_ && other.recorded_,
                      "Both events must be recorded before calculating elapsed time.");
    TORCH_CHECK(index_ == other.index_, "Event::elapsedTime: the events are of devices ", device(), " and ",
                other.device());
    TORCH_CHECK(query() && other.query(), "Both events must be completed before calculating elapsed time.");
    return impl_.elapsedTime(event_, other.event_, index_);
  }
  void swap(InlineEvent& other) noexcept {
    std::swap(event_, other.event_);
    std::swap(impl_, other.impl_);
    std::swap(type_, other.type_);
    std::swap(index_, other.index_);
    std::swap(flag_, other.flag_);
    std::swap(recorded_, other.recorded_);
  }

 private:
  InlineEvent(T impl, DeviceType type, EventFlag flag) noexcept : impl_(impl), type_(type), flag_(flag) {}
  void check_type(const Stream& stream, const char* what) const {
    TORCH_CHECK(stream.device_type() == type_, "Event::", what, ": expected a stream of a ", type_, " device, got one of ",
                stream.device());
  }

  void* event_ = nullptr;
  T impl_;
  DeviceType type_;
  DeviceIndex index_ = -1;
  EventFlag flag_;
  bool recorded_ = false;
};

}  // namespace impl

/// A mark in a stream: recorded behind the work that the stream has by then; other streams wait for it, on the device, with
/// block(), the calling thread with synchronize(). Movable only. An event that was never recorded counts as happened.
///
///   c10::Event done(c10::kCUDA);
///   done.record(producer);
///   done.block(consumer);     // or consumer.wait(done)
class Event final {
 public:
  Event() = delete;
  /// EventFlag::BACKEND_DEFAULT also takes times. Throws where no backend for `type` is linked.
  explicit Event(DeviceType type, EventFlag flag = EventFlag::PYTORCH_DEFAULT) : event_(type, flag) {}

  DeviceType device_type() const noexcept { return event_.device_type(); }
  /// -1 before the first record.
  DeviceIndex device_index() const noexcept { return event_.device_index(); }
  Device device() const noexcept { return event_.device(); }
  EventFlag flag() const noexcept { return event_.flag(); }
  bool was_marked_for_recording() const noexcept { return event_.was_marked_for_recording(); }
  /// Does nothing for an event that was recorded before.
  void recordOnce(const Stream& stream) { event_.recordOnce(stream); }
  /// Puts the mark behind the work that `stream` has now. Recording again moves it; the device must be the same.
  void record(const Stream& stream) { event_.record(stream); }
  /// Work put on `stream` from now on waits for the event; the calling thread does not.
  void block(const Stream& stream) const { event_.block(stream); }
  /// Whether the event has happened.
  bool query() const { return event_.query(); }
  /// Milliseconds from this event to `end`. Both must take times, be recorded and have happened.
  double elapsedTime(const Event& end) const { return event_.elapsedTime(end.event_); }
  /// Waits, on the calling thread, until the event has happened.
  void synchronize() const { event_.synchronize(); }
  /// The backend's own event; null before the first record.
  void* eventId() const { return event_.eventId(); }

 private:
  impl::InlineEvent<impl::VirtualGuardImpl> event_;
};

}  // namespace c10
