#include "nn/functional/normalization.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/pool/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "nn/functional/optional_tensor.h"

namespace torch::nn::functional {

using nn::detail::if_defined;

Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options) {
  return at::layer_norm(input, options.normalized_shape(), if_defined(options.weight()), if_defined(options.bias()),
                        options.eps());
}

Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options) {
  return at::group_norm(input, options.num_groups(), if_defined(options.weight()), if_defined(options.bias()),
                        options.eps());
}

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& options) {
  TORCH_CHECK(input.dim() >= 2, "Expected at least 2 input dimensions, but got ", input.dim());
  if (options.training()) {
    int64_t values = input.size(0);
    for (int64_t d = 2; d < input.dim(); ++d) values *= input.size(d);
    TORCH_CHECK_VALUE(values != 1, "Expected more than 1 value per channel when training, got input size ", input.sizes());
  }
  return at::batch_norm(input, if_defined(options.weight()), if_defined(options.bias()), if_defined(running_mean),
                        if_defined(running_var), options.training(), options.momentum(), options.eps(),
                        /*cudnn_enabled=*/true);
}

Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options) {
  if (options.use_input_stats()) {
    TORCH_CHECK(input.dim() >= 2, "Expected at least 2 input dimensions, but got ", input.dim());
    int64_t values = 1;
    for (int64_t d = 2; d < input.dim(); ++d) values *= input.size(d);
    TORCH_CHECK_VALUE(values != 1, "Expected more than 1 spatial element when training, got input size ",
                      input.sizes());
  }
  return at::instance_norm(input, if_defined(options.weight()), if_defined(options.bias()),
                           if_defined(options.running_mean()), if_defined(options.running_var()),
                           options.use_input_stats(), options.momentum(), options.eps(), /*cudnn_enabled=*/true);
}

Tensor rms_norm(const Tensor& input, const RMSNormFuncOptions& options) {
  return at::rms_norm(input, options.normalized_shape(), if_defined(options.weight()), options.eps());
}

Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& options) {
  TORCH_CHECK_VALUE(input.dim() >= 3, "Expected 3D or higher dimensionality input (got ", input.dim(), " dimensions)");
  const int64_t size = options.size();
  TORCH_CHECK(size > 0, "local_response_norm: size must be positive, but got ", size);
  if (input.numel() == 0) return input;
  // Windows over the channels are windows over the rows of one image a sample.
  const Tensor squares = at::reshape(at::mul(input, input), {input.size(0), 1, input.size(1), -1});
  const Tensor padded = at::constant_pad_nd(squares, {0, 0, size / 2, (size - 1) / 2}, 0);
  const Tensor means = at::reshape(at::avg_pool2d(padded, {size, 1}, {1, 1}), input.sizes());
  return at::div(input, at::pow(at::add(at::mul(means, options.alpha()), options.k()), options.beta()));
}

Tensor normalize(const Tensor& input, NormalizeFuncOptions options) {
  const Tensor norm = at::norm(input, std::optional<at::Scalar>(options.p()), {options.dim()}, /*keepdim=*/true);
  const Tensor denominator = at::expand(at::clamp_min(norm, options.eps()), input.sizes());
  if (options.out().has_value()) {
    Tensor out = *options.out();
    return at::div_out(out, input, denominator);
  }
  return at::div(input, denominator);
}

}  // namespace torch::nn::functional
