#include "autograd/derivatives/norm_functions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/engine/forward_grad.h"

namespace torch::autograd::generated {
namespace {

std::optional<Tensor> optional_of(const Tensor& t) { return t.defined() ? std::optional<Tensor>(t) : std::nullopt; }

// One number a channel, shaped to broadcast over [N, C, *].
Tensor by_channel(const Tensor& t, const Tensor& input) {
  DimVector sizes(static_cast<size_t>(input.dim()), 1);
  sizes[1] = t.numel();
  return at::reshape(t, sizes);
}

Tensor cast(const Tensor& t, ScalarType dtype) { return t.scalar_type() == dtype ? t : at::to(t, dtype); }

struct NormalizedChannels {
  Tensor xhat, invstd;
  DimVector dims;  // all but the channels
};

// (input - mean) * invstd, in the statistics' dtype. In training they are computed again, as functions of the input.
NormalizedChannels normalized_channels(const Tensor& input, const Tensor& mean, const Tensor& invstd, bool training, double eps) {
  NormalizedChannels n;
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (d != 1) n.dims.push_back(d);
  }
  const Tensor x = cast(input, mean.scalar_type());
  if (!training) {
    n.invstd = by_channel(invstd, input);
    n.xhat = at::mul(at::sub(x, by_channel(mean, input)), n.invstd);
    return n;
  }
  const Tensor centered = at::sub(x, at::mean(x, n.dims, true));
  n.invstd = at::rsqrt(at::add(at::mean(at::mul(centered, centered), n.dims, true), Scalar(eps)));
  n.xhat = at::mul(centered, n.invstd);
  return n;
}

// What of `g`, the gradient or tangent of xhat, the statistics leave to the input.
Tensor through_statistics(const NormalizedChannels& n, const Tensor& g, bool training) {
  if (!training) return at::mul(g, n.invstd);
  const Tensor rest = at::add(at::mean(g, n.dims, true), at::mul(n.xhat, at::mean(at::mul(g, n.xhat), n.dims, true)));
  return at::mul(n.invstd, at::sub(g, rest));
}

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

std::tuple<Tensor, Tensor, Tensor> batch_norm_grad(
    const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& invstd,
    bool training, double eps, std::array<bool, 3> mask) {
  if (!grad.defined()) return {};
  mask[1] = mask[1] && weight.defined();
  mask[2] = mask[2] && bias.defined();
  if (!is_differentiated()) {
    return at::_fused_batch_norm_backward(grad, input, optional_of(weight), mean, invstd, training, mask);
  }
  const NormalizedChannels n = normalized_channels(input, mean, invstd, training, eps);
  const Tensor g = cast(grad, n.xhat.scalar_type());
  Tensor gx, gw, gb;
  if (mask[0]) {
    const Tensor scaled = weight.defined() ? at::mul(g, by_channel(weight, input)) : g;
    gx = cast(through_statistics(n, scaled, training), input.scalar_type());
  }
  if (mask[1]) gw = cast(at::reshape(at::sum(at::mul(g, n.xhat), n.dims), weight.sizes()), weight.scalar_type());
  if (mask[2]) gb = cast(at::reshape(at::sum(g, n.dims), bias.sizes()), bias.scalar_type());
  return {gx, gw, gb};
}

namespace {

// The groups of [N, C, *] as rows of a matrix, normalised in the statistics' dtype as functions of the input.
struct NormalizedGroups {
  Tensor xhat, scale;

  NormalizedGroups(const Tensor& input, int64_t num_groups, double eps) {
    const ScalarType type = isReducedFloatingType(input.scalar_type()) ? kFloat : input.scalar_type();
    const DimVector rows = {input.size(0) * num_groups, input.numel() / (input.size(0) * num_groups)};
    const Tensor x = at::reshape(cast(input, type), rows), centered = at::sub(x, at::mean(x, IntArrayRef{1}, true));
    scale = at::rsqrt(at::add(at::mean(at::mul(centered, centered), IntArrayRef{1}, true), Scalar(eps)));
    xhat = at::mul(centered, scale);
  }
  // What of `g`, the gradient or tangent of xhat, the statistics leave to the input.
  Tensor through_statistics(const Tensor& g) const {
    const Tensor rows = at::reshape(g, xhat.sizes());
    const Tensor rest = at::add(at::mean(rows, IntArrayRef{1}, true),
                                at::mul(xhat, at::mean(at::mul(rows, xhat), IntArrayRef{1}, true)));
    return at::reshape(at::mul(scale, at::sub(rows, rest)), g.sizes());
  }
};

}  // namespace

std::tuple<Tensor, Tensor, Tensor> group_norm_grad(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                                   const Tensor& bias, const Tensor& mean, const Tensor& rstd,
                                                   int64_t num_groups, double eps, std::array<bool, 3> mask) {
  if (!grad.defined()) return {};
  mask[1] = mask[1] && weight.defined();
  mask[2] = mask[2] && bias.defined();
  if (!is_differentiated() || input.numel() == 0) {
    return at::_fused_group_norm_backward(grad, input, optional_of(weight), mean, rstd, num_groups, mask);
  }
  const NormalizedGroups n(input, num_groups, eps);
  const Tensor g = cast(grad, mean.scalar_type());
  DimVector others;
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (d != 1) others.push_back(d);
  }
  Tensor gx, gw, gb;
  if (mask[0])
    gx = cast(n.through_statistics(weight.defined() ? at::mul(g, by_channel(cast(weight, g.scalar_type()), input)) : g),
              input.scalar_type());
  if (mask[1])
    gw = cast(at::reshape(at::sum(at::mul(g, at::reshape(n.xhat, input.sizes())), others), weight.sizes()),
              weight.scalar_type());
  if (mask[2]) gb = cast(at::reshape(at::sum(g, others), bias.sizes()), bias.scalar_type());
  return {gx, gw, gb};
}

Tensor group_norm_input_tangent(
    const Tensor& t, const Tensor& input, const std::optional<Tensor>& weight, int64_t num_groups, double eps) {
  if (input.numel() == 0) return t;
  const NormalizedGroups n(input, num_groups, eps);
  const Tensor tangent = n.through_statistics(cast(t, n.xhat.scalar_type()));
  const bool scaled = weight.has_value() && weight->defined();
  return cast(scaled ? at::mul(tangent, by_channel(cast(*weight, tangent.scalar_type()), input)) : tangent,
              input.scalar_type());
}

Tensor group_norm_weight_tangent(const Tensor& t, const Tensor& input, int64_t num_groups, double eps) {
  if (input.numel() == 0) return input;
  const NormalizedGroups n(input, num_groups, eps);
  return cast(at::mul(at::reshape(n.xhat, input.sizes()), by_channel(cast(t, n.xhat.scalar_type()), input)),
              input.scalar_type());
}

Tensor batch_norm_input_tangent(
    const Tensor& t, const Tensor& input, const std::optional<Tensor>& weight, const Tensor& mean, const Tensor& invstd, bool training,
    double eps) {
  const NormalizedChannels n = normalized_channels(input, mean, invstd, training, eps);
  const Tensor tangent = through_statistics(n, cast(t, n.xhat.scalar_type()), training);
  const bool scaled = weight.has_value() && weight->defined();
  return cast(scaled ? at::mul(tangent, by_channel(*weight, input)) : tangent, input.scalar_type());
}

Tensor batch_norm_weight_tangent(
    const Tensor& t, const Tensor& input, const Tensor& mean, const Tensor& invstd, bool training, double eps) {
  const NormalizedChannels n = normalized_channels(input, mean, invstd, training, eps);
  return cast(at::mul(n.xhat, by_channel(t, input)), input.scalar_type());
}

}  // namespace torch::autograd::generated
