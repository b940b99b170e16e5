// Chains of element-wise operators and rows as printed groups, beside groups that run at run time (compile/tape),
// operators one by one, and what the memory allows. One thread.
//
// A printed program takes at most 256 rows at a time: the example that comes with it should stay small.
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
#include "tests/programs/chain_gelu.h"
#include "tests/programs/chain_relu.h"
#include "tests/programs/chain_softmax.h"
#include "tests/programs/chains_by_hand.h"

namespace torch {
namespace {

constexpr int64_t kRows = 256;

struct Data {
  explicit Data(const benchmark::State& state)
      : rows(state.range(0)),
        columns(state.range(1)),
        x(at::randn({rows, columns})),
        w(at::randn({columns})),
        b(at::randn({columns})),
        r(at::randn({rows, columns})),
        out(at::empty({rows, columns})) {
    at::set_num_threads(1);
    at::fill_(out, 0);  // its pages are there
  }
  void processed(benchmark::State& state, int64_t tensors) const {
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * tensors * rows * columns * 4);
  }
  int64_t rows, columns;
  at::Tensor x, w, b, r, out;
};

template <class Program>
void printed(benchmark::State& state, int64_t tensors) {
  const Data d(state);
  Program program;
  const float *x = d.x.const_data_ptr<float>(), *w = d.w.const_data_ptr<float>(), *b = d.b.const_data_ptr<float>(),
              *r = d.r.const_data_ptr<float>();
  float* const out = d.out.data_ptr<float>();
  for (auto _ : state) {
    for (int64_t i = 0; i < d.rows; i += kRows) {
      const int64_t n = std::min(kRows, d.rows - i), at = i * d.columns;
      program.run({d.columns, n}, {x + at, w, b, r + at}, {out + at});
    }
  }
  d.processed(state, tensors);
}
template <class F>
void by_hand(benchmark::State& state, const F& f) {
  const Data d(state);
  for (auto _ : state) {
    f(d.x.const_data_ptr<float>(), d.w.const_data_ptr<float>(), d.b.const_data_ptr<float>(),
      d.r.const_data_ptr<float>(), d.out.data_ptr<float>(), d.rows, d.columns);
  }
  d.processed(state, 3);
}
void tape(benchmark::State& state, const char* text, int64_t tensors) {
  const Data d(state);
  const auto graph = graph::testing::parse(text);
  graph::propagate_shapes(*graph, {d.x, d.w, d.b, d.r});
  const compiler::Tape tape(compiler::describe(*graph));
  const std::vector<const void*> from{d.x.const_data_ptr(), d.w.const_data_ptr(), d.b.const_data_ptr(),
                                      d.r.const_data_ptr()};
  const std::vector<void*> to{d.out.data_ptr()};
  for (auto _ : state) tape.run(from, to);
  d.processed(state, tensors);
}

// What reading two tensors and writing one costs.
void floor_of_chain(benchmark::State& state) {
  Data d(state);
  for (auto _ : state) at::add_out(d.out, d.x, d.r);
  d.processed(state, 3);
}
void floor_of_softmax(benchmark::State& state) {
  Data d(state);
  for (auto _ : state) at::mul_out(d.out, d.x, d.x);
  d.processed(state, 2);
}

void gelu_printed(benchmark::State& state) {
  printed<programs::ChainGelu>(state, 3);
}
void gelu_by_hand(benchmark::State& state) {
  by_hand(state, gelu_chain_by_hand);
}
void gelu_tape(benchmark::State& state) {
  tape(state, R"(graph f(%x: Tensor, %w: Tensor, %b: Tensor, %r: Tensor) {
    %0: Tensor = aten::mul.Tensor(%x, %w)
    %1: Tensor = aten::add.Tensor(%0, %b, 1)
    %2: Tensor = aten::gelu(%1, "none")
    %3: Tensor = aten::add.Tensor(%2, %r, 1)
    return %3
  })",
       3);
}
void gelu_eager(benchmark::State& state) {
  const Data d(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(at::add(at::gelu(at::add(at::mul(d.x, d.w), d.b)), d.r).data_ptr());
  }
  d.processed(state, 3);
}
void relu_printed(benchmark::State& state) {
  printed<programs::ChainRelu>(state, 3);
}
void relu_by_hand(benchmark::State& state) {
  by_hand(state, relu_chain_by_hand);
}
void relu_tape(benchmark::State& state) {
  tape(state, R"(graph f(%x: Tensor, %w: Tensor, %b: Tensor, %r: Tensor) {
    %0: Tensor = aten::mul.Tensor(%x, %w)
    %1: Tensor = aten::add.Tensor(%0, %b, 1)
    %2: Tensor = aten::relu(%1)
    %3: Tensor = aten::add.Tensor(%2, %r, 1)
    return %3
  })",
       3);
}
void relu_eager(benchmark::State& state) {
  const Data d(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(at::add(at::relu(at::add(at::mul(d.x, d.w), d.b)), d.r).data_ptr());
  }
  d.processed(state, 3);
}
void softmax_printed(benchmark::State& state) {
  printed<programs::ChainSoftmax>(state, 2);
}
void softmax_tape(benchmark::State& state) {
  tape(state, R"(graph f(%x: Tensor, %w: Tensor, %b: Tensor, %r: Tensor) {
    %0: Tensor = aten::mul.Scalar(%x, 0.125)
    %1: Tensor = aten::softmax.int(%0, -1, None)
    return %1
  })",
       2);
}
void softmax_eager(benchmark::State& state) {
  const Data d(state);
  for (auto _ : state) benchmark::DoNotOptimize(at::softmax(at::mul(d.x, 0.125), -1).data_ptr());
  d.processed(state, 2);
}

void of_chain(benchmark::internal::Benchmark* b) {
  b->Args({4096, 4096})->Args({1, 256})->Args({128, 512});
}
void of_softmax(benchmark::internal::Benchmark* b) {
  b->Args({16384, 1024})->Args({4096, 4096})->Args({4096, 64});
}
BENCHMARK(floor_of_chain)->Apply(of_chain);
BENCHMARK(gelu_printed)->Apply(of_chain);
BENCHMARK(gelu_by_hand)->Apply(of_chain);
BENCHMARK(gelu_tape)->Apply(of_chain);
BENCHMARK(gelu_eager)->Apply(of_chain);
BENCHMARK(relu_printed)->Apply(of_chain);
BENCHMARK(relu_by_hand)->Apply(of_chain);
BENCHMARK(relu_tape)->Apply(of_chain);
BENCHMARK(relu_eager)->Apply(of_chain);
BENCHMARK(floor_of_softmax)->Apply(of_softmax);
BENCHMARK(softmax_printed)->Apply(of_softmax);
BENCHMARK(softmax_tape)->Apply(of_softmax);
BENCHMARK(softmax_eager)->Apply(of_softmax);

}  // namespace
}  // namespace torch
