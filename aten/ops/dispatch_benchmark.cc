// What a call costs: small tensors, so that the kernel is not what is measured.

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "benchmark/benchmark.h"
#include "c10/core/grad_mode.h"
#include "c10/dispatch/registry.h"

namespace {

void BM_Empty(benchmark::State& state) {
  c10::InferenceMode inference;
  for (auto _ : state) benchmark::DoNotOptimize(at::empty({8}));
}
BENCHMARK(BM_Empty);

void BM_View(benchmark::State& state) {
  c10::InferenceMode inference;
  const at::Tensor a = at::ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(at::view(a, {2, 4}));
}
BENCHMARK(BM_View);

void BM_AddInference(benchmark::State& state) {
  c10::InferenceMode inference;
  const at::Tensor a = at::ones({8}), b = at::ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(at::add(a, b));
}
BENCHMARK(BM_AddInference);

void BM_AddOut(benchmark::State& state) {
  c10::InferenceMode inference;
  const at::Tensor a = at::ones({8}), b = at::ones({8});
  at::Tensor out = at::empty({8});
  for (auto _ : state) benchmark::DoNotOptimize(at::add_out(out, a, b).data_ptr());
}
BENCHMARK(BM_AddOut);

void BM_AddInPlace(benchmark::State& state) {
  c10::NoGradGuard no_grad;
  at::Tensor a = at::ones({8});
  const at::Tensor b = at::ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(at::add_(a, b).data_ptr());
}
BENCHMARK(BM_AddInPlace);

void BM_AddRecording(benchmark::State& state) {
  at::Tensor a = at::ones({8});
  a.requires_grad_();
  const at::Tensor b = at::ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(at::add(a, b));
}
BENCHMARK(BM_AddRecording);

void BM_AddBoxed(benchmark::State& state) {
  c10::InferenceMode inference;
  const at::Tensor a = at::ones({8}), b = at::ones({8});
  const c10::OperatorHandle add = c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
  c10::Stack stack;
  for (auto _ : state) {
    stack.clear();
    stack.emplace_back(a);
    stack.emplace_back(b);
    stack.emplace_back(1);
    add.callBoxed(stack);
    benchmark::DoNotOptimize(stack.data());
  }
}
BENCHMARK(BM_AddBoxed);

void BM_LookUpByName(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor").op().name);
}
BENCHMARK(BM_LookUpByName);

}  // namespace
