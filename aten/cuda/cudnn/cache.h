// What programs and tests may know of how cuDNN is used.
#pragma once

#include <cstddef>
#include <cstdint>

namespace at::cuda::cudnn {

/// What plans have cost: they are remembered by all that decides about them, 10,000 of them, or as many as
/// TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT says; the least recently used are forgotten.
struct CacheStats {
  size_t entries = 0, limit = 0;
  uint64_t hits = 0, misses = 0;
};
CacheStats cache_stats();
void set_cache_limit(size_t entries);
void clear_cache();

}  // namespace at::cuda::cudnn
