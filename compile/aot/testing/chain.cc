// One chain over tensors of sizes up to 256 x 4096, for benchmarks: KINDLING_CHAIN is an expression of x and r [rows,
// columns], w and b [columns].
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/softmax/ops.h"
#include "c10/core/grad_mode.h"
#include "compile/aot/capture.h"
#include "export/capture/export.h"

namespace torch {

ExportedProgram make_model() {
  const c10::NoGradGuard no_grad;
  ExportOptions options;
  options.argument_names = {"x", "w", "b", "r"};
  const Dim rows("rows", 1, 256), columns("columns", 1, 4096);
  options.dynamic_shapes = {{{0, rows}, {1, columns}}, {{0, columns}}, {{0, columns}}, {{0, rows}, {1, columns}}};
  // Not at the largest sizes.
  options.max_check_bytes = 1 << 20;
  return export_(
      [](const at::Tensor& x, const at::Tensor& w, const at::Tensor& b, const at::Tensor& r) { return KINDLING_CHAIN; },
      std::tuple(at::randn({3, 5}), at::randn({5}), at::randn({5}), at::randn({3, 5})), options);
}

}  // namespace torch
