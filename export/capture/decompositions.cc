#include "export/capture/decompositions.h"

#include <memory>
#include <utility>
#include <vector>

#include "export/capture/lifting.h"
#include "graph/passes/dead_code.h"
#include "graph/passes/functionalize.h"
#include "graph/passes/shape_propagation.h"

namespace torch {
namespace {

using graph::Graph;
using graph::Node;
using graph::TensorInfo;
using graph::Value;

template <class F>
void for_results(const graph::Block& block, const F& f) {
  for (Node* node : block) {
    for (size_t i = 0; i < node->result_count(); ++i) f(node->result(i));
    for (size_t b = 0; b < node->block_count(); ++b) for_results(node->block(b), f);
  }
}

// Finds what is not known; what is stays.
void fill_infos(Graph& graph) {
  std::vector<std::pair<Value*, TensorInfo>> known;
  bool all = true;
  for_results(graph.block(), [&](Value* value) {
    if (value->info() != nullptr) {
      known.emplace_back(value, *value->info());
    } else if (value->type()->kind() == c10::TypeKind::TensorType) {
      all = false;
    }
  });
  if (all) return;
  graph::propagate_shapes(graph);
  for (auto& [value, info] : known) {
    if (value->info() == nullptr) value->set_info(std::move(info));
  }
}

std::vector<size_t> make_functional(std::unique_ptr<Graph>& graph) {
  fill_infos(*graph);
  graph::Functionalized made = graph::functionalize(*graph);
  graph = std::move(made.graph);
  fill_infos(*graph);
  return std::move(made.written_inputs);
}

ExportedProgram copy_of(const ExportedProgram& program) {
  ExportedProgram made;
  made.graph = program.graph->clone();
  made.signature = program.signature;
  made.state_dict = program.state_dict;
  made.constants = program.constants;
  made.in_spec = program.in_spec;
  made.out_spec = program.out_spec;
  made.example_inputs = program.example_inputs;
  made.argument_names = program.argument_names;
  made.guards = program.guards;
  made.opaque_sizes = program.opaque_sizes;
  made.modules = program.modules;
  made.functional = program.functional;
  return made;
}

}  // namespace

ExportedProgram run_decompositions(const ExportedProgram& program,
                                   const std::function<bool(const c10::OperatorHandle&)>& wanted) {
  ExportedProgram made = copy_of(program);
  // Decompositions may write to what they made themselves.
  export_detail::add_mutations(made, make_functional(made.graph));
  graph::decompose(*made.graph, wanted);
  make_functional(made.graph);
  graph::eliminate_dead_code(*made.graph);
  made.functional = true;
  return made;
}

}  // namespace torch
