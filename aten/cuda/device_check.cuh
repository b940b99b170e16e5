// What a kernel does with bad input that only it sees: the launch ends, and later calls of CUDA fail.
#pragma once

#include <cassert>

#include "c10/cuda/launch.h"

#ifdef KD_CUDA_ON_HOST
#define AT_CUDA_KERNEL_CHECK(condition, text) \
  do {                                        \
    if (!(condition)) ::simt::fault(text);    \
  } while (false)
#else
#define AT_CUDA_KERNEL_CHECK(condition, text)                            \
  do {                                                                   \
    if (!(condition)) __assert_fail(text, __FILE__, __LINE__, __func__); \
  } while (false)
#endif

namespace at::cuda {

/// A store to a place that other threads may store to at the same time: the element of any of them stays there.
#ifdef KD_CUDA_ON_HOST
template <class T>
[[gnu::noinline]] SIMT_UNWATCHED void store_racing(void* address, const T& value) {
  if (reinterpret_cast<uintptr_t>(address) % sizeof(T) != 0) ::simt::fault("misaligned store");
  ::simt::watch::atomic(address, sizeof(T), __builtin_return_address(0));
  *static_cast<T*>(address) = value;
}
#else
template <class T>
KD_DEVICE void store_racing(void* address, const T& value) {
  *static_cast<T*>(address) = value;
}
#endif

}  // namespace at::cuda
