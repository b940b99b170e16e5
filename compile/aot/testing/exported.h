// Graphs as exported programs.
#pragma once

#include <memory>
#include <vector>

#include "export/exported_program.h"

namespace torch::aot::testing {

/// A program of tensors in a row, with this example. Where the graph writes, every second input is a buffer.
ExportedProgram exported(std::unique_ptr<graph::Graph> graph, std::vector<c10::IValue> example, bool writes = false);

}  // namespace torch::aot::testing
