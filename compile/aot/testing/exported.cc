#include "compile/aot/testing/exported.h"

#include <string>
#include <utility>

#include "c10/value/dict.h"
#include "graph/passes/shape_propagation.h"

namespace torch::aot::testing {

using c10::IValue;

ExportedProgram exported(std::unique_ptr<graph::Graph> graph, std::vector<IValue> example, bool writes) {
  ExportedProgram program;
  program.graph = std::move(graph);
  program.signature.inputs.resize(program.graph->block().input_count());
  program.signature.outputs.resize(program.graph->block().outputs().size());
  graph::propagate_shapes(*program.graph, example);
  for (size_t i = example.size(); writes && i-- > 0;) {
    if (i % 2 == 0) continue;
    InputSpec& spec = program.signature.inputs[i];
    spec.kind = InputSpec::Kind::kBuffer;
    spec.target = "buffer" + std::to_string(i);
    program.state_dict[spec.target] = example[i].toTensor();
    example.erase(example.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const auto tuple_of = [](size_t n) {
    TreeSpec spec;
    spec.kind = TreeSpec::Kind::kTuple;
    spec.children.resize(n);
    return spec;
  };
  program.in_spec = tuple_of(2);
  program.in_spec.children[0] = tuple_of(example.size());
  program.in_spec.children[1].kind = TreeSpec::Kind::kDict;
  program.out_spec = tuple_of(program.signature.outputs.size());
  program.example_inputs = c10::ivalue::Tuple::create(
      std::vector<IValue>{c10::ivalue::Tuple::create(std::move(example)),
                          c10::impl::GenericDict(c10::StringType::get(), c10::AnyType::get())});
  program.functional = !writes;
  return program;
}

}  // namespace torch::aot::testing
