// Sums and maxima over a warp and a block, by libtorch's names. All threads of the block call them; the result is that
// of the block's first thread.
#pragma once

#include "c10/cuda/warp.cuh"

namespace at::native::cuda_utils {

inline constexpr int kCUDABlockReduceNumThreads = 512;
/// A warp's partial results are one for each of its threads at most.
inline constexpr int kCUDABlockReduceMaxThreads = C10_WARP_SIZE * C10_WARP_SIZE;

struct Block1D {
  static __device__ __forceinline__ int Tid() { return static_cast<int>(threadIdx.x); }
  static __device__ __forceinline__ int Warps() { return static_cast<int>(blockDim.x) / C10_WARP_SIZE; }
};
struct Block2D {
  static __device__ __forceinline__ int Tid() { return static_cast<int>(threadIdx.x + threadIdx.y * blockDim.x); }
  static __device__ __forceinline__ int Warps() { return static_cast<int>(blockDim.x * blockDim.y) / C10_WARP_SIZE; }
};

/// `op` has combine(a, b) and warp_shfl_down(value, offset).
template <typename T, class ReduceOp>
__device__ __forceinline__ T WarpReduce(T val, const ReduceOp& op) {
  for (int offset = C10_WARP_SIZE / 2; offset > 0; offset /= 2) val = op.combine(val, op.warp_shfl_down(val, offset));
  return val;
}

/// `shared` has a place for each warp. The block is of whole warps.
template <typename T, class ReduceOp, typename B = Block1D>
__device__ __forceinline__ T BlockReduce(T val, const ReduceOp& op, const T& identity, T* shared) {
  const int lane = B::Tid() % C10_WARP_SIZE, warp = B::Tid() / C10_WARP_SIZE;
  val = WarpReduce(val, op);
  __syncthreads();  // a result before this one may still be read
  if (lane == 0) shared[warp] = val;
  __syncthreads();
  val = B::Tid() < B::Warps() ? shared[lane] : identity;
  if (warp == 0) val = WarpReduce(val, op);
  return val;
}

template <typename T>
struct SumOp {
  __device__ __forceinline__ T combine(T a, T b) const { return a + b; }
  __device__ __forceinline__ T warp_shfl_down(T value, int offset) const {
    return WARP_SHFL_DOWN(value, static_cast<unsigned>(offset));
  }
};
/// NaN is larger than all others.
template <typename T>
struct MaxOp {
  __device__ __forceinline__ T combine(T a, T b) const { return a != a || a > b ? a : b; }
  __device__ __forceinline__ T warp_shfl_down(T value, int offset) const {
    return WARP_SHFL_DOWN(value, static_cast<unsigned>(offset));
  }
};

template <typename T>
__device__ __forceinline__ T WarpReduceSum(T val) {
  return WarpReduce(val, SumOp<T>());
}
template <typename T>
__device__ __forceinline__ T WarpReduceMax(T val) {
  return WarpReduce(val, MaxOp<T>());
}
template <typename T, typename B = Block1D>
__device__ __forceinline__ T BlockReduceSum(T val, T* shared) {
  return BlockReduce<T, SumOp<T>, B>(val, SumOp<T>(), T(0), shared);
}
template <typename T, typename B = Block1D>
__device__ __forceinline__ T BlockReduceMax(T val, T* shared) {
  // The first warp's other places repeat its own value, which changes no maximum.
  const int lane = B::Tid() % C10_WARP_SIZE, warp = B::Tid() / C10_WARP_SIZE;
  val = WarpReduceMax(val);
  __syncthreads();
  if (lane == 0) shared[warp] = val;
  __syncthreads();
  val = B::Tid() < B::Warps() ? shared[lane] : shared[0];
  if (warp == 0) val = WarpReduceMax(val);
  return val;
}

}  // namespace at::native::cuda_utils
