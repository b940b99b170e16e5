// Random numbers of a kernel from the device's generator, in and outside of graphs.
#include <ATen/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/types.h>
#include <ATen/cuda/CUDAGraphsUtils.cuh>

#include <mutex>
#include <tuple>

#include "c10/cuda/philox.cuh"
#include "tests/cuda_on_host/programs/programs.h"

namespace programs {
namespace {

__global__ void mask_kernel(at::PhiloxCudaState philox_args, float p, float* mask, int64_t n) {
  auto seeds = at::cuda::philox::unpack(philox_args);
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  c10::cuda::PhiloxStream random(std::get<0>(seeds), static_cast<uint64_t>(i), std::get<1>(seeds));
  mask[i] = c10::cuda::uniform(random.next().x) < p ? 0.f : 1.f / (1.f - p);
}

}  // namespace

torch::Tensor random_mask(at::IntArrayRef sizes, double p, torch::Device device, std::optional<at::Generator> gen_) {
  const at::cuda::CUDAGuard guard(device);
  auto gen = at::get_generator_or_default<at::CUDAGeneratorImpl>(gen_, at::cuda::detail::getDefaultCUDAGenerator());
  auto mask = torch::empty(sizes, torch::device(device));
  const int64_t n = mask.numel(), threads = 64;
  at::PhiloxCudaState rng_engine_inputs;
  {
    std::lock_guard<std::mutex> lock(gen->mutex_);
    rng_engine_inputs = gen->philox_cuda_state(4);
  }
  mask_kernel<<<(n + threads - 1) / threads, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
      rng_engine_inputs, static_cast<float>(p), mask.data_ptr<float>(), n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return mask;
}

}  // namespace programs
