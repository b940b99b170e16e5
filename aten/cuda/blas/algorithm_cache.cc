#include "aten/cuda/blas/algorithm_cache.h"

namespace at::cuda::blas {

AlgorithmCache& AlgorithmCache::get() {
  static AlgorithmCache* const cache = new AlgorithmCache;
  return *cache;
}

std::optional<Choice> AlgorithmCache::find(const AlgorithmKey& key) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(key);
  if (place == places_.end()) {
    ++misses_;
    return std::nullopt;
  }
  ++hits_;
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->choice;
}

void AlgorithmCache::put(const AlgorithmKey& key, const Choice& choice) {
  const std::lock_guard lock(mutex_);
  if (const auto place = places_.find(key); place != places_.end()) {
    place->second->choice = choice;
    return;
  }
  entries_.push_front({key, choice});
  places_.emplace(key, entries_.begin());
  shrink();
}

void AlgorithmCache::shrink() {
  while (!entries_.empty() && entries_.size() * kEntryBytes > limit_) {
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

CacheStats AlgorithmCache::stats() {
  const std::lock_guard lock(mutex_);
  return {entries_.size(), entries_.size() * kEntryBytes, limit_, hits_, misses_};
}

void AlgorithmCache::set_limit(size_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
  shrink();
}

void AlgorithmCache::clear() {
  const std::lock_guard lock(mutex_);
  places_.clear();
  entries_.clear();
  hits_ = misses_ = 0;
}

CacheStats cache_stats() {
  return AlgorithmCache::get().stats();
}
void set_cache_limit(size_t bytes) {
  AlgorithmCache::get().set_limit(bytes);
}
void clear_cache() {
  AlgorithmCache::get().clear();
}

}  // namespace at::cuda::blas
