// Fifty random graphs as one program: printed C++ does what the interpreter does. With KINDLING_WRITES graphs that
// write, to inputs, too, of which every second is a buffer of the program.
#include <map>
#include <utility>

#include "c10/dispatch/registry.h"
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

// Whether of all results of control flow the sizes and strides are known, as files say them: branches may give others.
bool is_known(const graph::Graph& graph) {
  bool known = true;
  graph.for_nodes([&](const graph::Node* node) {
    for (size_t i = 0; node->block_count() > 0 && i < node->result_count(); ++i) {
      known = known && node->result(i)->info() != nullptr;
    }
  });
  return known;
}

// The first loop of a graph, if it has one.
graph::Node* find_loop(const graph::Graph& graph) {
  graph::Node* found = nullptr;
  graph.for_nodes([&](graph::Node* node) {
    if (found == nullptr && node->kind() == graph::Node::Kind::kLoop) found = node;
  });
  return found;
}

// Files have no loops of a number of turns: they scan the rows of the first input, which nothing reads.
void scan_instead_of_loops(graph::Graph& graph) {
  while (graph::Node* const loop = find_loop(graph)) {
    TORCH_CHECK(loop->operand(0).constant().toInt() == 3,
                "expected loops of as many turns as the first input has rows");
    std::unique_ptr<graph::Node> made =
        graph.make(graph::Node::Kind::kScan,
                   {loop->operand(2), std::vector<Operand>{graph.block().input(0)}, std::vector<Operand>{}});
    graph::Node* const scan = loop->block()->append(std::move(made));
    graph::Block& to = scan->add_block();
    std::map<const Value*, Operand> values{{loop->block(0).input(0), Operand(IValue(0))}};
    for (size_t i = 1; i < loop->block(0).input_count(); ++i) {
      values.emplace(loop->block(0).input(i), to.add_input(c10::TensorType::get()));
    }
    to.add_input(c10::TensorType::get());
    std::vector<Operand> outputs = copy_nodes(loop->block(0), to, values);
    outputs.erase(outputs.begin());
    to.set_outputs(std::move(outputs));
    scan->move_before(loop);
    for (size_t i = 0; i < loop->result_count(); ++i) {
      loop->result(i)->replace_all_uses_with(Operand(scan->add_result(c10::TensorType::get())));
    }
    loop->erase();
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
    options.draws = false;
    options.writes = KINDLING_WRITES;
    options.control = !KINDLING_WRITES;
    const graph::testing::RandomProgram one = graph::testing::random_program(seed, options);
    if (KINDLING_WRITES && !is_functionalizable(one)) continue;
    scan_instead_of_loops(*one.graph);
    graph::propagate_shapes(*one.graph, one.inputs);
    if (!is_known(*one.graph)) continue;
    std::map<const Value*, Operand> values;
    for (size_t i = 0; i < one.inputs.size(); ++i) {
      Value* const input = one.graph->block().input(i);
      if (!one.inputs[i].isTensor()) {
        // What branches are taken by is computed.
        const auto append = [&](const char* name, const char* overload, std::vector<Operand> operands) {
          const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
          return block.append(all->call(graph::Callable(op), std::move(operands)))->result();
        };
        const Operand bound = IValue(one.inputs[i].toBool() ? -1000 : 1000);
        Value* const greater = append("aten::gt", "Scalar", {Operand(block.input(0)), bound});
        values.emplace(input, Operand(append("aten::any", "", {Operand(greater)})));
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
