// Generators and graphs as programs for libtorch use them.
#include <ATen/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/cuda/CUDAGraphsUtils.cuh>
#include <ATen/cuda/PhiloxCudaState.h>
#include <ATen/cuda/PhiloxUtils.cuh>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <mutex>
#include <optional>
#include <tuple>

#include "c10/cuda/testing.h"

namespace {

TEST(IncludePaths, Generators) {
  c10::cuda::testing::in_all_orders([] {
    std::optional<at::Generator> none;
    auto gen = at::get_generator_or_default<at::CUDAGeneratorImpl>(none, at::cuda::detail::getDefaultCUDAGenerator());
    gen->set_current_seed(3);
    at::PhiloxCudaState inputs;
    {
      std::lock_guard<std::mutex> lock(gen->mutex_);
      inputs = gen->philox_cuda_state(5);
    }
    auto seeds = at::cuda::philox::unpack(inputs);
    EXPECT_EQ(std::get<0>(seeds), 3u);
    EXPECT_EQ(std::get<1>(seeds), 0u);
    std::pair<uint64_t, uint64_t> engine_inputs;
    {
      std::lock_guard<std::mutex> lock(gen->mutex_);
      engine_inputs = gen->philox_engine_inputs(4);
    }
    EXPECT_EQ(engine_inputs.second, 8u);
    auto made = at::make_generator<at::CUDAGeneratorImpl>(0);
    EXPECT_EQ(made.get<at::CUDAGeneratorImpl>()->philox_offset_per_thread(), 0u);
  });
}

TEST(IncludePaths, Graphs) {
  c10::cuda::testing::in_all_orders([] {
    int* memory = nullptr;
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory), sizeof(int)), cudaSuccess);
    at::cuda::CUDAGraph graph;
    at::cuda::MempoolId_t pool = at::cuda::graph_pool_handle();
    at::cuda::CUDAStream stream = at::cuda::getStreamFromPool();
    {
      at::cuda::CUDAStreamGuard guard(stream);
      graph.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
      EXPECT_EQ(at::cuda::currentStreamCaptureStatus(), at::cuda::CaptureStatus::Active);
      ASSERT_EQ(cudaMemsetAsync(memory, 1, sizeof(int), stream), cudaSuccess);
      graph.capture_end();
    }
    at::cuda::assertNotCapturing("reading");
    EXPECT_EQ(graph.pool(), pool);
    graph.replay();
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    int value = 0;
    ASSERT_EQ(cudaMemcpy(&value, memory, sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(value, 0x01010101);
    graph.reset();
    ASSERT_EQ(cudaFree(memory), cudaSuccess);
  });
}

}  // namespace
