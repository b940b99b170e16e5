// What a step does to each element of its result before it is stored.
#pragma once

#include <string>
#include <vector>

#include "compile/aot/printer.h"
#include "graph/ir/graph.h"

namespace torch::aot {

/// min(max(result + add, low), high), as C++.
struct Epilogue {
  std::string add = "nullptr", low = "-INFINITY", high = "INFINITY";
  /// "add, low, high".
  std::string arguments() const { return add + ", " + low + ", " + high; }
};

/// Of the nodes behind the first of a group (find_fusions).
Epilogue epilogue_of(Printer& printer, const std::vector<const graph::Node*>& group);

}  // namespace torch::aot
