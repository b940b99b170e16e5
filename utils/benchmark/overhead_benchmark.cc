// What a call costs. Written against libtorch's C++ API: the same source is compiled against this library and against
// libtorch (compare.py), and both are run in turn.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

namespace {

void empty(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(at::empty({8}));
}
BENCHMARK(empty);

void view(benchmark::State& state) {
  const at::Tensor t = at::empty({8});
  for (auto _ : state) benchmark::DoNotOptimize(t.view({2, 4}));
}
BENCHMARK(view);

void add_inference(benchmark::State& state) {
  const c10::InferenceMode guard;
  const at::Tensor a = at::ones({8}), b = at::ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(at::add(a, b));
}
BENCHMARK(add_inference);

void add_no_grad(benchmark::State& state) {
  const torch::NoGradGuard guard;
  const at::Tensor a = torch::ones({8}), b = torch::ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(at::add(a, b));
}
BENCHMARK(add_no_grad);

void add_out(benchmark::State& state) {
  const at::Tensor a = at::ones({8}), b = at::ones({8});
  at::Tensor out = at::empty({8});
  for (auto _ : state) benchmark::DoNotOptimize(at::add_out(out, a, b));
}
BENCHMARK(add_out);

void add_recording(benchmark::State& state) {
  const at::Tensor a = torch::ones({8}, torch::requires_grad()), b = torch::ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(at::add(a, b));
}
BENCHMARK(add_recording);

void add_row_broadcast(benchmark::State& state) {
  const at::Tensor a = at::ones({8, 8}), b = at::ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(at::add(a, b));
}
BENCHMARK(add_row_broadcast);

void mm_of_8x8(benchmark::State& state) {
  const torch::NoGradGuard guard;
  const at::Tensor a = torch::ones({8, 8}), b = torch::ones({8, 8});
  for (auto _ : state) benchmark::DoNotOptimize(at::mm(a, b));
}
BENCHMARK(mm_of_8x8);

void softmax_of_8x8(benchmark::State& state) {
  const torch::NoGradGuard guard;
  const at::Tensor a = torch::ones({8, 8});
  for (auto _ : state) benchmark::DoNotOptimize(at::softmax(a, 1));
}
BENCHMARK(softmax_of_8x8);

void mul_sum_backward(benchmark::State& state) {
  at::Tensor a = torch::ones({8}, torch::requires_grad());
  const at::Tensor b = torch::ones({8});
  for (auto _ : state) {
    (a * b).sum().backward();
    a.mutable_grad().reset();
  }
}
BENCHMARK(mul_sum_backward);

void chain_of_100(benchmark::State& state) {
  at::Tensor a = torch::ones({8}, torch::requires_grad());
  const at::Tensor b = torch::ones({8});
  for (auto _ : state) {
    at::Tensor x = a;
    for (int i = 0; i < 100; ++i) x = x * b;
    x.backward(b);
    a.mutable_grad().reset();
  }
}
BENCHMARK(chain_of_100);

void linear_module(benchmark::State& state) {
  const c10::InferenceMode guard;
  torch::nn::Linear linear(8, 8);
  const at::Tensor x = at::ones({8, 8});
  for (auto _ : state) benchmark::DoNotOptimize(linear(x));
}
BENCHMARK(linear_module);

// What is left of a call when the module does nothing.
void identity_module(benchmark::State& state) {
  torch::nn::Identity identity;
  const at::Tensor x = at::ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(identity(x));
}
BENCHMARK(identity_module);

void sequential_of_8_identities(benchmark::State& state) {
  torch::nn::Sequential net;
  for (int i = 0; i < 8; ++i) net->push_back(torch::nn::Identity());
  const at::Tensor x = at::ones({8});
  for (auto _ : state) benchmark::DoNotOptimize(net->forward(x));
}
BENCHMARK(sequential_of_8_identities);

}  // namespace

BENCHMARK_MAIN();
