// States of a reduction, joined by the threads of a warp and of a block in fixed orders.
#pragma once

#include <cstring>
#include <type_traits>

#include "c10/cuda/launch.h"

namespace at::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffu;

template <class T>
__device__ __forceinline__ T shuffle_down(T value, unsigned delta, int width) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0);
  unsigned words[sizeof(T) / 4];
  std::memcpy(words, &value, sizeof value);
#pragma unroll
  for (unsigned& word : words) word = __shfl_down_sync(kAllLanes, word, delta, width);
  std::memcpy(&value, words, sizeof value);
  return value;
}
template <class T>
__device__ __forceinline__ T shuffle_up(T value, unsigned delta, int width = 32) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0);
  unsigned words[sizeof(T) / 4];
  std::memcpy(words, &value, sizeof value);
#pragma unroll
  for (unsigned& word : words) word = __shfl_up_sync(kAllLanes, word, delta, width);
  std::memcpy(&value, words, sizeof value);
  return value;
}
template <class T>
__device__ __forceinline__ T shuffle_from(T value, int lane, int width = 32) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0);
  unsigned words[sizeof(T) / 4];
  std::memcpy(words, &value, sizeof value);
#pragma unroll
  for (unsigned& word : words) word = __shfl_sync(kAllLanes, word, lane, width);
  std::memcpy(&value, words, sizeof value);
  return value;
}

/// The first of every `width` lanes, a power of two, gets what all of them have; join(into, from).
template <class T, class Join>
__device__ __forceinline__ void join_lanes(T& value, int width, const Join& join) {
  for (int delta = width / 2; delta > 0; delta /= 2) {
    const T other = shuffle_down(value, static_cast<unsigned>(delta), width);
    join(value, other);
  }
}

/// The first thread of a block of `threads` (a multiple of 32, at most 1024, all of which call this) gets what all
/// have. `scratch` has room for one value a warp, and is free again behind the block's next barrier.
template <class T, class Join>
__device__ __forceinline__ void join_block(T& value, int thread, int threads, T* scratch, const Join& join) {
  join_lanes(value, 32, join);
  const int warps = threads / 32;
  if (warps == 1) return;
  if (thread % 32 == 0) scratch[thread / 32] = value;
  __syncthreads();
  if (thread == 0) {
    for (int warp = 1; warp < warps; ++warp) {
      const T other = scratch[warp];
      join(value, other);
    }
  }
}

}  // namespace at::cuda
