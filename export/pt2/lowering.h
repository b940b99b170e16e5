// Programs in the forms that .pt2 files have: no constants that are tensors, no numbers that are expressions, and
// symbols that PyTorch knows the kinds of.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "export/exported_program.h"

namespace torch::pt2 {

struct Lowered {
  std::unique_ptr<graph::Graph> graph;
  GraphSignature signature;
  /// The program's, and tensors that were constants of nodes.
  std::map<std::string, at::Tensor> constants;
};

/// The program itself stays as it is. Throws ValueError for an expression of sizes that no input has.
Lowered lower(const ExportedProgram& program);

/// What is known of a tensor that is there.
graph::TensorInfo info_of(const at::Tensor& tensor);

/// "_operator.add" of one of Python's operators.
std::string scalar_target(const graph::Node& node);
/// aten::sym_size.int, whether or not it is linked.
graph::Callable sym_size();

}  // namespace torch::pt2
