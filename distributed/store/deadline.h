// What the stores share: a point in time to give up at, and the texts that say so.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "c10/util/exception.h"

namespace c10d::detail {

/// When an operation that began at the construction must be over; never with a timeout of 0.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(std::chrono::milliseconds timeout) : start_(Clock::now()), timeout_(timeout) {}

  /// The same start, a later end.
  Deadline extended(std::chrono::milliseconds by) const {
    Deadline later = *this;
    if (limited()) later.timeout_ = std::min(timeout_, kYear) + by;
    return later;
  }
  bool limited() const { return timeout_ != std::chrono::milliseconds::zero(); }
  bool passed() const { return limited() && Clock::now() - start_ >= timeout_; }
  /// Of all but unlimited deadlines. At most two years from the start, which every clock can count.
  Clock::time_point when() const { return start_ + std::min(timeout_, 2 * kYear); }
  std::chrono::milliseconds timeout() const { return timeout_; }
  std::chrono::milliseconds elapsed() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
  }
  /// What is left, rounded up to whole milliseconds, as poll() takes it: -1 without a limit.
  int poll_timeout() const {
    if (!limited()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when() - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
  }

 private:
  static constexpr std::chrono::milliseconds kYear = std::chrono::hours(24 * 365);

  Clock::time_point start_;
  std::chrono::milliseconds timeout_;
};

/// Throws c10::ValueError for a negative time.
inline void check_timeout(std::chrono::milliseconds timeout) {
  TORCH_CHECK_VALUE(timeout.count() >= 0, "a store's timeout must not be negative, got ", timeout.count(), " ms");
}

template <class Key, class Value>
void check_same_count(const std::vector<Key>& keys, const std::vector<Value>& values) {
  TORCH_CHECK_VALUE(keys.size() == values.size(), "multiSet: ", keys.size(), " keys and ", values.size(), " values");
}

/// "'a', 'b'", and of many keys the first ones.
std::string quoted(const std::vector<std::string>& keys);

/// "wait timeout after 300 ms (limit 300 ms) on FileStore at /tmp/x, keys: 'a'"
[[noreturn]] void throw_wait_timeout(const Deadline& deadline, const std::string& where,
                                     const std::vector<std::string>& keys);

/// c10::DistQueueEmptyError: nothing to pop.
[[noreturn]] void throw_queue_empty(const std::string& where, const std::string& key);

}  // namespace c10d::detail
