// What an allocation and its release cost where the cache serves them: host time, which is the same without a device.
// The stand-in's share, the question for the current device, is measured by itself.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <vector>

#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace c10::cuda::CUDACachingAllocator {
namespace {

void BM_current_device(benchmark::State& state) {
  for (auto _ : state) {
    int device = 0;
    benchmark::DoNotOptimize(cudaGetDevice(&device));
  }
}
BENCHMARK(BM_current_device);

// A block of a segment that is split and merged again, as large as the argument says.
void BM_allocate_and_free(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    void* const p = raw_alloc_with_stream(size, nullptr);
    benchmark::DoNotOptimize(p);
    raw_delete(p);
  }
  emptyCache();
}
BENCHMARK(BM_allocate_and_free)->Arg(512)->Arg(100'000)->Arg(5 << 20)->Arg(20 << 20);

// The same beside a number of blocks, every other of which is free.
void BM_allocate_and_free_among(benchmark::State& state) {
  std::vector<void*> blocks;
  for (int64_t i = 0; i < state.range(0); ++i)
    blocks.push_back(raw_alloc_with_stream(512 * (1 + static_cast<size_t>(i) % 64), nullptr));
  for (size_t i = 0; i < blocks.size(); i += 2) raw_delete(blocks[i]);
  size_t size = 0;
  for (auto _ : state) {
    size = size % 64 + 1;
    void* const p = raw_alloc_with_stream(512 * size, nullptr);
    benchmark::DoNotOptimize(p);
    raw_delete(p);
  }
  for (size_t i = 1; i < blocks.size(); i += 2) raw_delete(blocks[i]);
  emptyCache();
}
BENCHMARK(BM_allocate_and_free_among)->Arg(100)->Arg(10'000);

// By way of the core's interface, with the current stream.
void BM_data_ptr(benchmark::State& state) {
  Allocator* const allocator = GetAllocator(kCUDA);
  for (auto _ : state) benchmark::DoNotOptimize(allocator->allocate(4096));
  emptyCache();
}
BENCHMARK(BM_data_ptr);

// With a history of events, without and with stacks.
void BM_recorded(benchmark::State& state) {
  recordHistory(true, &gather_stack, 10'000, state.range(0) == 0 ? RecordContext::NEVER : RecordContext::ALL);
  for (auto _ : state) raw_delete(raw_alloc_with_stream(512, nullptr));
  recordHistory(false, nullptr, 0, RecordContext::NEVER, true);
  emptyCache();
}
BENCHMARK(BM_recorded)->Arg(0)->Arg(1);

}  // namespace
}  // namespace c10::cuda::CUDACachingAllocator
