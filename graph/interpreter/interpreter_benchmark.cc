// What a node costs beside its operator: chains of additions of one number, run from a graph and as calls.
#include <benchmark/benchmark.h>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "c10/dispatch/registry.h"
#include "graph/interpreter/interpreter.h"

namespace {

constexpr int kNodes = 100;

void chain_of_calls(benchmark::State& state) {
  const at::Tensor one = at::ones({1});
  for (auto _ : state) {
    at::Tensor x = one;
    for (int i = 0; i < kNodes; ++i) x = at::add(x, one);
    benchmark::DoNotOptimize(x);
  }
  state.SetItemsProcessed(state.iterations() * kNodes);
}
BENCHMARK(chain_of_calls);

void chain_of_nodes(benchmark::State& state) {
  using namespace torch::graph;
  Graph graph;
  const Callable add(c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor"));
  Value* x = graph.block().add_input(c10::TensorType::get(), "x");
  Value* one = x;
  for (int i = 0; i < kNodes; ++i) x = graph.block().append(graph.call(add, {x, one, c10::IValue(1)}))->result();
  graph.block().set_outputs({x});
  const Interpreter run(graph);
  const at::Tensor input = at::ones({1});
  for (auto _ : state) {
    c10::Stack stack{input};
    run(stack);
    benchmark::DoNotOptimize(stack);
  }
  state.SetItemsProcessed(state.iterations() * kNodes);
}
BENCHMARK(chain_of_nodes);

}  // namespace
