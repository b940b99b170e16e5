// The normalisations that are composed of others, differentiable (twice) through the operators that they call.
#include <array>
#include <tuple>

#include "aten/core/overlap.h"
#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/norm/channels.h"
#include "aten/ops/norm/kernels.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"

namespace at::native {
namespace {

void check_writable(const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var) {
  for (const std::optional<Tensor>* t : {&running_mean, &running_var}) {
    if (given(*t)) structured::check_no_internal_overlap(**t);
  }
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
  return x.scalar_type() == kHalf || x.scalar_type() == kBFloat16
             ? at::to(x, TensorOptions(kFloat), false, false, std::nullopt)
             : x;
}
Tensor narrowed(const Tensor& y, ScalarType dtype) {
  return y.scalar_type() == dtype ? y : at::to(y, TensorOptions(dtype), false, false, std::nullopt);
}

// Statistics are written in place after all else was checked, so this is what could go wrong then.
void check_running(const char* name, const std::optional<Tensor>& running, const Tensor& input) {
  if (!given(running)) return;
  check_channels("batch_norm", name, running, input.size(1));
  TORCH_CHECK(running->is_floating_point() && running->device() == input.device(), "batch_norm: expected ", name,
              " to be floating-point on device ", input.device(), ", got ", running->scalar_type(), " on ",
              running->device());
  TORCH_CHECK(!running->requires_grad(), "batch_norm: ", name,
              " may not require a gradient, because it is changed in place");
  structured::check_no_internal_overlap(*running);
}

// (1 - momentum) * running + momentum * factor * statistic; undefined where nothing runs.
Tensor moved_towards(const std::optional<Tensor>& running, const Tensor& statistic, double momentum, double factor) {
  if (!given(running)) return Tensor();
  return narrowed(
      at::add(at::mul(widened(*running), 1 - momentum), at::reshape(statistic, running->sizes()), momentum * factor),
      running->scalar_type());
}

// The result, and in training the mean and 1 / sqrt(variance + eps) of each channel (else nothing) in the dtype `statistics`, or
// as they were computed.
std::tuple<Tensor, Tensor, Tensor> normalized_batch(const Tensor& input, const std::optional<Tensor>& weight,
                                                    const std::optional<Tensor>& bias,
                                                    const std::optional<Tensor>& running_mean,
                                                    const std::optional<Tensor>& running_var, bool training,
                                                    double momentum, double eps,
                                                    std::optional<ScalarType> statistics = std::nullopt) {
  check_normalized_by_channel("batch_norm", input, weight, bias);
  check_running("running_mean", running_mean, input);
  check_running("running_var", running_var, input);
  const auto [result, mean, invstd, var] =
      at::_fused_batch_norm(input, weight, bias, running_mean, running_var, training, eps);
  const auto saved = [&](const Tensor& t) {
    const Tensor of_all = training ? t : at::narrow(t, 0, 0, 0);
    return narrowed(of_all, statistics.value_or(t.scalar_type()));
  };
  const Tensor save_mean = saved(mean), save_invstd = saved(invstd);
  if (!training) return {result, save_mean, save_invstd};
  c10::NoGradGuard no_grad;
  // The running variance is the unbiased one.
  const double count = input.size(1) == 0 ? 0 : static_cast<double>(input.numel() / input.size(1));
  const Tensor new_mean = moved_towards(running_mean, mean, momentum, 1);
  const Tensor new_var = moved_towards(running_var, var, momentum, count / (count - 1));
  // Written last, so that they stay as they are where anything before fails.
  Tensor target;
  if (new_mean.defined()) at::copy_(target = *running_mean, new_mean);
  if (new_var.defined()) at::copy_(target = *running_var, new_var);
  return {result, save_mean, save_invstd};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& input, const std::optional<Tensor>& weight,
                                                     const std::optional<Tensor>& bias,
                                                     const std::optional<Tensor>& running_mean,
                                                     const std::optional<Tensor>& running_var, bool training,
                                                     double momentum, double eps) {
  const ScalarType type = public_statistics_dtype(input, {weight, bias, running_mean, running_var});
  return normalized_batch(input, weight, bias, running_mean, running_var, training, momentum, eps, type);
}

std::tuple<Tensor, Tensor, Tensor> native_batch_norm_backward(const Tensor& grad_out, const Tensor& input,
                                                              const std::optional<Tensor>& weight,
                                                              const std::optional<Tensor>& running_mean,
                                                              const std::optional<Tensor>& running_var,
                                                              const std::optional<Tensor>& save_mean,
                                                              const std::optional<Tensor>& save_invstd, bool train,
                                                              double eps, std::array<bool, 3> output_mask) {
  if (train) {
    TORCH_CHECK(given(save_mean) && given(save_invstd),
                "native_batch_norm_backward: expected save_mean and save_invstd in training");
    return at::_fused_batch_norm_backward(grad_out, input, weight, *save_mean, *save_invstd, true, output_mask);
  }
  TORCH_CHECK(given(running_mean) && given(running_var),
              "native_batch_norm_backward: expected running_mean and running_var where train=False");
  const Tensor invstd = at::rsqrt(at::add(widened(*running_var), eps));
  return at::_fused_batch_norm_backward(grad_out, input, weight, *running_mean, invstd, false, output_mask);
}

// The running statistics change only where the results can be written.
std::tuple<Tensor&, Tensor&, Tensor&> native_batch_norm_out(const Tensor& input, const std::optional<Tensor>& weight,
                                                            const std::optional<Tensor>& bias,
                                                            const std::optional<Tensor>& running_mean,
                                                            const std::optional<Tensor>& running_var, bool training,
                                                            double momentum, double eps, Tensor& out, Tensor& save_mean,
                                                            Tensor& save_invstd) {
  if (training) check_writable(running_mean, running_var);
  const auto copy_of = [](const std::optional<Tensor>& t) {
    return given(t) ? std::optional<Tensor>(at::clone(*t)) : t;
  };
  const std::optional<Tensor> mean = copy_of(running_mean), var = copy_of(running_var);
  const std::tuple<Tensor, Tensor, Tensor> results =
      at::native_batch_norm(input, weight, bias, mean, var, training, momentum, eps);
  const std::tuple<Tensor&, Tensor&, Tensor&> outs(out, save_mean, save_invstd);
  structured::prepare_out("native_batch_norm_out", out, std::get<0>(results));
  structured::prepare_out("native_batch_norm_out", save_mean, std::get<1>(results));
  structured::prepare_out("native_batch_norm_out", save_invstd, std::get<2>(results));
  Tensor target;
  if (training && given(mean)) at::copy_(target = *running_mean, *mean);
  if (training && given(var)) at::copy_(target = *running_var, *var);
  at::copy_(out, std::get<0>(results));
  at::copy_(save_mean, std::get<1>(results));
  at::copy_(save_invstd, std::get<2>(results));
  return outs;
}

// The mean and the biased variance of each channel, towards which the running statistics move.
std::tuple<Tensor, Tensor> batch_norm_update_stats(const Tensor& input, const std::optional<Tensor>& running_mean,
                                                   const std::optional<Tensor>& running_var, double momentum) {
  check_normalized_by_channel("batch_norm_update_stats", input, std::nullopt, std::nullopt);
  check_running("running_mean", running_mean, input);
  check_running("running_var", running_var, input);
  c10::NoGradGuard no_grad;
  DimVector others;
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (d != 1) others.push_back(d);
  }
  const auto [var, mean] = at::var_mean(widened(input), IntArrayRef(others), Scalar(0), false);
  const double count = input.size(1) == 0 ? 0 : static_cast<double>(input.numel() / input.size(1));
  const Tensor new_mean = moved_towards(running_mean, mean, momentum, 1);
  const Tensor new_var = moved_towards(running_var, var, momentum, count / (count - 1));
  const ScalarType type = public_statistics_dtype(input, {running_mean, running_var});
  std::tuple<Tensor, Tensor> results(narrowed(mean, type), narrowed(var, type));
  // Written last, so that they stay as they are where anything before fails.
  Tensor target;
  if (new_mean.defined()) at::copy_(target = *running_mean, new_mean);
  if (new_var.defined()) at::copy_(target = *running_var, new_var);
  return results;
}

Tensor batch_norm(const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                  const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var, bool training,
                  double momentum, double eps, bool) {
  return std::get<0>(normalized_batch(input, weight, bias, running_mean, running_var, training, momentum, eps));
}

// Each channel of each sample by itself: the batch normalization of one sample with batch * channels channels.
Tensor instance_norm(const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                     const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
                     bool use_input_stats, double momentum, double eps, bool) {
  TORCH_CHECK(use_input_stats || (given(running_mean) && given(running_var)),
              "Expected running_mean and running_var to be defined when use_input_stats is false");
  TORCH_CHECK(input.dim() >= 2, "instance_norm: expected input of at least 2 dimensions, but got sizes ",
              input.sizes());
  const int64_t batch = input.size(0);
  const int64_t channels = input.size(1);
  const auto for_all = [&](const std::optional<Tensor>& t) {
    return given(t) ? std::optional<Tensor>(at::repeat(*t, {batch})) : std::nullopt;
  };
  check_channels("instance_norm", "weight", weight, channels);
  check_channels("instance_norm", "bias", bias, channels);
  check_running("running_mean", running_mean, input);
  check_running("running_var", running_var, input);
  if (use_input_stats && !given(running_mean) && !given(running_var) && input.numel() != 0) {
    return std::get<0>(at::_fused_group_norm(input, weight, bias, channels, eps));
  }
  const std::optional<Tensor> mean = for_all(running_mean);
  const std::optional<Tensor> var = for_all(running_var);
  DimVector sizes(input.sizes().begin(), input.sizes().end());
  sizes[0] = 1;
  TORCH_CHECK(!__builtin_mul_overflow(batch, channels, &sizes[1]), "instance_norm: too many channels, got sizes ",
              input.sizes());
  const Tensor result = std::get<0>(normalized_batch(at::reshape(input, sizes), for_all(weight), for_all(bias), mean,
                                                     var, use_input_stats, momentum, eps));
  const Tensor shaped = at::reshape(result, input.sizes());
  if (use_input_stats) {
    c10::NoGradGuard no_grad;
    const auto average = [&](const std::optional<Tensor>& of_all) {
      return given(of_all) ? at::mean(at::reshape(*of_all, {batch, channels}), OptionalIntArrayRef(IntArrayRef{0}),
                                      false, std::nullopt)
                           : Tensor();
    };
    // Written last, so that they stay as they are where anything before fails.
    const Tensor new_mean = average(mean), new_var = average(var);
    Tensor target;
    if (new_mean.defined()) at::copy_(target = *running_mean, new_mean);
    if (new_var.defined()) at::copy_(target = *running_var, new_var);
  }
  return shaped;
}

static void check_groups_of(const char* op, const Tensor& input, int64_t N, int64_t C, int64_t HxW, int64_t group) {
  TORCH_CHECK(group > 0 && C % group == 0, "Expected number of channels ", C,
              " to be divisible by the number of groups ", group);
  int64_t elements = 0;
  TORCH_CHECK(N >= 0 && C >= 0 && HxW >= 0 && !__builtin_mul_overflow(N, C, &elements) &&
                  !__builtin_mul_overflow(elements, HxW, &elements) && !__builtin_mul_overflow(N, group, &elements) &&
                  !__builtin_mul_overflow(C / group, HxW, &elements) && input.numel() == N * C * HxW,
              op, ": expected input of ", N, " * ", C, " * ", HxW, " elements, but got sizes ", input.sizes());
}

// The result and each group's mean and 1 / sqrt(variance + eps).
std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& input, const std::optional<Tensor>& weight,
                                                     const std::optional<Tensor>& bias, int64_t N, int64_t C,
                                                     int64_t HxW, int64_t group, double eps) {
  check_groups_of("native_group_norm", input, N, C, HxW, group);
  check_channels("native_group_norm", "weight", weight, C);
  check_channels("native_group_norm", "bias", bias, C);
  const int64_t row = C / group * HxW;
  const Tensor rows = at::reshape(widened(input), {N * group, row});
  const Tensor normalized = at::layer_norm(rows, {row}, std::nullopt, std::nullopt, eps);
  const Tensor result = at::reshape(affine(at::reshape(normalized, {N, C, HxW}), weight, bias), input.sizes());
  // By themselves: gradients go through them, too.
  const Tensor mean = at::mean(rows, IntArrayRef{1}, true), centered = at::sub(rows, mean);
  const Tensor inverse = at::rsqrt(at::add(at::mean(at::mul(centered, centered), IntArrayRef{1}), eps));
  const ScalarType type = public_statistics_dtype(input, {weight, bias});
  return {narrowed(result, input.scalar_type()), narrowed(at::reshape(mean, {N, group}), type),
          narrowed(at::reshape(inverse, {N, group}), type)};
}

std::tuple<Tensor, Tensor, Tensor> native_group_norm_backward(const Tensor& grad_out, const Tensor& input,
                                                              const Tensor& mean, const Tensor& rstd,
                                                              const std::optional<Tensor>& weight, int64_t N, int64_t C,
                                                              int64_t HxW, int64_t group,
                                                              std::array<bool, 3> output_mask) {
  check_groups_of("native_group_norm_backward", input, N, C, HxW, group);
  TORCH_CHECK(grad_out.sizes() == input.sizes(), "native_group_norm_backward: expected grad_out of size ", input.sizes(),
              ", but got ", grad_out.sizes());
  auto [of_input, of_weight, of_bias] = at::_fused_group_norm_backward(
      at::reshape(grad_out, {N, C, HxW}), at::reshape(input, {N, C, HxW}), weight, mean, rstd, group, output_mask);
  if (of_input.defined()) of_input = at::reshape(of_input, input.sizes());
  return {of_input, of_weight, of_bias};
}

// Slices along dim whose p-norm exceeds maxnorm are scaled down to it.
Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  TORCH_CHECK(!p.isComplex(), "renorm: p must be real-valued");
  TORCH_CHECK(p.toDouble() > 0, "renorm: non-positive-norm not supported");
  TORCH_CHECK(!maxnorm.isComplex(), "renorm: maxnorm must be real-valued");
  TORCH_CHECK(maxnorm.toDouble() >= 0, "renorm: expected maxnorm to be >= 0 but got ", maxnorm.toDouble());
  TORCH_CHECK(self.dim() > 1, "renorm: input needs at least 2 dimensions, got ", self.dim(), " dimensions");
  dim = maybe_wrap_dim(dim, self.dim());
  if (self.numel() == 0) return at::clone(self);
  DimVector others;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d != dim) others.push_back(d);
  }
  const Tensor norms = at::norm(widened(self), std::optional<Scalar>(p), others, /*keepdim=*/true);
  const Tensor scale = at::div(at::mul(at::ones_like(norms), maxnorm), at::add(norms, 1e-7));
  const Tensor factor = at::where(at::gt(norms, maxnorm), scale, at::ones_like(norms));
  return at::mul(self, narrowed(factor, self.is_complex() ? factor.scalar_type() : self.scalar_type()));
}

Tensor& renorm_inplace(Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  // The derivative needs what self was.
  return at::copy_(self, at::renorm(at::clone(self), p, dim, maxnorm));
}

Tensor group_norm(const Tensor& input, int64_t num_groups, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps, bool) {
  TORCH_CHECK(input.dim() >= 2, "Expected at least 2 dimensions for input tensor but received ", input.dim(),
              ": group_norm got sizes ", input.sizes());
  const int64_t channels = input.size(1);
  TORCH_CHECK(num_groups > 0, "Expected num groups to be greater than 0, got ", num_groups);
  TORCH_CHECK(channels % num_groups == 0,
              "Expected number of channels in input to be divisible by num_groups, but got ", "input of shape ",
              input.sizes(), " and num_groups=", num_groups);
  for (const auto& [name, t] : {std::pair{"weight", &weight}, {"bias", &bias}}) {
    TORCH_CHECK(!given(*t) || ((*t)->dim() == 1 && (*t)->numel() == channels), "Expected ", name,
                " to be a vector of size equal to the number of channels in input, but got ", name, " of shape ",
                (*t)->sizes(), " and input of shape ", input.sizes());
  }
  if (input.numel() == 0) return at::clone(input, std::nullopt);
  return std::get<0>(at::_fused_group_norm(input, weight, bias, num_groups, eps));
}

}  // namespace at::native
