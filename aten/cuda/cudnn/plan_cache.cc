#include <bit>
#include <cstdlib>
#include <utility>

#include "aten/cuda/cudnn/plan.h"
#include "c10/util/exception.h"

namespace at::cuda::cudnn {
namespace {

size_t configured_limit() {
  constexpr size_t kDefault = 10000;
  const char* const text = std::getenv("TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT");
  if (text == nullptr) return kDefault;
  char* end = nullptr;
  const long long limit = std::strtoll(text, &end, 10);
  if (end != text && *end == '\0' && limit >= 0) return static_cast<size_t>(limit);
  TORCH_WARN("TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT is no number of plans: ", text, "; the default is used");
  return kDefault;
}

}  // namespace

PlanKey key_of(const ConvolutionProblem& p, const Policy& policy, int device) {
  PlanKey key;
  key.add(device);
  key.add(static_cast<int64_t>(p.part) | static_cast<int64_t>(p.type) << 8 | int64_t{p.dims} << 16);
  key.add(policy.deterministic | policy.tf32 << 1 | policy.benchmark << 2 | p.channels_last << 3 | p.has_bias << 4 |
          p.has_add << 5 | p.relu << 6);
  if (policy.benchmark) key.add(policy.benchmark_limit);
  for (const auto* sizes : {&p.x, &p.w, &p.y}) {
    for (const int64_t size : *sizes) key.add(size);
  }
  for (const auto* numbers : {&p.padding, &p.stride, &p.dilation}) {
    for (const int64_t number : *numbers) key.add(number);
  }
  for (const int64_t alignment : {p.x_alignment, p.w_alignment, p.y_alignment}) key.add(alignment);
  if (p.has_bias) key.add(p.bias_alignment);
  if (p.has_add) key.add(p.add_alignment), key.add(std::bit_cast<int64_t>(p.alpha));
  return key;
}

PlanCache::PlanCache() : limit_(configured_limit()) {}

PlanCache& PlanCache::get() {
  static PlanCache* const cache = new PlanCache;
  return *cache;
}

std::optional<std::shared_ptr<Plan>> PlanCache::find(const PlanKey& key) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(key);
  if (place == places_.end()) {
    ++misses_;
    return std::nullopt;
  }
  ++hits_;
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->plan;
}

void PlanCache::put(const PlanKey& key, std::shared_ptr<Plan> plan) {
  const std::lock_guard lock(mutex_);
  if (const auto place = places_.find(key); place != places_.end()) {
    place->second->plan = std::move(plan);
    return;
  }
  entries_.push_front({key, std::move(plan)});
  places_.emplace(key, entries_.begin());
  shrink();
}

void PlanCache::shrink() {
  while (entries_.size() > limit_) {
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

CacheStats PlanCache::stats() {
  const std::lock_guard lock(mutex_);
  return {entries_.size(), limit_, hits_, misses_};
}

void PlanCache::set_limit(size_t entries) {
  const std::lock_guard lock(mutex_);
  limit_ = entries;
  shrink();
}

void PlanCache::clear() {
  const std::lock_guard lock(mutex_);
  places_.clear();
  entries_.clear();
  hits_ = misses_ = 0;
}

CacheStats cache_stats() {
  return PlanCache::get().stats();
}
void set_cache_limit(size_t entries) {
  PlanCache::get().set_limit(entries);
}
void clear_cache() {
  PlanCache::get().clear();
}

}  // namespace at::cuda::cudnn
