// Known networks with weights drawn from one seed: KINDLING_MODEL is an expression that gives one, KINDLING_SIZES its
// input's.
#include "aten/ops/random/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "compile/aot/capture.h"
#include "export/capture/export.h"
#include "graph/passes/testing/models.h"

namespace torch {

ExportedProgram make_model() {
  using namespace graph::testing;
  const c10::NoGradGuard no_grad;
  at::manual_seed(1);
  const Model model = KINDLING_MODEL;
  ExportOptions options;
  options.argument_names = {"arg"};
  options.max_constant_bytes = INT64_MAX;
  return export_([&](const at::Tensor& x) { return model(x); }, std::tuple(at::randn(KINDLING_SIZES)), options);
}

}  // namespace torch
