// Gloo's transport with what it lacks: a deadline for each operation, an end to waiting that any thread can call, and
// errors that name the rank that was waited for.
//
// Gloo's algorithms run on these buffers unchanged. Include it in sources only: Gloo's headers are large.
#pragma once

#include <gloo/common/error.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace c10d::gloo_transport {

class Buffer;

/// A wait that failed, whom it was for, and whether that is because the connection with one of them has ended.
struct WaitError : gloo::IoException {
  WaitError(const std::string& text, std::vector<int> waited_for, bool is_lost = false)
      : IoException(text), ranks(std::move(waited_for)), is_lost(is_lost) {}
  std::vector<int> ranks;
  bool is_lost;
};

/// The waits of a group's threads.
class Waits {
 public:
  /// Ends all waits, and those that come later, with an error of this text; the first one stays.
  void abort(const std::string& why);
  /// Why waits end; "" where they do not.
  std::string aborted() const;
  /// Has those who wait for a message that may come from several ranks look who is left.
  void wake_receivers_of_any();

 private:
  friend class Buffer;
  mutable std::mutex mutex_;
  std::set<Buffer*> live_;
  std::string aborted_;
};

/// As long as it lives, the calling thread's waits end at the deadline.
class DeadlineScope {
 public:
  explicit DeadlineScope(std::chrono::steady_clock::time_point deadline);
  ~DeadlineScope();
  DeadlineScope(const DeadlineScope&) = delete;
  DeadlineScope& operator=(const DeadlineScope&) = delete;

 private:
  std::chrono::steady_clock::time_point before_;
};

/// As long as it lives, writing to a connection that the peer has closed is an error for the calling thread, and for
/// threads that it starts, and no SIGPIPE, which would end the process: Gloo writes without MSG_NOSIGNAL.
class NoBrokenPipe {
 public:
  NoBrokenPipe();
  ~NoBrokenPipe();
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t before_;
};

/// A device whose contexts' buffers throw WaitError at the deadline and when a peer is gone, and gloo::IoException when
/// `waits` is aborted.
std::shared_ptr<gloo::transport::Device> guarded(std::shared_ptr<gloo::transport::Device> device,
                                                 std::shared_ptr<Waits> waits);

}  // namespace c10d::gloo_transport
