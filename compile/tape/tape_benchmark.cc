// Chains of pointwise operators and rows: as groups, operator by operator, and what the memory allows. One thread
// unless the environment says otherwise.
#include <map>

#include "aten/core/tensor.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/softmax/ops.h"
#include "benchmark/benchmark.h"
#include "c10/parallel/parallel.h"
#include "compile/group/fuse.h"
#include "compile/tape/tape.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/testing/programs.h"

namespace torch::compiler {
namespace {

constexpr const char* kGelu = R"(graph f(%x: Tensor, %w: Tensor, %b: Tensor, %r: Tensor) {
  %0: Tensor = aten::mul.Tensor(%x, %w)
  %1: Tensor = aten::add.Tensor(%0, %b, 1)
  %2: Tensor = aten::gelu(%1, "none")
  %3: Tensor = aten::add.Tensor(%2, %r, 1)
  return %3
})";
constexpr const char* kRelu = R"(graph f(%x: Tensor, %w: Tensor, %b: Tensor, %r: Tensor) {
  %0: Tensor = aten::mul.Tensor(%x, %w)
  %1: Tensor = aten::add.Tensor(%0, %b, 1)
  %2: Tensor = aten::relu(%1)
  %3: Tensor = aten::add.Tensor(%2, %r, 1)
  return %3
})";
constexpr const char* kSoftmax = R"(graph f(%x: Tensor) {
  %0: Tensor = aten::mul.Scalar(%x, 0.125)
  %1: Tensor = aten::softmax.int(%0, -1, None)
  return %1
})";

struct Case {
  explicit Case(const char* text, std::vector<at::Tensor> tensors) : inputs(std::move(tensors)) {
    const auto graph = graph::testing::parse(text);
    graph::propagate_shapes(*graph, c10::Stack(inputs.begin(), inputs.end()));
    group = describe(*graph);
    out = at::empty(inputs[0].sizes());
    at::fill_(out, 0);
    for (const at::Tensor& t : inputs) from.push_back(t.const_data_ptr());
    to.push_back(out.data_ptr());
  }
  void run(benchmark::State& state, bool registers, int64_t tensors) {
    at::set_num_threads(1);
    const Tape tape(group, {}, {registers});
    for (auto _ : state) tape.run(from, to);
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * tensors * static_cast<int64_t>(out.nbytes()));
  }
  std::vector<at::Tensor> inputs;
  Group group;
  at::Tensor out;
  std::vector<const void*> from;
  std::vector<void*> to;
};

std::vector<at::Tensor> of_chain(int64_t rows, int64_t columns) {
  return {at::randn({rows, columns}), at::randn({columns}), at::randn({columns}), at::randn({rows, columns})};
}

void chain(benchmark::State& state, const char* text, bool registers) {
  Case(text, of_chain(state.range(0), state.range(1))).run(state, registers, 3);
}
void gelu_registers(benchmark::State& state) {
  chain(state, kGelu, true);
}
void gelu_loops(benchmark::State& state) {
  chain(state, kGelu, false);
}
void relu_registers(benchmark::State& state) {
  chain(state, kRelu, true);
}
void relu_loops(benchmark::State& state) {
  chain(state, kRelu, false);
}
void eager_chain(benchmark::State& state, bool gelu) {
  at::set_num_threads(1);
  const auto t = of_chain(state.range(0), state.range(1));
  for (auto _ : state) {
    const at::Tensor a = at::add(at::mul(t[0], t[1]), t[2]);
    benchmark::DoNotOptimize(at::add(gelu ? at::gelu(a) : at::relu(a), t[3]).data_ptr());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * 3 * static_cast<int64_t>(t[0].nbytes()));
}
void gelu_eager(benchmark::State& state) {
  eager_chain(state, true);
}
void relu_eager(benchmark::State& state) {
  eager_chain(state, false);
}
// What reading two tensors and writing one costs.
void floor_of_chain(benchmark::State& state) {
  at::set_num_threads(1);
  const auto t = of_chain(state.range(0), state.range(1));
  at::Tensor out = at::empty(t[0].sizes());
  at::fill_(out, 0);  // its pages are there
  for (auto _ : state) at::add_out(out, t[0], t[3]);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * 3 * static_cast<int64_t>(t[0].nbytes()));
}
void softmax_fused(benchmark::State& state) {
  Case(kSoftmax, {at::randn({state.range(0), state.range(1)})}).run(state, true, 2);
}
void softmax_eager(benchmark::State& state) {
  at::set_num_threads(1);
  const at::Tensor x = at::randn({state.range(0), state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(at::softmax(at::mul(x, 0.125), -1).data_ptr());
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * 2 * static_cast<int64_t>(x.nbytes()));
}

void sizes(benchmark::internal::Benchmark* b) {
  b->Args({4096, 4096})->Args({1, 256})->Args({512, 512});
}
BENCHMARK(floor_of_chain)->Apply(sizes);
BENCHMARK(gelu_registers)->Apply(sizes);
BENCHMARK(gelu_loops)->Apply(sizes);
BENCHMARK(gelu_eager)->Apply(sizes);
BENCHMARK(relu_registers)->Apply(sizes);
BENCHMARK(relu_loops)->Apply(sizes);
BENCHMARK(relu_eager)->Apply(sizes);
BENCHMARK(softmax_fused)->Args({16384, 1024})->Args({4096, 4096})->Args({4096, 64});
BENCHMARK(softmax_eager)->Args({16384, 1024})->Args({4096, 4096})->Args({4096, 64});

// Of a group that is there already: what a new size costs.
void making(benchmark::State& state) {
  const Case one(kGelu, of_chain(1, 256));
  for (auto _ : state) benchmark::DoNotOptimize(Tape(one.group).bytes());
}
BENCHMARK(making);

}  // namespace
}  // namespace torch::compiler
