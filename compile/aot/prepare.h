// An exported program as a graph that can be printed: without writes, parameters as constants, sizes known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compile/aot/groups.h"
#include "compile/aot/parts.h"
#include "compile/layers/fusion.h"
#include "export/exported_program.h"
#include "graph/ir/graph.h"

namespace torch::aot {

struct PrepareOptions {
  /// The largest values of symbols that the program has no upper bound for, or smaller bounds than it has.
  std::map<std::string, int64_t> largest;
};

/// A tensor that a program keeps from one run to the next: a buffer that it changes.
struct ProgramState {
  std::string name;    ///< a valid C++ name
  at::Tensor model;    ///< the model's own
  at::Tensor initial;  ///< what it is before the first run
};

/// An output that is no tensor: known when the program is compiled, or a number that follows from the sizes.
struct ProgramNumber {
  size_t place;  ///< among the user's outputs
  std::string name;
  graph::Operand value;
};

struct PreparedProgram {
  /// Its inputs are the user's tensors and, behind them, `states`; its outputs the user's and, behind them, what
  /// `updates` says. All are tensors: dense, row-major, the outputs each of memory of its own. Every value has an info,
  /// every symbol a range.
  std::unique_ptr<graph::Graph> graph;
  compiler::Fusions fusions;
  FoundGroups groups;
  std::map<std::string, ProgramPart> parts;  ///< invoked in the graph by their names
  std::vector<std::string> inputs;           ///< valid C++ names, different from each other
  std::vector<std::string> outputs;          ///< the same, of those that are tensors
  std::vector<ProgramNumber> numbers;
  std::vector<ProgramState> states;
  /// Of each output behind the user's, the input that has its value after the run: a state, or a tensor of the user.
  std::vector<size_t> updates;
  /// Whether the program changes an input.
  bool changes(size_t input) const { return std::find(updates.begin(), updates.end(), input) != updates.end(); }
  /// Of the program's user inputs in a row, the places of the graph's.
  std::vector<size_t> input_places;
  std::vector<std::string> notes;  ///< what the passes did
};

/// Throws ValueError that says what such a program must not have: gradients, sizes without a bound, inputs that are no
/// tensors, random numbers, numbers that depend on elements, control flow that parts.h has no form for.
PreparedProgram prepare(const ExportedProgram& program, const PrepareOptions& options = {});

}  // namespace torch::aot
