// What a compiled call costs beside its kernels, and what the first one costs.
#include "benchmark/benchmark.h"
#include "compile/compile.h"
#include "compile/testing/known.h"
#include "examples/gpt/model.h"
#include "torch/torch.h"

namespace torch {
namespace {

using compiler::testing::Known;

// One element: nothing but looking up, calling and taking memory for the result.
void call_of_one_element(benchmark::State& state) {
  set_num_threads(1);
  auto f = compile([](const Tensor& x) { return (x + 1) * 2; });
  const NoGradGuard no_grad;
  const Tensor x = ones({1});
  for (auto _ : state) benchmark::DoNotOptimize(f(x).data_ptr());
}
BENCHMARK(call_of_one_element);
void eager_call_of_one_element(benchmark::State& state) {
  set_num_threads(1);
  const NoGradGuard no_grad;
  const Tensor x = ones({1});
  for (auto _ : state) benchmark::DoNotOptimize(((x + 1) * 2).data_ptr());
}
BENCHMARK(eager_call_of_one_element);

// The identity: the lookup alone, with so many arguments.
void lookup(benchmark::State& state) {
  compiler::Cache cache({});
  const NoGradGuard no_grad;
  const c10::Stack inputs(static_cast<size_t>(state.range(0)), ones({4, 5}));
  c10::Stack different;
  for (size_t i = 0; i < inputs.size(); ++i) different.emplace_back(ones({4, 5}));
  const auto program = [](const c10::Stack& stack) { return c10::Stack{stack[0]}; };
  for (auto _ : state) {
    c10::Stack stack = different;
    cache.call(stack, program);
    benchmark::DoNotOptimize(stack.data());
  }
}
BENCHMARK(lookup)->Arg(1)->Arg(4)->Arg(16);
void copying_the_stack(benchmark::State& state) {
  const c10::Stack inputs(static_cast<size_t>(state.range(0)), ones({4, 5}));
  for (auto _ : state) {
    c10::Stack stack = inputs;
    benchmark::DoNotOptimize(stack.data());
  }
}
BENCHMARK(copying_the_stack)->Arg(1)->Arg(4)->Arg(16);

Tensor hundred_nodes(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < 25; ++i) y = tanh(y * 1.5 + x).sub(0.25);
  return y;
}
// A first call of 100 nodes, and what of it is the program itself.
void first_call(benchmark::State& state) {
  set_num_threads(1);
  const NoGradGuard no_grad;
  const Tensor x = randn({64});
  for (auto _ : state) {
    auto f = compile(hundred_nodes);
    benchmark::DoNotOptimize(f(x).data_ptr());
  }
}
BENCHMARK(first_call);
void eager_hundred_nodes(benchmark::State& state) {
  set_num_threads(1);
  const NoGradGuard no_grad;
  const Tensor x = randn({64});
  for (auto _ : state) benchmark::DoNotOptimize(hundred_nodes(x).data_ptr());
}
BENCHMARK(eager_hundred_nodes);
void compiled_hundred_nodes(benchmark::State& state) {
  set_num_threads(1);
  const NoGradGuard no_grad;
  const Tensor x = randn({64});
  auto f = compile(hundred_nodes);
  f(x);
  for (auto _ : state) benchmark::DoNotOptimize(f(x).data_ptr());
}
BENCHMARK(compiled_hundred_nodes);

// A block of a transformer: products that stay what they are, and what is between them.
struct BlockImpl : nn::Module {
  explicit BlockImpl(int64_t width)
      : norm1(register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({width})))),
        norm2(register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({width})))),
        qkv(register_module("qkv", nn::Linear(width, 3 * width))),
        out(register_module("out", nn::Linear(width, width))),
        up(register_module("up", nn::Linear(width, 4 * width))),
        down(register_module("down", nn::Linear(4 * width, width))) {}
  Tensor forward(const Tensor& x) {
    const int64_t batch = x.size(0), time = x.size(1), width = x.size(2), heads = 4;
    const auto parts = qkv(norm1(x)).view({batch, time, 3, heads, width / heads}).permute({2, 0, 3, 1, 4}).unbind(0);
    const Tensor scores = matmul(parts[0], parts[1].transpose(-2, -1)) * 0.125;
    const Tensor mixed = matmul(softmax(scores, -1), parts[2]).transpose(1, 2).reshape({batch, time, width});
    const Tensor y = x + out(mixed);
    return y + down(gelu(up(norm2(y))));
  }
  nn::LayerNorm norm1, norm2;
  nn::Linear qkv, out, up, down;
};
TORCH_MODULE(Block);
void transformer(benchmark::State& state, bool compiled) {
  set_num_threads(1);
  const NoGradGuard no_grad;
  nn::Sequential net;
  for (int i = 0; i < 4; ++i) net->push_back(Block(256));
  const Tensor x = randn({1, 128, 256});
  auto f = compile(net);
  f(x);
  for (auto _ : state) benchmark::DoNotOptimize((compiled ? f(x) : net->forward(x)).data_ptr());
}
void transformer_compiled(benchmark::State& state) {
  transformer(state, true);
}
void transformer_eager(benchmark::State& state) {
  transformer(state, false);
}
BENCHMARK(transformer_compiled);
BENCHMARK(transformer_eager);
// Forward and backward.
void step(benchmark::State& state, bool compiled) {
  set_num_threads(1);
  nn::Sequential net;
  for (int i = 0; i < 4; ++i) net->push_back(Block(128));
  const Tensor x = randn({4, 128, 128});
  auto f = compile(net);
  f(x).sum().backward();
  for (auto _ : state) {
    (compiled ? f(x) : net->forward(x)).sum().backward();
    net->zero_grad();
  }
  const CompileStatistics all = f.statistics();
  if (!all.reasons.empty()) state.SetLabel(all.reasons[0]);
}
void step_compiled(benchmark::State& state) {
  step(state, true);
}
void step_eager(benchmark::State& state) {
  step(state, false);
}
BENCHMARK(step_compiled);
BENCHMARK(step_eager);

// A training step of the GPT example, 4 layers of width 256, 4 x 128 tokens, SGD. The products alone are 10.2 GFLOP.
struct LossImpl : nn::Module {
  LossImpl() {
    gpt::ModelOptions options;
    options.width = 256;
    options.context = 128;
    model = register_module("model", gpt::Gpt(options));
  }
  Tensor forward(const Tensor& tokens, const Tensor& targets) { return model->loss(tokens, targets); }
  gpt::Gpt model{nullptr};
};
TORCH_MODULE(Loss);
void gpt_step(benchmark::State& state, bool compiled) {
  set_num_threads(1);
  manual_seed(1);
  Loss loss;
  optim::SGD optimizer(loss->parameters(), optim::SGDOptions(0.01));
  const Tensor tokens = randint(256, {4, 128}, kLong), targets = randint(256, {4, 128}, kLong);
  auto f = compile(loss);
  const auto step = [&] {
    optimizer.zero_grad();
    (compiled ? f(tokens, targets) : loss->forward(tokens, targets)).backward();
    optimizer.step();
  };
  step();
  for (auto _ : state) step();
  const CompileStatistics all = f.statistics();
  if (!all.reasons.empty()) state.SetLabel(all.reasons[0]);
}
void gpt_step_compiled(benchmark::State& state) {
  gpt_step(state, true);
}
void gpt_step_eager(benchmark::State& state) {
  gpt_step(state, false);
}
BENCHMARK(gpt_step_compiled);
BENCHMARK(gpt_step_eager);

// Known networks, one image or sequence, their weights as buffers: as they are, compiled, and frozen.
void known(benchmark::State& state, Known net, IntArrayRef sizes) {
  set_num_threads(1);
  const NoGradGuard no_grad;
  CompileOptions options;
  options.freeze = state.range(0) == 2;
  auto f = compile(net, options);
  const Tensor x = randn(sizes);
  const auto run = [&] { return state.range(0) == 0 ? net->forward(x) : f(x); };
  run();
  for (auto _ : state) benchmark::DoNotOptimize(run().data_ptr());
  static constexpr const char* kNames[] = {"eager", "compiled", "frozen"};
  state.SetLabel(kNames[state.range(0)]);
}
void resnet18(benchmark::State& state) {
  known(state, Known(graph::testing::resnet18), {1, 3, 224, 224});
}
BENCHMARK(resnet18)->DenseRange(0, 2);
void mobilenet_v2(benchmark::State& state) {
  known(state, Known(graph::testing::mobilenet_v2), {1, 3, 224, 224});
}
BENCHMARK(mobilenet_v2)->DenseRange(0, 2);
void gpt_forward(benchmark::State& state) {
  known(state, Known([](const graph::testing::MakeWeight& make) { return graph::testing::gpt(make); }), {1, 128, 256});
}
BENCHMARK(gpt_forward)->DenseRange(0, 2);

}  // namespace
}  // namespace torch
