// The current stream of a device, changed for a scope.
#pragma once

#include <optional>

#include "c10/core/device_guard.h"
#include "c10/core/stream.h"
#include "c10/util/array_ref.h"
#include "c10/util/small_vector.h"

namespace c10 {
namespace impl {

/// StreamGuard over a backend's own T: sets the stream and its device, restores both.
template <class T>
class InlineStreamGuard {
 public:
  InlineStreamGuard() = delete;
  explicit InlineStreamGuard(Stream stream)
      : device_guard_(stream.device()), impl_(stream.device_type()), original_(impl_.exchangeStream(stream)), current_(stream) {}
  InlineStreamGuard(Stream stream, const DeviceGuardImplInterface* impl)
    requires std::is_same_v<T, VirtualGuardImpl>
      : device_guard_(stream.device(), impl), impl_(impl), original_(impl_.exchangeStream(stream)), current_(stream) {}
  InlineStreamGuard(const InlineStreamGuard&) = delete;
  InlineStreamGuard& operator=(const InlineStreamGuard&) = delete;
  ~InlineStreamGuard() { impl_.exchangeStream(original_); }

  /// Another stream. On another device, the first device's stream is restored now.
  void reset_stream(Stream stream) {
    if (stream.device() == current_.device()) {
      impl_.exchangeStream(stream);
    } else {
      impl_.exchangeStream(original_);
      device_guard_.reset_device(stream.device());
      impl_ = T(stream.device_type());
      original_ = impl_.exchangeStream(stream);
    }
    current_ = stream;
  }
  Stream original_stream() const { return original_; }
  Stream current_stream() const { return current_; }
  Device original_device() const { return device_guard_.original_device(); }
  Device current_device() const { return current_.device(); }

 private:
  InlineDeviceGuard<T> device_guard_;
  T impl_;
  Stream original_;
  Stream current_;
};

template <class T>
class InlineOptionalStreamGuard {
 public:
  InlineOptionalStreamGuard() = default;
  explicit InlineOptionalStreamGuard(std::optional<Stream> stream) {
    if (stream.has_value()) guard_.emplace(*stream);
  }
  InlineOptionalStreamGuard(const InlineOptionalStreamGuard&) = delete;
  InlineOptionalStreamGuard& operator=(const InlineOptionalStreamGuard&) = delete;

  void reset_stream(Stream stream) {
    if (guard_.has_value()) {
      guard_->reset_stream(stream);
    } else {
      guard_.emplace(stream);
    }
  }
  std::optional<Stream> original_stream() const {
    return guard_.has_value() ? std::optional(guard_->original_stream()) : std::nullopt;
  }
  std::optional<Stream> current_stream() const {
    return guard_.has_value() ? std::optional(guard_->current_stream()) : std::nullopt;
  }
  void reset() { guard_.reset(); }

 private:
  std::optional<InlineStreamGuard<T>> guard_;
};

/// Streams of several devices of one type, at most one a device; the current device stays.
template <class T>
class InlineMultiStreamGuard {
 public:
  // Delegates, so that the destructor runs where a later stream is refused.
  explicit InlineMultiStreamGuard(ArrayRef<Stream> streams) : InlineMultiStreamGuard() {
    for (const Stream& stream : streams) {
      TORCH_CHECK(stream.device_type() == streams[0].device_type(), "MultiStreamGuard: streams of one device type are "
                  "expected, got ", streams[0].device_type(), " and ", stream.device_type());
    }
    if (streams.empty()) return;
    impl_.emplace(streams[0].device_type());
    for (const Stream& stream : streams) originals_.push_back(impl_->exchangeStream(stream));
  }
  InlineMultiStreamGuard(const InlineMultiStreamGuard&) = delete;
  InlineMultiStreamGuard& operator=(const InlineMultiStreamGuard&) = delete;
  ~InlineMultiStreamGuard() {
    for (size_t i = originals_.size(); i > 0; --i) impl_->exchangeStream(originals_[i - 1]);
  }

 private:
  InlineMultiStreamGuard() = default;

  std::optional<T> impl_;
  SmallVector<Stream, 4> originals_;
};

}  // namespace impl

/// Makes `stream` the current stream of its device, and its device the current one, until the end of the scope.
class StreamGuard {
 public:
  StreamGuard() = delete;
  explicit StreamGuard(Stream stream) : guard_(stream) {}

  /// Another stream, on another device too.
  void reset_stream(Stream stream) { guard_.reset_stream(stream); }
  /// The stream that was current on current_device() before.
  Stream original_stream() const { return guard_.original_stream(); }
  Stream current_stream() const { return guard_.current_stream(); }
  Device current_device() const { return guard_.current_device(); }
  /// The device that was current before.
  Device original_device() const { return guard_.original_device(); }

 private:
  impl::InlineStreamGuard<impl::VirtualGuardImpl> guard_;
};

/// A StreamGuard that may have no stream: then it does nothing.
class OptionalStreamGuard {
 public:
  OptionalStreamGuard() = default;
  explicit OptionalStreamGuard(Stream stream) : guard_(stream) {}
  explicit OptionalStreamGuard(std::optional<Stream> stream) : guard_(stream) {}

  void reset_stream(Stream stream) { guard_.reset_stream(stream); }
  std::optional<Stream> original_stream() const { return guard_.original_stream(); }
  std::optional<Stream> current_stream() const { return guard_.current_stream(); }
  void reset() { guard_.reset(); }

 private:
  impl::InlineOptionalStreamGuard<impl::VirtualGuardImpl> guard_;
};

/// Sets the current streams of several devices of one type; the current device stays as it is.
class MultiStreamGuard {
 public:
  explicit MultiStreamGuard(ArrayRef<Stream> streams) : guard_(streams) {}

 private:
  impl::InlineMultiStreamGuard<impl::VirtualGuardImpl> guard_;
};

}  // namespace c10
