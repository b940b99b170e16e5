// Batch and group normalization by composition: differentiable (twice) through the operators that they call.
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"

namespace at::native {
namespace {

bool given(const std::optional<Tensor>& t) {
  return t.has_value() && t->defined();
}

void check_channels(const char* op, const char* name, const std::optional<Tensor>& t, int64_t channels) {
  TORCH_CHECK(!given(t) || t->numel() == channels, op, ": ", name, " should contain ", channels, " elements not ",
              t->numel());
}

// One number a channel, shaped to broadcast over [N, C, *].
Tensor by_channel(const Tensor& t, int64_t dim) {
  DimVector sizes(static_cast<size_t>(dim), 1);
  sizes[1] = t.numel();
  return at::reshape(t, sizes);
}

Tensor affine(Tensor x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias) {
  const int64_t dim = x.dim();
  if (given(weight)) x = at::mul(x, by_channel(*weight, dim));
  if (given(bias)) x = at::add(x, by_channel(*bias, dim));
  return x;
}

// 16-bit types compute in float.
Tensor widened(const Tensor& x) {
  return isReducedFloatingType(x.scalar_type()) ? at::to(x, TensorOptions(kFloat), false, false, std::nullopt) : x;
}
Tensor narrowed(const Tensor& y, ScalarType dtype) {
  return y.scalar_type() == dtype ? y : at::to(y, TensorOptions(dtype), false, false, std::nullopt);
}

// running = (1 - momentum) * running + momentum * fresh
void move_towards(const Tensor& running, const Tensor& fresh, double momentum) {
  Tensor target = running;
  at::mul_(target, 1 - momentum);
  at::add_(target, at::reshape(fresh, running.sizes()), momentum);
}

}  // namespace

Tensor batch_norm(const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                  const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var, bool training,
                  double momentum, double eps, bool) {
  TORCH_CHECK(input.dim() >= 2, "batch_norm: expected input of at least 2 dimensions, but got sizes ", input.sizes());
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(input.scalar_type()), "\"batch_norm\" not implemented for '",
                              input.scalar_type(), "'");
  const int64_t channels = input.size(1);
  check_channels("batch_norm", "weight", weight, channels);
  check_channels("batch_norm", "bias", bias, channels);
  check_channels("batch_norm", "running_mean", running_mean, channels);
  check_channels("batch_norm", "running_var", running_var, channels);
  TORCH_CHECK(training || (given(running_mean) && given(running_var)),
              "batch_norm: Expected running_mean and running_var to be defined when training=False");
  const Tensor x = widened(input);
  Tensor mean;
  Tensor var;
  if (training) {
    DimVector dims;
    for (int64_t d = 0; d < input.dim(); ++d) {
      if (d != 1) dims.push_back(d);
    }
    mean = at::mean(x, OptionalIntArrayRef(IntArrayRef(dims)), /*keepdim=*/true, std::nullopt);
    var = at::var(x, OptionalIntArrayRef(IntArrayRef(dims)), /*correction=*/std::optional<Scalar>(0), /*keepdim=*/true);
    if (given(running_mean) || given(running_var)) {
      c10::NoGradGuard no_grad;
      const int64_t count = channels == 0 ? 0 : input.numel() / channels;
      if (given(running_mean)) move_towards(*running_mean, at::detach(mean), momentum);
      // The running variance is the unbiased one.
      if (given(running_var)) {
        const double unbias = static_cast<double>(count) / static_cast<double>(count - 1);
        move_towards(*running_var, at::mul(at::detach(var), unbias), momentum);
      }
    }
  } else {
    mean = by_channel(*running_mean, input.dim());
    var = by_channel(*running_var, input.dim());
  }
  const Tensor normalized = at::mul(at::sub(x, mean), at::rsqrt(at::add(var, eps)));
  return narrowed(affine(normalized, weight, bias), input.scalar_type());
}

Tensor group_norm(const Tensor& input, int64_t num_groups, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps, bool) {
  TORCH_CHECK(input.dim() >= 2, "group_norm: expected input of at least 2 dimensions, but got sizes ", input.sizes());
  const int64_t batch = input.size(0);
  const int64_t channels = input.size(1);
  TORCH_CHECK(num_groups > 0, "Expected num groups to be greater than 0, got ", num_groups);
  TORCH_CHECK(channels % num_groups == 0,
              "Expected number of channels in input to be divisible by num_groups, but got ", "input of shape ",
              input.sizes(), " and num_groups=", num_groups);
  check_channels("group_norm", "weight", weight, channels);
  check_channels("group_norm", "bias", bias, channels);
  if (input.numel() == 0) return at::clone(input, std::nullopt);
  // A group is a row.
  const int64_t row = input.numel() / (batch * num_groups);
  const Tensor rows = at::reshape(widened(input), {batch * num_groups, row});
  const Tensor normalized = at::reshape(at::layer_norm(rows, {row}, std::nullopt, std::nullopt, eps), input.sizes());
  return narrowed(affine(normalized, weight, bias), input.scalar_type());
}

}  // namespace at::native
