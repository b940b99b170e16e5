// What is recorded of allocations, for all devices.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "c10/core/device.h"
#include "c10/cuda/caching_allocator.h"

namespace c10::cuda::CUDACachingAllocator {

/// The last `limit` of what was put in.
template <class T>
class Ring {
 public:
  void set_limit(size_t limit) {
    std::vector<T> kept = in_order();
    if (kept.size() > limit) kept.erase(kept.begin(), kept.end() - static_cast<ptrdiff_t>(limit));
    entries_ = std::move(kept);
    limit_ = limit;
    next_ = 0;
  }
  void clear() {
    entries_ = {};
    next_ = 0;
  }
  void push(T entry) {
    if (entries_.size() < limit_) {
      entries_.push_back(std::move(entry));
    } else if (limit_ > 0) {
      entries_[next_] = std::move(entry);
      next_ = (next_ + 1) % limit_;
    }
  }
  /// The oldest first.
  std::vector<T> in_order() const {
    std::vector<T> result(entries_.begin() + static_cast<ptrdiff_t>(next_), entries_.end());
    result.insert(result.end(), entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(next_));
    return result;
  }

 private:
  std::vector<T> entries_;
  size_t limit_ = 0;
  size_t next_ = 0;  // the oldest one, once the ring is full
};

int64_t microseconds_since_1970();

/// Whether and what is recorded, and who watches: of allocations that nobody watches, two flags are read.
class History {
 public:
  bool is_enabled() const { return enabled_.load(std::memory_order_relaxed); }
  /// Whether events go anywhere.
  bool is_watched() const { return watched_.load(std::memory_order_relaxed); }
  RecordContext when() const { return when_.load(std::memory_order_relaxed); }

  /// A context where events of this level have one, else null.
  std::shared_ptr<GatheredContext> gather(RecordContext level) const {
    if (when() < level || when() == RecordContext::NEVER) [[likely]]
      return nullptr;
    const CreateContextFn recorder = recorder_.load(std::memory_order_relaxed);
    return recorder != nullptr ? recorder() : nullptr;
  }

  void configure(bool enabled, CreateContextFn recorder, size_t max_entries, RecordContext when, bool clear);
  void annotate(c10::DeviceIndex device, std::vector<std::pair<std::string, std::string>> metadata);
  std::vector<AnnotationEntry> annotations();

  void watch(AllocatorTraceTracker tracker);
  void observe_out_of_memory(OutOfMemoryObserver observer);
  void notify(const TraceEntry& entry);
  void notify_out_of_memory(int64_t device, size_t allocated, size_t total, size_t free);

  // The calling thread's.
  static std::string& user_metadata();
  static std::vector<std::string>& compile_contexts();

 private:
  template <class F>
  std::vector<F> copy_of(const std::vector<F>& observers) {
    std::lock_guard lock(mutex_);
    return observers;
  }

  std::atomic<bool> enabled_{false};
  std::atomic<bool> watched_{false};
  std::atomic<bool> has_trackers_{false};
  std::atomic<RecordContext> when_{RecordContext::NEVER};
  std::atomic<CreateContextFn> recorder_{nullptr};
  std::mutex mutex_;
  std::vector<AllocatorTraceTracker> trackers_;
  std::vector<OutOfMemoryObserver> observers_;
  Ring<AnnotationEntry> annotations_;
};

}  // namespace c10::cuda::CUDACachingAllocator
