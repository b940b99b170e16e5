// Sums of blocks in shared memory, histograms with atomic additions, and strided copies by TensorInfo.
#include <ATen/ceil_div.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/detail/KernelUtils.h>
#include <c10/cuda/CUDAMathCompat.h>
#include <torch/types.h>
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDAApplyUtils.cuh>
#include <ATen/cuda/DeviceUtils.cuh>
#include <ATen/cuda/NumericLimits.cuh>
#include <ATen/cuda/detail/IndexUtils.cuh>
#include <ATen/cuda/detail/OffsetCalculator.cuh>
#include <ATen/cuda/detail/TensorInfo.cuh>
#include <ATen/native/cuda/KernelUtils.cuh>
#include <ATen/native/cuda/block_reduce.cuh>

#include "tests/cuda_on_host/programs/programs.h"

namespace programs {
namespace {

using at::cuda::detail::IndexToOffset;
using at::cuda::detail::TensorInfo;
using at::native::cuda_utils::BlockReduceMax;
using at::native::cuda_utils::BlockReduceSum;

// A row's sum and largest element.
__global__ void row_statistics_kernel(const float* x, float* sums, float* maxima, int columns) {
  extern __shared__ float partial[];
  float sum = 0, largest = at::numeric_limits<float>::lower_bound();
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    const float value = x[blockIdx.x * columns + i];
    sum += value;
    largest = c10::cuda::compat::max(largest, value);
  }
  sum = BlockReduceSum(sum, partial);
  largest = BlockReduceMax(largest, partial);
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    maxima[blockIdx.x] = largest;
  }
}

// Sums by a tree, without warps' help.
template <int kBlock>
__global__ void tree_sum_kernel(const float* __restrict__ x, float* __restrict__ total, int n) {
  __shared__ float tree[kBlock];
  const int i = blockIdx.x * kBlock + threadIdx.x;
  tree[threadIdx.x] = i < n ? x[i] : 0.f;
  __syncthreads();
#pragma unroll
  for (int half = kBlock / 2; half > 0; half >>= 1) {
    if (threadIdx.x < half) tree[threadIdx.x] += tree[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) gpuAtomicAdd(total, tree[0]);
}

template <typename index_t>
__global__ void histogram_kernel(const index_t* values, int* counts, at::Half* weights, int bins, int64_t n) {
  CUDA_KERNEL_LOOP_TYPE(i, n, int64_t) {
    const index_t bin = values[i];
    CUDA_KERNEL_ASSERT(bin >= 0 && bin < bins);
    gpuAtomicAddNoReturn(&counts[bin], 1);
    at::native::fastAtomicAdd(weights, static_cast<int>(bin), bins, static_cast<at::Half>(0.5f), true);
  }
}

template <typename T, typename IndexType, int Dims>
__global__ void gather_kernel(const TensorInfo<const T, IndexType> from, T* to, IndexType n) {
  for (IndexType i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    to[i] = from.data[IndexToOffset<const T, IndexType, Dims>::get(i, from)];
  }
}

__global__ void add_by_offsets_kernel(const OffsetCalculator<3> offsets, float* out, const float* a, const float* b,
                                      unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const auto at = offsets.get(i);
  out[at[0]] = a[at[1]] + b[at[2]];
}

}  // namespace

std::pair<torch::Tensor, torch::Tensor> row_statistics(const torch::Tensor& x) {
  const int rows = static_cast<int>(x.size(0)), columns = static_cast<int>(x.size(1));
  auto sums = torch::empty({rows}, x.options()), maxima = torch::empty({rows}, x.options());
  const int threads = at::cuda::ATenCeilDiv(std::min(columns, 256), C10_WARP_SIZE) * C10_WARP_SIZE;
  row_statistics_kernel<<<rows, threads, threads / at::cuda::warp_size() * sizeof(float),
                          at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), sums.data_ptr<float>(),
                                                              maxima.data_ptr<float>(), columns);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return {sums, maxima};
}

torch::Tensor tree_sum(const torch::Tensor& x) {
  auto total = torch::zeros({}, x.options());
  constexpr int kBlock = 64;
  tree_sum_kernel<kBlock><<<at::ceil_div<int64_t>(x.numel(), kBlock), kBlock, 0, at::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), total.data_ptr<float>(), static_cast<int>(x.numel()));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return total;
}

std::pair<torch::Tensor, torch::Tensor> histogram(const torch::Tensor& values, int64_t bins) {
  auto counts = torch::zeros({bins}, values.options().dtype(torch::kInt));
  auto weights = torch::zeros({bins}, values.options().dtype(torch::kHalf));
  AT_DISPATCH_INDEX_TYPES(values.scalar_type(), "histogram", [&] {
    histogram_kernel<index_t>
        <<<at::cuda::detail::GET_BLOCKS(values.numel(), 64), 64, 0, at::cuda::getCurrentCUDAStream()>>>(
            values.data_ptr<index_t>(), counts.data_ptr<int>(), weights.data_ptr<at::Half>(), static_cast<int>(bins),
            values.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  });
  return {counts, weights};
}

torch::Tensor gathered(const torch::Tensor& x) {
  TORCH_CHECK(at::cuda::detail::canUse32BitIndexMath(x));
  auto to = torch::empty(x.sizes(), x.options());
  auto info = at::cuda::detail::getTensorInfo<const float, unsigned int>(x);
  info.collapseDims();
  dim3 grid;
  TORCH_CHECK(at::cuda::getApplyGrid(x.numel(), grid, x.get_device()), "unable to get grid");
  const auto n = static_cast<unsigned>(x.numel());
  const dim3 block = at::cuda::getApplyBlock();
  auto stream = at::cuda::getCurrentCUDAStream();
#define HANDLE_DIMS(DIMS) \
  gather_kernel<float, unsigned int, DIMS><<<grid, block, 0, stream>>>(info, to.data_ptr<float>(), n)
  switch (info.dims) {
    case 1:
      HANDLE_DIMS(1);
      break;
    case 2:
      HANDLE_DIMS(2);
      break;
    default:
      HANDLE_DIMS(-1);
  }
#undef HANDLE_DIMS
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return to;
}

torch::Tensor added_by_offsets(const torch::Tensor& a, const torch::Tensor& b) {
  auto out = torch::empty(a.sizes(), a.options());
  const int64_t sizes[] = {a.size(1), a.size(0)}, item[] = {4, 4, 4};
  const auto bytes = [](const torch::Tensor& t) { return std::vector<int64_t>{t.stride(1) * 4, t.stride(0) * 4}; };
  const std::vector<int64_t> of_out = bytes(out), of_a = bytes(a), of_b = bytes(b);
  const int64_t* strides[] = {of_out.data(), of_a.data(), of_b.data()};
  const OffsetCalculator<3> offsets(2, sizes, strides, item);
  const auto n = static_cast<unsigned>(a.numel());
  add_by_offsets_kernel<<<(n + 63) / 64, 64, 0, at::cuda::getCurrentCUDAStream()>>>(
      offsets, out.data_ptr<float>(), a.data_ptr<float>(), b.data_ptr<float>(), n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

}  // namespace programs
