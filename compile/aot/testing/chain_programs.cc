// Chains of element-wise operators and rows whose sizes differ from call to call.
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "compile/aot/capture.h"
#include "export/capture/export.h"

namespace torch {
namespace {

// x [a, b], w [b], r [a, b], t [b, a], c [a, 1]
std::vector<at::Tensor> chains(const at::Tensor& x, const at::Tensor& w, const at::Tensor& r, const at::Tensor& t,
                               const at::Tensor& c) {
  const at::Tensor sum = at::add(at::mul(x, w), c);
  const at::Tensor activated = at::add(at::gelu(sum), r);
  // Broadcast, truth values, and a transposed operand.
  const at::Tensor turned = at::add(r, at::t(t)), above = at::gt(turned, sum);
  const at::Tensor chosen = at::where(above, at::sigmoid(turned), at::neg(sum));
  // Rows with what surrounds them, and the sum again behind them.
  const at::Tensor softened = at::mul(at::softmax(at::mul(activated, 0.125), -1), c);
  const at::Tensor residual = at::add(x, r);
  const at::Tensor normed = at::layer_norm(residual, {16}, std::nullopt, std::nullopt, 1e-5, true);
  // A result with memory that nothing reads any more, in other dtypes.
  const at::Tensor half = at::to(at::mul(at::to(chosen, at::kBFloat16), 1.5), at::kFloat);
  const at::Tensor whole = at::to(at::mul(r, 10), at::kLong);
  return {
      activated, above, chosen, softened, residual, normed, half, at::add(whole, 3), at::relu(at::reshape(x, {-1}))};
}

}  // namespace

ExportedProgram make_model() {
  const c10::NoGradGuard no_grad;
  at::manual_seed(1);
  ExportOptions options;
  options.argument_names = {"x", "w", "r", "t", "c"};
  const Dim rows("rows", KINDLING_LEAST, 3000);
  options.dynamic_shapes = {{{0, rows}}, {}, {{0, rows}}, {{1, rows}}, {{0, rows}}};
  return export_(
      chains,
      std::tuple(at::randn({5, 16}), at::randn({16}), at::randn({5, 16}), at::randn({16, 5}), at::randn({5, 1})),
      options);
}

}  // namespace torch
