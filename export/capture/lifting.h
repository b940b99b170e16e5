// Graphs of captures as exported programs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "export/exported_program.h"
#include "graph/ir/graph.h"

namespace torch::export_detail {

/// A parameter or buffer of a module.
struct StateTensor {
  InputSpec::Kind kind;
  std::string name;
  at::Tensor tensor;
  bool persistent = true;
};

/// A graph whose inputs are state, in order, then the tensors among the program's inputs; whose outputs are what the
/// written inputs are afterwards, then the results.
struct Lifted {
  std::unique_ptr<graph::Graph> graph;
  std::vector<size_t> written;
  std::vector<std::string> argument_names;
};

/// Fills the program's graph, signature and tensors: constants of nodes become inputs between state and arguments, and
/// every leaf of the arguments is an input, numbers and texts too. `sizes`: those of the leaves that may differ, by
/// leaf and dimension.
void lift(ExportedProgram& program, Lifted lifted, const std::vector<StateTensor>& state, const TreeSpec& in_spec,
          const std::vector<c10::IValue>& leaves, const std::map<std::pair<size_t, int64_t>, graph::IntExpr>& sizes);

/// The signature's outputs of a functional graph whose first outputs are what these inputs are afterwards, of `outputs`
/// in all; the others are as they were.
void add_mutations(ExportedProgram& program, const std::vector<size_t>& written);

}  // namespace torch::export_detail
