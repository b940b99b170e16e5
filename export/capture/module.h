// Programs as modules: torch.export's ExportedProgram.module().
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "export/exported_program.h"
#include "nn/module/module.h"

namespace torch {

/// A module with the program's parameters and buffers under their names, in modules as the names say, which runs the
/// program. It shares tensors with the program: what trains it, or loads a state into it, changes what it computes.
/// Whether it trains or not was decided when the program was made; train() and eval() change nothing.
///
///   torch::ExportedModule module(torch::load_exported("net.pt2"));
///   torch::optim::SGD sgd(module->parameters(), 0.1);
///   at::Tensor y = module->forward({x}).toTensor();
class ExportedModuleImpl : public nn::Module {
 public:
  /// Throws ValueError for names that no module can have.
  explicit ExportedModuleImpl(ExportedProgram program);
  c10::IValue forward(std::vector<c10::IValue> args,
                      std::vector<std::pair<std::string, c10::IValue>> kwargs = {}) const;
  const ExportedProgram& program() const { return program_; }

 private:
  ExportedProgram program_;
};
TORCH_MODULE(ExportedModule);

}  // namespace torch
