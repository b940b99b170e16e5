#include <benchmark/benchmark.h>

#include <cstdlib>

#include "c10/memory/cpu_allocator.h"

namespace {

// An allocation and its release.
void Pair(benchmark::State& state) {
  const size_t size = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    void* p = c10::cpu_alloc(size);
    benchmark::DoNotOptimize(p);
    c10::cpu_free(p, size);
  }
}
BENCHMARK(Pair)->Arg(64)->Arg(1000)->Arg(8000)->Arg(100000)->Arg(64 << 20);

void PairOfConstantSize(benchmark::State& state) {
  for (auto _ : state) {
    void* p = c10::small_alloc(192);
    benchmark::DoNotOptimize(p);
    c10::small_free(p, 192);
  }
}
BENCHMARK(PairOfConstantSize);

void AlignedAlloc(benchmark::State& state) {
  const size_t size = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    void* p = std::aligned_alloc(64, (size + 63) / 64 * 64);
    benchmark::DoNotOptimize(p);
    std::free(p);
  }
}
BENCHMARK(AlignedAlloc)->Arg(64)->Arg(1000)->Arg(100000);

// Many alive at once, as in a graph of nodes: past the bound of a list.
void Burst(benchmark::State& state) {
  constexpr int kCount = 2000;
  static void* blocks[kCount];
  for (auto _ : state) {
    for (void*& p : blocks) p = c10::small_alloc(256);
    for (void* p : blocks) c10::small_free(p, 256);
  }
  state.SetItemsProcessed(state.iterations() * kCount);
}
BENCHMARK(Burst);

// The first touch of a new large block, and of one from the cache.
void TouchLarge(benchmark::State& state) {
  const size_t size = 64 << 20;
  for (auto _ : state) {
    char* p = static_cast<char*>(c10::cpu_alloc(size));
    for (size_t i = 0; i < size; i += 4096) p[i] = 1;
    benchmark::DoNotOptimize(p);
    c10::cpu_free(p, size);
    if (state.range(0) == 0) c10::empty_cpu_cache();
  }
}
BENCHMARK(TouchLarge)->ArgName("cached")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
