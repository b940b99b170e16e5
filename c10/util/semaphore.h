// A counting semaphore, as c10 programs name its calls.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace c10 {

class Semaphore {
 public:
  explicit Semaphore(int32_t initial_count = 0) : count_(initial_count) {}
  void release(int32_t n = 1) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      count_ += n;
    }
    changed_.notify_all();
  }
  void acquire() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return count_ > 0; });
    --count_;
  }
  bool tryAcquire() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (count_ <= 0) return false;
    --count_;
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int32_t count_;
};

}  // namespace c10
