// Known networks with weights drawn from one seed: KINDLING_MODEL is an expression that gives one, KINDLING_SIZES its
// input's.
#include <utility>

#include "aten/ops/random/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "compile/aot/capture.h"
#include "compile/aot/testing/exported.h"
#include "graph/capture/capture.h"
#include "graph/passes/testing/models.h"

namespace torch {

ExportedProgram make_model() {
  using namespace graph::testing;
  const c10::NoGradGuard no_grad;
  at::manual_seed(1);
  const Model model = KINDLING_MODEL;
  const at::Tensor input = at::randn(KINDLING_SIZES);
  graph::CaptureOptions options;
  options.max_constant_bytes = INT64_MAX;
  graph::Captured captured =
      graph::capture([&](const c10::Stack& in) { return c10::Stack{model(in[0].toTensor())}; }, {input}, options);
  return aot::testing::exported(std::move(captured.graph), {input});
}

}  // namespace torch
