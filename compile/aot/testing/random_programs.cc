// Fifty random graphs as one program: printed C++ does what the interpreter does.
#include <map>
#include <utility>

#include "compile/aot/capture.h"
#include "compile/aot/testing/exported.h"
#include "graph/passes/testing/programs.h"

#ifndef KINDLING_SEED
#define KINDLING_SEED 1
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
  for (unsigned seed = KINDLING_SEED; seed < KINDLING_SEED + 50; ++seed) {
    graph::testing::RandomOptions options;
    options.writes = options.draws = options.control = false;
    const graph::testing::RandomProgram one = graph::testing::random_program(seed, options);
    std::map<const Value*, Operand> values;
    for (size_t i = 0; i < one.inputs.size(); ++i) {
      Value* const input = one.graph->block().input(i);
      if (!one.inputs[i].isTensor()) {
        values.emplace(input, Operand(one.inputs[i]));
        continue;
      }
      // All of them have inputs of the same sizes.
      if (block.input_count() <= i) {
        block.add_input(input->type(), input->name());
        example.push_back(one.inputs[i]);
      }
      values.emplace(input, block.input(i));
    }
    for (const Operand& output : copy_nodes(one.graph->block(), block, values)) outputs.push_back(output);
  }
  block.set_outputs(std::move(outputs));
  return aot::testing::exported(std::move(all), std::move(example));
}

}  // namespace torch
