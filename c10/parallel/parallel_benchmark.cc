#include <benchmark/benchmark.h>

#include "c10/parallel/parallel.h"

namespace {

void EmptyRegion(benchmark::State& state) {
  at::set_num_threads(static_cast<int>(state.range(0)));
  for (auto _ : state) at::parallel_for(0, 1000, 1, [](int64_t b, int64_t) { benchmark::DoNotOptimize(b); });
}
BENCHMARK(EmptyRegion)->ArgName("threads")->Arg(1)->Arg(2);

}  // namespace
