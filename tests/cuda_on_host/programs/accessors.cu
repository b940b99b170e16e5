// Kernels over accessors of strided tensors: a gated cell, and distances of points.
#include <ATen/DeviceGuard.h>
#include <ATen/ceil_div.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/types.h>

#include <vector>

#include "tests/cuda_on_host/programs/programs.h"

namespace programs {
namespace {

template <typename scalar_t>
__global__ void gated_cell_kernel(const torch::PackedTensorAccessor32<scalar_t, 3, torch::RestrictPtrTraits> gates,
                                  const torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> old_cell,
                                  torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> new_cell,
                                  torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> new_h) {
  const int n = blockIdx.y;                             // batch
  const int c = blockIdx.x * blockDim.x + threadIdx.x;  // column
  if (c < gates.size(2)) {
    const scalar_t input = 1 / (1 + exp(-gates[n][0][c]));
    const scalar_t output = 1 / (1 + exp(-gates[n][1][c]));
    new_cell[n][c] = old_cell[n][c] + tanh(gates[n][2][c]) * input;
    new_h[n][c] = tanh(new_cell[n][c]) * output;
  }
}

__global__ void square_distance_kernel(torch::PackedTensorAccessor64<float, 2> distances,
                                       const torch::PackedTensorAccessor64<float, 2> points) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= distances.size(0) || j >= distances.size(1)) return;
  auto a = points[i], b = points[j];
  float sum = 0;
  for (int64_t k = 0; k < points.size(1); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  distances[i][j] = sum;
}

}  // namespace

std::vector<torch::Tensor> gated_cell(torch::Tensor gates, torch::Tensor old_cell) {
  const at::cuda::CUDAGuard guard(gates.device());
  auto new_cell = torch::zeros_like(old_cell), new_h = torch::zeros_like(old_cell);
  const int threads = 32;
  const dim3 blocks((old_cell.size(1) + threads - 1) / threads, old_cell.size(0));
  AT_DISPATCH_FLOATING_TYPES(gates.scalar_type(), "gated_cell", ([&] {
                               gated_cell_kernel<scalar_t><<<blocks, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
                                   gates.packed_accessor32<scalar_t, 3, torch::RestrictPtrTraits>(),
                                   old_cell.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
                                   new_cell.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
                                   new_h.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
                             }));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return {new_h, new_cell};
}

torch::Tensor square_distances(const torch::Tensor& points) {
  const c10::cuda::OptionalCUDAGuard guard(device_of(points));
  auto distances = torch::empty({points.size(0), points.size(0)}, points.options());
  const dim3 threads(8, 8), blocks(at::ceil_div<int64_t>(points.size(0), 8), at::ceil_div<int64_t>(points.size(0), 8));
  square_distance_kernel<<<blocks, threads, 0, c10::cuda::getCurrentCUDAStream().stream()>>>(
      distances.packed_accessor64<float, 2>(), points.packed_accessor64<float, 2>());
  C10_CUDA_CHECK(cudaGetLastError());
  return distances;
}

}  // namespace programs
