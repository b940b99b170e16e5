// Programs that are made of nodes, without a file.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "export/exported_program.h"

namespace torch::pt2 {

struct TestProgram {
  std::string name;
  std::unique_ptr<ExportedProgram> program;
  std::vector<std::vector<c10::IValue>> inputs;  // of each call
};

/// All forms that graphs have: weights, dynamic sizes, constants, lists, control flow, numbers, mutation.
std::vector<TestProgram> test_programs();

/// A graph of `nodes` calls and branches drawn at random, over tensors of one size.
TestProgram random_program(unsigned seed, int nodes);

/// "aten::add.Tensor", with the arguments that are missing at their defaults.
graph::Node* call(graph::Block& block, const std::string& name, std::vector<graph::Operand> operands);

/// What is known of the values, from a run with these inputs; what is known already stays.
void fill_infos(ExportedProgram& program, const std::vector<c10::IValue>& inputs);

/// Specs for inputs in a row and outputs in a row.
void use_flat_trees(ExportedProgram& program);

}  // namespace torch::pt2
