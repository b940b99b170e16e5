#include "aten/ops/norm/decompositions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "aten/ops/unary/ops.h"
#include "c10/util/accumulate.h"

namespace at::decompositions {
namespace {

std::vector<int64_t> range(int64_t begin, int64_t end) {
  std::vector<int64_t> all;
  for (int64_t d = begin; d < end; ++d) all.push_back(d);
  return all;
}

bool given(const std::optional<Tensor>& t) {
  return t.has_value() && t->defined();
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> fused_batch_norm_backward(const Tensor& grad_out, const Tensor& input,
                                                             const std::optional<Tensor>& weight, const Tensor& mean,
                                                             const Tensor& invstd, bool training,
                                                             std::array<bool, 3> output_mask) {
  TORCH_CHECK(input.dim() >= 2 && grad_out.sizes() == input.sizes(),
              "batch_norm_backward(): expected grad_out of the size of input, ", input.sizes(), ", but got ",
              grad_out.sizes());
  const ScalarType compute = toOpMathType(input.scalar_type());
  std::vector<int64_t> but_channels = range(2, input.dim());
  but_channels.push_back(0);
  const auto of_channels = [&](const Tensor& t) { return along(cast(t, compute), 1, input.dim()); };
  const Tensor grad = cast(grad_out, compute), scale = of_channels(invstd);
  const Tensor normalized = at::mul(at::sub(cast(input, compute), of_channels(mean)), scale);
  const auto parameter = [&](const Tensor& each) {
    return cast(at::sum(each, but_channels), given(weight) ? weight->scalar_type() : compute);
  };
  std::tuple<Tensor, Tensor, Tensor> gradients;
  if (output_mask[0]) {
    const auto average = [&](const Tensor& t) { return at::mean(t, but_channels, true); };
    const Tensor sums = at::add(average(grad), at::mul(normalized, average(at::mul(grad, normalized))));
    const Tensor rest = at::mul(training ? at::sub(grad, sums) : grad, scale);
    std::get<0>(gradients) = cast(given(weight) ? at::mul(rest, of_channels(*weight)) : rest, input.scalar_type());
  }
  if (output_mask[1]) std::get<1>(gradients) = parameter(at::mul(grad, normalized));
  if (output_mask[2]) std::get<2>(gradients) = parameter(grad);
  return gradients;
}

std::tuple<Tensor, Tensor, Tensor> fused_layer_norm(const Tensor& input, IntArrayRef normalized_shape,
                                                    const std::optional<Tensor>& weight,
                                                    const std::optional<Tensor>& bias, double eps) {
  const auto [result, mean, rstd] = at::native_layer_norm(input, normalized_shape, weight, bias, eps);
  const ScalarType compute = toOpMathType(input.scalar_type());
  return {result, cast(mean, compute), cast(rstd, compute)};
}

std::tuple<Tensor, Tensor, Tensor> fused_group_norm(const Tensor& input, const std::optional<Tensor>& weight,
                                                    const std::optional<Tensor>& bias, int64_t num_groups,
                                                    double eps) {
  TORCH_CHECK(input.dim() >= 2, "Expected at least 2 dimensions for input tensor but received ", input.dim(),
              ": group_norm got sizes ", input.sizes());
  const int64_t batch = input.size(0), channels = input.size(1);
  const int64_t rest = c10::multiply_integers(input.sizes().slice(2));
  const auto [result, mean, rstd] = at::native_group_norm(input, weight, bias, batch, channels, rest, num_groups, eps);
  const ScalarType compute = toOpMathType(input.scalar_type());
  return {result, cast(mean, compute), cast(rstd, compute)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> fused_batch_norm(const Tensor& input, const std::optional<Tensor>& weight,
                                                            const std::optional<Tensor>& bias,
                                                            const std::optional<Tensor>& mean,
                                                            const std::optional<Tensor>& var, bool training,
                                                            double eps) {
  const ScalarType compute = toOpMathType(input.scalar_type());
  if (!training) {
    TORCH_CHECK(given(mean) && given(var),
                "batch_norm: Expected running_mean and running_var to be defined when training=False");
    const Tensor result =
        std::get<0>(at::_native_batch_norm_legit_no_training(input, weight, bias, *mean, *var, 0.0, eps));
    const Tensor variance = cast(*var, compute);
    return {result, cast(*mean, compute), at::rsqrt(at::add(variance, eps)), variance};
  }
  const auto [result, average, invstd] = at::_native_batch_norm_legit(input, weight, bias, true, 0.0, eps);
  std::vector<int64_t> but_channels = range(2, input.dim());
  but_channels.push_back(0);
  const Tensor variance = at::var(cast(input, compute), but_channels, Scalar(0));
  return {result, cast(average, compute), cast(invstd, compute), variance};
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward(const Tensor& grad_out, const Tensor& input,
                                                              IntArrayRef normalized_shape, const Tensor& mean,
                                                              const Tensor& rstd, const std::optional<Tensor>& weight,
                                                              const std::optional<Tensor>& bias,
                                                              std::array<bool, 3> output_mask) {
  const auto inner_dims = static_cast<int64_t>(normalized_shape.size()), outer_dims = input.dim() - inner_dims;
  TORCH_CHECK(outer_dims >= 0 && input.sizes().slice(static_cast<size_t>(outer_dims)) == normalized_shape &&
                  grad_out.sizes() == input.sizes(),
              "native_layer_norm_backward(): expected grad_out and input of one size that ends with normalized_shape ",
              normalized_shape, ", but got ", grad_out.sizes(), " and ", input.sizes());
  const std::vector<int64_t> inner = range(outer_dims, input.dim()), outer = range(0, outer_dims);
  const ScalarType compute = toOpMathType(input.scalar_type());
  std::vector<int64_t> rows(input.sizes().begin(), input.sizes().begin() + outer_dims);
  rows.resize(static_cast<size_t>(input.dim()), 1);
  const auto of_rows = [&](const Tensor& t) { return at::reshape(cast(t, compute), rows); };
  const Tensor grad = cast(grad_out, compute), scale = of_rows(rstd);
  const Tensor normalized = at::mul(at::sub(cast(input, compute), of_rows(mean)), scale);
  const auto like = [&](const Tensor& sum, const std::optional<Tensor>& parameter) {
    if (!given(parameter)) return Tensor();
    return cast(outer.empty() ? at::clone(sum) : at::sum(sum, outer), parameter->scalar_type());
  };
  std::tuple<Tensor, Tensor, Tensor> gradients;
  if (output_mask[0]) {
    const Tensor g = given(weight) ? at::mul(grad, cast(*weight, compute)) : grad;
    const auto average = [&](const Tensor& t) { return inner.empty() ? t : at::mean(t, inner, true); };
    const Tensor rest = at::sub(at::sub(g, average(g)), at::mul(normalized, average(at::mul(g, normalized))));
    std::get<0>(gradients) = cast(at::mul(rest, scale), input.scalar_type());
  }
  if (output_mask[1]) std::get<1>(gradients) = like(at::mul(grad, normalized), weight);
  if (output_mask[2]) std::get<2>(gradients) = like(grad, bias);
  return gradients;
}

}  // namespace at::decompositions
