// Graphs as exported programs.
#pragma once

#include <memory>
#include <vector>

#include "export/exported_program.h"

namespace torch::aot::testing {

/// A program of tensors in a row, with this example.
ExportedProgram exported(std::unique_ptr<graph::Graph> graph, std::vector<c10::IValue> example);

}  // namespace torch::aot::testing
