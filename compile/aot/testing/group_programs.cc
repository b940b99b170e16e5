// Ten random graphs of what groups take as one program: printed groups give the bits that the interpreter gives.
#include <map>
#include <utility>

#include "compile/aot/capture.h"
#include "compile/aot/testing/exported.h"
#include "compile/group/testing/random_groups.h"

#ifndef KINDLING_SEED
#define KINDLING_SEED 1
#endif
#ifndef KINDLING_ROWS
#define KINDLING_ROWS false
#endif

namespace torch {

using c10::IValue;
using graph::Operand;
using graph::Value;

ExportedProgram make_model() {
  auto all = std::make_unique<graph::Graph>();
  graph::Block& block = all->block();
  std::vector<Operand> outputs;
  std::vector<IValue> example;
  const auto& shapes = compiler::testing::shapes();
  for (unsigned seed = KINDLING_SEED; seed < KINDLING_SEED + 10; ++seed) {
    compiler::testing::RandomGroup one = compiler::testing::random_group(
        seed, shapes[seed % shapes.size()], {.nodes = 9, .rows = KINDLING_ROWS, .dense_inputs = true});
    std::map<const Value*, Operand> values;
    for (size_t i = 0; i < one.inputs.size(); ++i) {
      const Value* const input = one.graph->block().input(i);
      values.emplace(input, block.add_input(input->type(), "x" + std::to_string(example.size())));
      example.push_back(std::move(one.inputs[i]));
    }
    for (const Operand& output : copy_nodes(one.graph->block(), block, values)) outputs.push_back(output);
  }
  block.set_outputs(std::move(outputs));
  return aot::testing::exported(std::move(all), std::move(example));
}

}  // namespace torch
