// Exchange between the threads of a warp by libtorch's names. All threads of the mask take part.
#pragma once

#include <cuda_runtime.h>

#include "c10/cuda/atomic.cuh"
#include "c10/cuda/launch.h"

__device__ __forceinline__ unsigned WARP_BALLOT(int predicate, unsigned mask = 0xffffffff) {
  return __ballot_sync(mask, predicate);
}
/// The threads that run this together: for code that does not rely on it.
__device__ __forceinline__ unsigned long long WARP_ACTIVE_MASK() {
  return __activemask();
}

namespace c10::cuda {

// The type that a value of T is exchanged as.
template <class T>
struct Exchanged {
  using type = T;
};
template <>
struct Exchanged<Half> {
  using type = unsigned short;
};
template <>
struct Exchanged<BFloat16> {
  using type = unsigned short;
};

// f(value), of complex numbers by parts and of 16 bits as an integer.
template <class T, class F>
__device__ __forceinline__ T exchange(T value, F f) {
  using Type = typename Exchanged<T>::type;
  if constexpr (sizeof(Type) == 2) {
    return same_bits<T>(static_cast<Type>(f(static_cast<unsigned>(same_bits<Type>(value)))));
  } else {
    return f(value);
  }
}
template <class T, class F>
__device__ __forceinline__ c10::complex<T> exchange(c10::complex<T> value, F f) {
  return {f(value.real()), f(value.imag())};
}

}  // namespace c10::cuda

/// The value of the thread `lane`, of the one whose number differs by `lane_mask` in its bits, of those `delta` before
/// and behind.
template <class T>
__device__ __forceinline__ T WARP_SHFL(T value, int lane, int width = warpSize, unsigned mask = 0xffffffff) {
  return c10::cuda::exchange(value, [=](auto part) { return __shfl_sync(mask, part, lane, width); });
}
template <class T>
__device__ __forceinline__ T WARP_SHFL_XOR(T value, int lane_mask, int width = warpSize, unsigned mask = 0xffffffff) {
  return c10::cuda::exchange(value, [=](auto part) { return __shfl_xor_sync(mask, part, lane_mask, width); });
}
template <class T>
__device__ __forceinline__ T WARP_SHFL_UP(T value, unsigned delta, int width = warpSize, unsigned mask = 0xffffffff) {
  return c10::cuda::exchange(value, [=](auto part) { return __shfl_up_sync(mask, part, delta, width); });
}
template <class T>
__device__ __forceinline__ T WARP_SHFL_DOWN(T value, unsigned delta, int width = warpSize, unsigned mask = 0xffffffff) {
  return c10::cuda::exchange(value, [=](auto part) { return __shfl_down_sync(mask, part, delta, width); });
}

/// A value through the read-only cache.
template <class T>
__device__ __forceinline__ T doLdg(const T* address) {
  return *address;
}
