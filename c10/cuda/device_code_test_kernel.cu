#include "c10/cuda/device_code_test_kernel.h"

#include <ATen/cuda/detail/KernelUtils.h>
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/DeviceUtils.cuh>

#include "c10/cuda/launch.h"
#include "c10/util/complex.h"

namespace c10::cuda {
namespace {

// Neighbours in memory, so that what an operation does beside its own bytes is seen.
template <class T>
__global__ void add_kernel(T* memory, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  gpuAtomicAdd(&memory[i % 4], static_cast<T>(1));
  gpuAtomicAddNoReturn(&memory[4 + i % 4], static_cast<T>(2));
  atomicAdd(&memory[8 + i % 4], static_cast<T>(3));
}

template <class T>
__global__ void extremes_kernel(T* memory, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  gpuAtomicMax(&memory[i % 4], static_cast<T>(i));
  gpuAtomicMin(&memory[4 + i % 4], static_cast<T>(i));
}

__global__ void multiply_kernel(double* memory, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) gpuAtomicMul(&memory[i % 2], 2.0);
}

__global__ void set_kernel(bool* memory, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) gpuAtomicAdd(&memory[i % 16], i % 16 == 5);
}

template <class T>
__global__ void exchange_kernel(T* out) {
  const int lane = static_cast<int>(threadIdx.x);
  const T mine = static_cast<T>(static_cast<float>(lane));
  out[lane] = WARP_SHFL(mine, 3);
  out[32 + lane] = WARP_SHFL_XOR(mine, 1);
  out[64 + lane] = WARP_SHFL_UP(mine, 2);
  out[96 + lane] = WARP_SHFL_DOWN(mine, 2, 16);
  const unsigned odd = WARP_BALLOT(lane % 2);
  out[128 + lane] = static_cast<T>(static_cast<float>(odd == 0xaaaaaaaau && (WARP_ACTIVE_MASK() >> lane & 1) != 0));
}

__global__ void number_kernel(int* out, int n) {
  CUDA_KERNEL_LOOP(i, n) {
    if (i == -1) continue;
    out[i] = i;
  }
}

unsigned blocks_for(int n) {
  return static_cast<unsigned>(at::cuda::detail::GET_BLOCKS(n, 64));
}

}  // namespace

template <class T>
void add_from_threads(T* memory, int n) {
  launch_or_throw("add", add_kernel<T>, {.grid = blocks_for(n), .block = 64}, memory, n);
}
template <class T>
void extremes_from_threads(T* memory, int n) {
  launch_or_throw("extremes", extremes_kernel<T>, {.grid = blocks_for(n), .block = 64}, memory, n);
}
void multiply_from_threads(double* memory, int n) {
  launch_or_throw("multiply", multiply_kernel, {.grid = 1, .block = 64}, memory, n);
}
void set_from_threads(bool* memory, int n) {
  launch_or_throw("set", set_kernel, {.grid = 1, .block = 64}, memory, n);
}
template <class T>
void exchange_lanes(T* out) {
  launch_or_throw("exchange", exchange_kernel<T>, {.grid = 1, .block = 32}, out);
}
void number(int* out, int n) {
  launch_or_throw("number", number_kernel, {.grid = 2, .block = 32}, out, n);
}

#define KD_ADD(T) template void add_from_threads(T*, int);
KD_ADD(uint8_t)
KD_ADD(int8_t)
KD_ADD(int16_t)
KD_ADD(int32_t)
KD_ADD(int64_t)
KD_ADD(float)
KD_ADD(double)
KD_ADD(Half)
KD_ADD(BFloat16)
KD_ADD(complex<float>)
KD_ADD(complex<double>)
#define KD_EXTREMES(T) template void extremes_from_threads(T*, int);
KD_EXTREMES(uint8_t)
KD_EXTREMES(int16_t)
KD_EXTREMES(int64_t)
KD_EXTREMES(float)
KD_EXTREMES(double)
KD_EXTREMES(Half)
KD_EXTREMES(BFloat16)
#define KD_EXCHANGE(T) template void exchange_lanes(T*);
KD_EXCHANGE(int)
KD_EXCHANGE(double)
KD_EXCHANGE(Half)
KD_EXCHANGE(BFloat16)
KD_EXCHANGE(complex<float>)

}  // namespace c10::cuda
