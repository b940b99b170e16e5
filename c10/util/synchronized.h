// Synchronized<T>: a value behind its lock.
//
//   c10::Synchronized<std::vector<int>> values;
//   values.withLock([](auto& v) { v.push_back(1); });
#pragma once

#include <mutex>
#include <utility>

namespace c10 {

template <class T>
class Synchronized final {
 public:
  Synchronized() = default;
  Synchronized(const T& value) : value_(value) {}
  Synchronized(T&& value) : value_(std::move(value)) {}
  Synchronized(const Synchronized&) = delete;
  Synchronized& operator=(const Synchronized&) = delete;
  template <class Callback>
  auto withLock(Callback&& callback) {
    std::lock_guard<std::mutex> lock(mutex_);
    return callback(value_);
  }
  template <class Callback>
  auto withLock(Callback&& callback) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return callback(value_);
  }

 private:
  mutable std::mutex mutex_;
  T value_;
};

}  // namespace c10
