#pragma once

#include <cstddef>

// The process-wide cache of prepared oneDNN primitives (compiled kernels and reorderings). In builds without oneDNN it is
// always empty.

namespace at::matrix {

struct PrimitiveCacheStats {
  size_t bytes = 0;    ///< estimated: 64 KiB of code and bookkeeping a primitive or reordering
  size_t limit = 0;
  size_t entries = 0;
  size_t hits = 0;
  size_t misses = 0;
};

PrimitiveCacheStats primitive_cache_stats();

/// Bounds the cache; what was used longest ago goes first. 32 MiB at the start; 0 turns caching off.
void set_primitive_cache_limit(size_t bytes);

/// Drops every entry. Primitives in use live on until they are done.
void clear_primitive_cache();

}  // namespace at::matrix
