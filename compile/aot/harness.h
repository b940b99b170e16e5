// What is made beside a printed program: a test against the model itself, a benchmark, and a face with tensors.
#pragma once

#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "compile/aot/prepare.h"
#include "compile/aot/printer.h"
#include "export/exported_program.h"

namespace torch::aot {

/// Inputs, and what the model gives for them.
struct Example {
  std::map<std::string, int64_t> symbols;
  std::vector<at::Tensor> inputs;
  /// Of a run, and of the next one with the same inputs where the program changes anything: the outputs, and behind
  /// them what it changes (PreparedProgram::updates).
  std::vector<std::vector<at::Tensor>> runs;
  /// The outputs that are no tensors.
  std::vector<c10::IValue> numbers;
};

/// The model's own example, where it has one, else numbers drawn with a fixed seed; with sizes that differ from call to
/// call also the least and the largest of each. Outputs are the interpreter's; each example begins with the buffers
/// that the model has, which it has again afterwards.
std::vector<Example> make_examples(const ExportedProgram& program, const PreparedProgram& prepared);

/// The examples' bytes, and a program that runs them: it ends with 1 where an output is further from the model's than
/// `tolerance` times the largest number in it.
struct PrintedTest {
  std::string bytes, source;
  std::vector<std::string> inputs;  ///< of the first example, as C++ pointers
  std::string changed_inputs;       ///< lines that declare what those point to, where the program changes it
};
PrintedTest print_test(const PreparedProgram& program, const PrintOptions& options,
                       const std::vector<Example>& examples, double tolerance);

/// A program that prints the time of a run of the first example.
std::string print_benchmark(const PreparedProgram& program, const PrintOptions& options, const Example& example,
                            const PrintedTest& test);

/// The class over at::Tensor, in files of their own.
struct PrintedTensors {
  std::string header, source;
};
PrintedTensors print_tensors(const PreparedProgram& program, const PrintOptions& options, const std::string& header);

/// Puts a file's bytes into a program, under a symbol.
std::string print_assembly(const std::string& symbol, const std::string& path, const std::string& bytes);

}  // namespace torch::aot
