#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "c10/util/exception.h"

namespace torch::data::detail {

/// A queue between threads.
template <typename T>
class Queue {
 public:
  void push(T value) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(std::move(value));
    }
    changed_.notify_one();
  }

  /// The oldest value, once there is one. Throws c10::Error when `timeout` passes before.
  T pop(std::optional<std::chrono::milliseconds> timeout = std::nullopt) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto ready = [this] { return !queue_.empty(); };
    if (timeout) {
      TORCH_CHECK(changed_.wait_for(lock, *timeout, ready),
                  "Timeout in DataLoader queue while waiting for next batch (timeout was ", timeout->count(), " ms)");
    } else {
      changed_.wait(lock, ready);
    }
    T value = std::move(queue_.front());
    queue_.pop_front();
    return value;
  }

  /// Drops everything; returns how much that was.
  size_t clear() {
    std::lock_guard<std::mutex> lock(mutex_);
    const size_t size = queue_.size();
    queue_.clear();
    return size;
  }

 private:
  std::deque<T> queue_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace torch::data::detail
