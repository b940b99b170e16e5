// Programs as ONNX models: opset 20.
//
//   const torch::ExportedProgram program = torch::export_(net, x, {.dynamic_shapes = {{{0, torch::Dim("batch")}}}});
//   torch::onnx::export_(program, "net.onnx", {.input_names = {"image"}, .output_names = {"scores"}});
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "export/capture/export.h"
#include "export/exported_program.h"

namespace torch::onnx {

struct Options {
  /// Of the tensors among the program's inputs, in a row; and of its results. Those that are left out have the graph's
  /// names, and "output_0", "output_1" ...
  std::vector<std::string> input_names, output_names;
  /// Names of sizes that may differ, by an input's or output's name and dimension, in place of those of the program's
  /// symbols. Only of sizes that may.
  std::map<std::string, std::map<int64_t, std::string>> dynamic_axes;
  /// Weights are in the model where it is then not larger, else in a file beside it, of its name with ".data" added. 0:
  /// always there. Files of protobuf have at most 2 GiB.
  int64_t max_model_bytes = int64_t{1} << 30;
  std::string producer_name = "kindling";
};

/// Writes a program for inference, whose state becomes initializers under its names. Composed operators that ONNX has
/// (linear, convolutions, norms, pooling, attention, activations) are written as these; others as what they are made
/// of. Sizes that may differ are dim_params named by the program's symbols; inputs that are numbers or texts were fixed
/// when the program was made, and are left out, as are results that are None. A file is replaced in one step.
///
/// Throws NotImplementedError that lists all operators that have no form, and why; for programs that change buffers or
/// inputs (batch norm that trains), naming them; ValueError for names that are empty, taken or too many, for
/// dynamic_axes of a size that is fixed, and where nothing is known of a tensor (Value::info); IoError where the file
/// cannot be written.
void export_(const ExportedProgram& program, const std::string& path, const Options& options = {});
/// All in the model; ValueError where it is larger than max_model_bytes, which is at most 2 GiB.
void export_(const ExportedProgram& program, std::ostream& stream, const Options& options = {});

/// torch::export_() of a module or function, written; `how` says which sizes may differ.
template <class F, class Inputs>
requires(!std::is_same_v<std::decay_t<F>, ExportedProgram>) void export_(F&& callable, const Inputs& inputs,
                                                                         const std::string& path,
                                                                         const Options& options = {},
                                                                         const ExportOptions& how = {}) {
  export_(torch::export_(std::forward<F>(callable), inputs, how), path, options);
}

}  // namespace torch::onnx
