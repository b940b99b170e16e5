// A model that is made while the workspace is built.
#include "aten/aten.h"
#include "compile/aot/capture.h"
#include "export/capture/export.h"
#include "nn/nn.h"

namespace torch {

ExportedProgram make_model() {
  const NoGradGuard no_grad;
  nn::Sequential net(nn::Linear(16, 32), nn::ReLU(), nn::Linear(32, 4));
  net->eval();
  ExportOptions options;
  options.argument_names = {"features"};
  return export_(net, at::ones({1, 16}), options);
}

}  // namespace torch
