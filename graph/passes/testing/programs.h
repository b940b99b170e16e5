// What tests of passes share: graphs from text, random graphs, and whether two graphs do the same.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "c10/value/stack.h"
#include "graph/ir/graph.h"

namespace torch::graph::testing {

/// A graph that calls operators of the dispatcher. `tensors`: @0, @1, ...
std::unique_ptr<Graph> parse(std::string_view text, std::vector<c10::IValue> tensors = {});

struct RandomProgram {
  std::unique_ptr<Graph> graph;
  c10::Stack inputs;
};
struct RandomOptions {
  int nodes = 25;
  bool writes = true;   ///< calls in place, also of views and inputs
  bool draws = true;    ///< random numbers
  bool control = true;  ///< if, loop
};
/// A graph of float tensors: pointwise, broadcasting, views, reductions, lists, constants, and what the options say.
/// Equal nodes and dead ones are frequent.
RandomProgram random_program(unsigned seed, const RandomOptions& options = {});

/// The outputs, and the inputs after it. Inputs are copied first, and the generator seeded.
c10::Stack run(const Graph& graph, const c10::Stack& inputs);

/// Empty where both give the same bits; else the place.
std::string difference(const c10::IValue& a, const c10::IValue& b);
std::string difference(const c10::Stack& a, const c10::Stack& b);

/// Empty where `functional`, whose first outputs are what the inputs of those numbers are afterwards, gives what the
/// graph gives and leaves in its inputs.
std::string functional_difference(const Graph& graph, const Graph& functional,
                                  const std::vector<size_t>& written_inputs, const c10::Stack& inputs);

}  // namespace torch::graph::testing
