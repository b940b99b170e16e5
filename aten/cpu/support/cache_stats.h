#pragma once

#include <cstddef>

namespace at::cpu {

/// Of a cache that is bounded in bytes.
struct CacheStats {
  size_t bytes = 0;
  size_t limit = 0;
  size_t entries = 0;
  size_t hits = 0;
  size_t misses = 0;
};

}  // namespace at::cpu
