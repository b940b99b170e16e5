// Modules and functions that tests export.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "export/capture/export.h"

namespace torch::testing {

struct ExportedModel {
  std::string name;
  /// The program; `options` say what else than the model's own dynamic_shapes.
  std::function<ExportedProgram(ExportOptions options)> program;
  /// What C++ gives for the leaves of the arguments, leaves too.
  std::function<std::vector<c10::IValue>(const std::vector<c10::IValue>& inputs)> call;
  /// The leaves of several calls, of other sizes where they may differ.
  std::vector<std::vector<c10::IValue>> inputs;
  std::shared_ptr<nn::Module> module;  ///< null: it has no state
};

/// MLP, convolutions with batch norm in training and not, LSTM, transformer, attention, shared weights, buffers, nested
/// inputs, control flow; sizes that may differ.
std::vector<ExportedModel> exported_models();

}  // namespace torch::testing
