// What a step does to each element of its result before it is stored, as C++.
#pragma once

#include <string>
#include <vector>

#include "compile/aot/printer.h"
#include "graph/ir/graph.h"

namespace torch::aot {

/// "add, low, high" of compiler::epilogue_of().
std::string print_epilogue(Printer& printer, const std::vector<const graph::Node*>& group);

}  // namespace torch::aot
