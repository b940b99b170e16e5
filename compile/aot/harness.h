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
  std::vector<at::Tensor> inputs, outputs;
};

/// The model's own example, where it has one, else numbers drawn with a fixed seed; with sizes that differ from call to
/// call also the least and the largest of each. Outputs are the interpreter's.
std::vector<Example> make_examples(const ExportedProgram& program, const PreparedProgram& prepared);

/// The examples' bytes, and a program that runs them: it ends with 1 where an output is further from the model's than
/// `tolerance` times the largest number in it.
struct PrintedTest {
  std::string bytes, source;
  std::vector<std::string> inputs;  ///< of the first example, as C++ pointers
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
