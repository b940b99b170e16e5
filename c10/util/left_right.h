// A value that many threads read and few write: behind a reader-writer lock.
#pragma once

#include <mutex>
#include <shared_mutex>
#include <utility>

namespace c10 {

template <class T>
class RWSafeLeftRightWrapper final {
 public:
  template <class... Args>
  explicit RWSafeLeftRightWrapper(const Args&... args) : data_{args...} {}
  RWSafeLeftRightWrapper(const RWSafeLeftRightWrapper&) = delete;
  RWSafeLeftRightWrapper& operator=(const RWSafeLeftRightWrapper&) = delete;

  /// `read` may run in several threads at once, and gets a const T&.
  template <class F>
  auto read(F&& read) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    return std::forward<F>(read)(data_);
  }
  /// `write` runs alone, once.
  template <class F>
  auto write(F&& write) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    return std::forward<F>(write)(data_);
  }

 private:
  mutable std::shared_mutex mutex_;
  T data_;
};
template <class T>
using LeftRight = RWSafeLeftRightWrapper<T>;

}  // namespace c10
