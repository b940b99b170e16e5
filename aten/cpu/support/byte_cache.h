// What is costly to make and may be wanted again, bounded in bytes.
#pragma once

#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "aten/cpu/support/cache_stats.h"

namespace at::cpu {

/// Values by keys, for threads to share; what was used longest ago goes first. A value has bytes(). Those in use live
/// on after they are dropped.
template <class Key, class Hash>
class ByteCache {
 public:
  explicit ByteCache(size_t limit) : stats_{.limit = limit} {}

  /// The value of `key`, which is always asked for as a V; where it is not here, what make() returns, which is kept if
  /// it is not null and not larger than the limit. Two threads may make the same one; the later is not kept.
  template <class V, class Make>
  std::shared_ptr<const V> find(const Key& key, const Make& make) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = where_.find(key);
      if (found != where_.end()) {
        ++stats_.hits;
        entries_.splice(entries_.begin(), entries_, found->second);
        return std::static_pointer_cast<const V>(found->second->value);
      }
      ++stats_.misses;
    }
    const std::shared_ptr<const V> made = make();
    if (made == nullptr) return nullptr;
    const size_t bytes = made->bytes();
    Entries dropped;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (bytes <= stats_.limit && where_.find(key) == where_.end()) {
      shrink_to(stats_.limit - bytes, &dropped);
      entries_.push_front({key, made, bytes});
      where_.emplace(key, entries_.begin());
      stats_.bytes += bytes;
      ++stats_.entries;
    }
    return made;
  }

  CacheStats stats() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
  }
  /// 0 turns caching off.
  void set_limit(size_t bytes) {
    Entries dropped;
    const std::lock_guard<std::mutex> lock(mutex_);
    stats_.limit = bytes;
    shrink_to(bytes, &dropped);
  }
  void clear() {
    Entries dropped;
    const std::lock_guard<std::mutex> lock(mutex_);
    shrink_to(0, &dropped);
  }

  /// For pthread_atfork: lock() before, then unlock() in the parent and clear_and_unlock() or unlock() in the child.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  void clear_and_unlock() {
    {
      Entries dropped;
      shrink_to(0, &dropped);
    }
    mutex_.unlock();
  }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const void> value;
    size_t bytes;
  };
  using Entries = std::list<Entry>;

  // What goes is destroyed by the caller, outside of the lock.
  void shrink_to(size_t bytes, Entries* dropped) {
    while (stats_.bytes > bytes) {
      const auto last = std::prev(entries_.end());
      stats_.bytes -= last->bytes;
      --stats_.entries;
      where_.erase(last->key);
      dropped->splice(dropped->end(), entries_, last);
    }
  }

  std::mutex mutex_;
  Entries entries_;  // most recently used first
  std::unordered_map<Key, typename Entries::iterator, Hash> where_;
  CacheStats stats_;
};

}  // namespace at::cpu
