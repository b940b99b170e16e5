// ONNX models for inference: files of opsets 7 to 28.
//
//   torch::ExportedProgram model = torch::onnx::load("resnet.onnx");
//   c10::IValue y = model({image});                          // one output; a tuple where there are several
//
// Models run as programs do that torch.export wrote: export/exported_program.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "export/exported_program.h"
#include "graph/ir/callable.h"

namespace torch::onnx {

/// Reads a model. The program's inputs are the graph's inputs without an initializer, in order, its outputs the
/// graph's; initializers are in its state_dict (floating point) and constants (others) under their names, as far as
/// they are needed. Names of sizes are symbols: where two inputs have one, they agree in it.
///
/// Throws IoError where the file or its external data cannot be read, FormatError that names file and node where it is
/// damaged or breaks ONNX's rules, NotImplementedError that lists all operators that are not known, or names the
/// attribute that is not. Local functions are expanded. External data lie in the model's folder or below.
ExportedProgram load(const std::string& path);

/// The same from memory. `folder`: where external data lie; empty: there are none.
ExportedProgram load_from_memory(std::string_view bytes, const std::string& folder = "");

/// "onnx::shape" and the others that graphs of models call besides the operators of the dispatcher, so that such graphs
/// can be read from text (graph/ir/text.h). Null for other names.
std::optional<graph::Callable> callable(std::string_view name);

}  // namespace torch::onnx
