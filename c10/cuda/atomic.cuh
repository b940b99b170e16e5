// Atomic operations of kernels for the types that tensors have, by libtorch's names. Each gives the value from before;
// sums of floating numbers depend on the order of the threads.
//
//   gpuAtomicAdd(&grad[index], value);
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "c10/cuda/launch.h"
#include "c10/util/bfloat16.h"
#include "c10/util/complex.h"
#include "c10/util/half.h"

namespace c10::cuda {

template <class To, class From>
__device__ __forceinline__ To same_bits(const From& value) {
  static_assert(sizeof(To) == sizeof(From));
  To bits;
  memcpy(&bits, &value, sizeof(To));
  return bits;
}

/// *address = f(*address), as one step; gives the value from before. T has 1, 2, 4 or 8 bytes. The first guess of what
/// is there is 0: a plain read beside the atomic operations of other threads would be a race.
template <class T, class F>
__device__ __forceinline__ T atomic_update(T* address, F f) {
  if constexpr (sizeof(T) == 1) {
    // No compare-and-swap of bytes: of the word around it.
    const auto place = reinterpret_cast<uintptr_t>(address);
    auto* word = reinterpret_cast<unsigned*>(place & ~uintptr_t{3});
    const unsigned shift = static_cast<unsigned>(place & 3) * 8;
    unsigned seen = 0;
    for (;;) {
      const T before = same_bits<T>(static_cast<uint8_t>(seen >> shift));
      const unsigned after = same_bits<uint8_t>(static_cast<T>(f(before)));
      const unsigned found = atomicCAS(word, seen, (seen & ~(0xffu << shift)) | after << shift);
      if (found == seen) return before;
      seen = found;
    }
  } else {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
    using Bits = std::conditional_t<sizeof(T) == 2, unsigned short,
                                    std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>>;
    auto* bits = reinterpret_cast<Bits*>(address);
    Bits seen = 0;
    for (;;) {
      const T before = same_bits<T>(seen);
      const Bits found = atomicCAS(bits, seen, same_bits<Bits>(static_cast<T>(f(before))));
      if (found == seen) return before;
      seen = found;
    }
  }
}

template <class T>
inline constexpr bool is_atomic_number_v =
    (std::is_integral_v<T> && !std::is_same_v<T, bool>) || std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// The arithmetic of a type, for sums in place; of integers without overflow's undefined behaviour.
template <class T>
__device__ __forceinline__ T atomic_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return a + b;
  }
}
template <class T>
__device__ __forceinline__ bool is_nan(T value) {
  return value != value;
}

}  // namespace c10::cuda

/// Sums.
template <class T>
requires c10::cuda::is_atomic_number_v<T> __device__ __forceinline__ T gpuAtomicAdd(T* address, T value) {
  if constexpr (std::is_same_v<T, c10::Half>) {
    const __half before = ::atomicAdd(reinterpret_cast<__half*>(address), c10::cuda::same_bits<__half>(value));
    return c10::cuda::same_bits<T>(before);
  } else if constexpr (std::is_same_v<T, c10::BFloat16>) {
    const __nv_bfloat16 before =
        ::atomicAdd(reinterpret_cast<__nv_bfloat16*>(address), c10::cuda::same_bits<__nv_bfloat16>(value));
    return c10::cuda::same_bits<T>(before);
  } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int> ||
                       std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>) {
    return ::atomicAdd(address, value);
  } else if constexpr (sizeof(T) == 8) {
    using U = unsigned long long;
    return static_cast<T>(::atomicAdd(reinterpret_cast<U*>(address), static_cast<U>(value)));
  } else {
    return c10::cuda::atomic_update(address, [value](T old) { return c10::cuda::atomic_sum(old, value); });
  }
}
/// True where one of them is.
__device__ __forceinline__ bool gpuAtomicAdd(bool* address, bool value) {
  return c10::cuda::atomic_update(address, [value](bool old) { return old || value; });
}
/// Each part is one step; both together are not.
template <class T>
__device__ __forceinline__ void gpuAtomicAdd(c10::complex<T>* address, c10::complex<T> value) {
  gpuAtomicAdd(reinterpret_cast<T*>(address), value.real());
  gpuAtomicAdd(reinterpret_cast<T*>(address) + 1, value.imag());
}
/// For who does not need the value from before.
template <class T>
__device__ __forceinline__ void gpuAtomicAddNoReturn(T* address, T value) {
  gpuAtomicAdd(address, value);
}

/// Products.
template <class T>
requires c10::cuda::is_atomic_number_v<T> __device__ __forceinline__ T gpuAtomicMul(T* address, T value) {
  return c10::cuda::atomic_update(address, [value](T old) { return static_cast<T>(old * value); });
}
/// The larger and the smaller; NaN where one of them is.
template <class T>
requires c10::cuda::is_atomic_number_v<T> __device__ __forceinline__ T gpuAtomicMax(T* address, T value) {
  return c10::cuda::atomic_update(address, [value](T old) {
    return c10::cuda::is_nan(old) || (!c10::cuda::is_nan(value) && old > value) ? old : value;
  });
}
template <class T>
requires c10::cuda::is_atomic_number_v<T> __device__ __forceinline__ T gpuAtomicMin(T* address, T value) {
  return c10::cuda::atomic_update(address, [value](T old) {
    return c10::cuda::is_nan(old) || (!c10::cuda::is_nan(value) && old < value) ? old : value;
  });
}

// What programs call for scalar_t: the types that CUDA's own atomicAdd lacks.
#define KD_ATOMIC_ADD(type)                                              \
  __device__ __forceinline__ type atomicAdd(type* address, type value) { \
    return gpuAtomicAdd(address, value);                                 \
  }
KD_ATOMIC_ADD(uint8_t)
KD_ATOMIC_ADD(int8_t)
KD_ATOMIC_ADD(int16_t)
KD_ATOMIC_ADD(int64_t)
KD_ATOMIC_ADD(bool)
KD_ATOMIC_ADD(c10::Half)
KD_ATOMIC_ADD(c10::BFloat16)
#undef KD_ATOMIC_ADD
template <class T>
__device__ __forceinline__ void atomicAdd(c10::complex<T>* address, c10::complex<T> value) {
  gpuAtomicAdd(address, value);
}
