#include "autograd/derivatives/norm_functions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "autograd/engine/forward_grad.h"

namespace torch::autograd::generated {
namespace {

std::optional<Tensor> optional_of(const Tensor& t) { return t.defined() ? std::optional<Tensor>(t) : std::nullopt; }

}  // namespace

std::tuple<Tensor, Tensor, Tensor> layer_norm_backward(
    const Tensor& grad, const Tensor& input, IntArrayRef normalized_shape, const Tensor& mean, const Tensor& rstd,
    const Tensor& weight, const Tensor& bias, double eps, std::array<bool, 3> mask) {
  if (!grad.defined()) return {};
  if (!is_differentiated()) {
    return at::native_layer_norm_backward(
        grad, input, normalized_shape, mean, rstd, optional_of(weight), optional_of(bias), mask);
  }
  DimVector inner, lead;
  const int64_t first = input.dim() - static_cast<int64_t>(normalized_shape.size());
  for (int64_t d = 0; d < input.dim(); ++d) (d < first ? lead : inner).push_back(d);
  const Tensor centered = at::sub(input, at::mean(input, inner, true));
  const Tensor scale = at::rsqrt(at::add(at::mean(at::mul(centered, centered), inner, true), Scalar(eps)));
  const Tensor xhat = at::mul(centered, scale);
  Tensor gx, gw, gb;
  if (mask[0]) {
    const Tensor g = weight.defined() ? at::mul(grad, weight) : grad;
    const Tensor rest = at::add(at::mean(g, inner, true), at::mul(xhat, at::mean(at::mul(g, xhat), inner, true)));
    gx = at::mul(scale, at::sub(g, rest));
  }
  const auto over_rows = [&](const Tensor& t) { return lead.empty() ? t : at::sum(t, lead); };
  if (mask[1] && weight.defined()) gw = over_rows(at::mul(grad, xhat));
  if (mask[2] && bias.defined()) gb = over_rows(grad);
  return {gx, gw, gb};
}

}  // namespace torch::autograd::generated
