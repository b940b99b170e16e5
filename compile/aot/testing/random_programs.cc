// Fifty random graphs as one program: printed C++ does what the interpreter does. With KINDLING_WRITES graphs that
// write, to inputs, too, of which every second is a buffer of the program.
#include <map>
#include <utility>

#include "c10/util/exception.h"
#include "compile/aot/capture.h"
#include "compile/aot/testing/exported.h"
#include "graph/passes/functionalize.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/testing/programs.h"

#ifndef KINDLING_SEED
#define KINDLING_SEED 1
#endif
#ifndef KINDLING_WRITES
#define KINDLING_WRITES false
#endif

namespace torch {

using c10::IValue;
using graph::Operand;
using graph::Value;

namespace {

// Not all writes have a functional form.
bool is_functionalizable(const graph::testing::RandomProgram& program) {
  const std::unique_ptr<graph::Graph> graph = program.graph->clone();
  graph::propagate_shapes(*graph, program.inputs);
  try {
    graph::functionalize(*graph);
    return true;
  } catch (const c10::ValueError&) {
    return false;
  }
}

}  // namespace

ExportedProgram make_model() {
  auto all = std::make_unique<graph::Graph>();
  graph::Block& block = all->block();
  std::vector<Operand> outputs;
  std::vector<IValue> example;
  for (unsigned seed = KINDLING_SEED; seed < KINDLING_SEED + 50; ++seed) {
    graph::testing::RandomOptions options;
    options.draws = options.control = false;
    options.writes = KINDLING_WRITES;
    const graph::testing::RandomProgram one = graph::testing::random_program(seed, options);
    if (KINDLING_WRITES && !is_functionalizable(one)) continue;
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
  return aot::testing::exported(std::move(all), std::move(example), KINDLING_WRITES);
}

}  // namespace torch
