#pragma once

#include <cstddef>

#include "aten/cpu/support/cache_stats.h"

// The process-wide cache of prepared oneDNN primitives (compiled kernels and reorderings). In builds without oneDNN it is
// always empty.

namespace at::matrix {

/// Bytes are estimated: 64 KiB of code and bookkeeping a primitive or reordering.
using PrimitiveCacheStats = cpu::CacheStats;
PrimitiveCacheStats primitive_cache_stats();

/// Bounds the cache; what was used longest ago goes first. 32 MiB at the start; 0 turns caching off.
void set_primitive_cache_limit(size_t bytes);

/// Drops every entry. Primitives in use live on until they are done.
void clear_primitive_cache();

}  // namespace at::matrix
