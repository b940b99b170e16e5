#include "quantization/eager/quantized_functional.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "aten/ops/activation/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/quantized/ops.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "nn/functional/pooling.h"
#include "nn/functional/upsampling.h"
#include "quantization/eager/quantized_layer.h"

namespace torch::nn::quantized::functional {

namespace F = nn::functional;
using c10::IValue;
using c10::ScalarType;

namespace {

void check_quantized(const char* name, const Tensor& input) {
  TORCH_CHECK_VALUE(input.defined() && input.is_quantized(), "Input to 'quantized.", name, "' must be quantized!");
}

bool has_dtype(const Tensor& t, ScalarType dtype) {
  return t.defined() && t.scalar_type() == dtype;
}

Tensor call(const std::string& op, c10::Stack stack) {
  return detail::call_for_tensor(detail::find_operator("quantized::" + op), std::move(stack));
}

template <size_t D>
std::vector<int64_t> list_of(const ExpandingArray<D>& a) {
  return {a->begin(), a->end()};
}

template <size_t D>
Tensor conv(const Tensor& input, const Tensor& weight, const F::ConvFuncOptions<D>& options, double scale,
            int64_t zero_point) {
  const auto* const padding = std::get_if<ExpandingArray<D>>(&options.padding());
  TORCH_CHECK_NOT_IMPLEMENTED(padding != nullptr, "quantized.conv", D, "d: only padding by numbers is supported");
  TORCH_CHECK_NOT_IMPLEMENTED(has_dtype(input, ScalarType::QUInt8),
                              "Only torch.quint8 is supported for activation tensor!");
  TORCH_CHECK_NOT_IMPLEMENTED(has_dtype(weight, ScalarType::QInt8), "Only torch.qint8 is supported for weight tensor!");
  TORCH_CHECK_VALUE(input.dim() == D + 2, "Input shape must be `(N, C, ",
                    D == 1   ? "L"
                    : D == 2 ? "H, W"
                             : "D, H, W",
                    ")`!");
  const std::string op = c10::str("conv", D, "d");
  const IValue packed = detail::call("quantized::" + op + "_prepack", "",
                                     {weight, detail::maybe(options.bias()), list_of(options.stride()),
                                      list_of(*padding), list_of(options.dilation()), options.groups()})[0];
  return detail::call_for_tensor(detail::find_operator("quantized::" + op, D == 1 ? "" : "new"),
                                 {input, packed, scale, zero_point});
}

}  // namespace

Tensor avg_pool2d(const Tensor& input, const F::AvgPool2dFuncOptions& options) {
  check_quantized("avg_pool2d", input);
  return F::avg_pool2d(input, options);
}
Tensor avg_pool3d(const Tensor& input, const F::AvgPool3dFuncOptions& options) {
  check_quantized("avg_pool3d", input);
  return F::avg_pool3d(input, options);
}
Tensor adaptive_avg_pool2d(const Tensor& input, const F::AdaptiveAvgPool2dFuncOptions& options) {
  check_quantized("functional.adaptive_avg_pool2d", input);
  return F::adaptive_avg_pool2d(input, options);
}
Tensor adaptive_avg_pool3d(const Tensor& input, const F::AdaptiveAvgPool3dFuncOptions& options) {
  check_quantized("functional.adaptive_avg_pool3d", input);
  return F::adaptive_avg_pool3d(input, options);
}
Tensor max_pool1d(const Tensor& input, const F::MaxPool1dFuncOptions& options) {
  return F::max_pool1d(input, options);
}
Tensor max_pool2d(const Tensor& input, const F::MaxPool2dFuncOptions& options) {
  return F::max_pool2d(input, options);
}

Tensor conv1d(const Tensor& input, const Tensor& weight, const F::Conv1dFuncOptions& options, double scale,
              int64_t zero_point) {
  return conv<1>(input, weight, options, scale, zero_point);
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const F::Conv2dFuncOptions& options, double scale,
              int64_t zero_point) {
  return conv<2>(input, weight, options, scale, zero_point);
}
Tensor conv3d(const Tensor& input, const Tensor& weight, const F::Conv3dFuncOptions& options, double scale,
              int64_t zero_point) {
  return conv<3>(input, weight, options, scale, zero_point);
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias, std::optional<double> scale,
              std::optional<int64_t> zero_point) {
  check_quantized("linear", input);
  const IValue packed = detail::call("quantized::linear_prepack", "", {weight, detail::maybe(bias)})[0];
  return call("linear", {input, packed, scale.has_value() ? *scale : at::q_scale(input),
                         zero_point.has_value() ? *zero_point : at::q_zero_point(input)});
}

Tensor interpolate(const Tensor& input, const F::InterpolateFuncOptions& options) {
  check_quantized("interpolate", input);
  return F::interpolate(input, options);
}
Tensor upsample(const Tensor& input, const UpsampleOptions& options) {
  check_quantized("interpolate", input);
  return F::upsample(input, options);
}
Tensor upsample_nearest(const Tensor& input, const Upsampling2dOptions& options) {
  check_quantized("interpolate", input);
  return F::upsample_nearest(input, options);
}
Tensor upsample_bilinear(const Tensor& input, const Upsampling2dOptions& options) {
  check_quantized("interpolate", input);
  return F::upsample_bilinear(input, options);
}

Tensor celu(const Tensor& input, double scale, int64_t zero_point, double alpha) {
  check_quantized("celu", input);
  return call("celu", {input, scale, zero_point, alpha});
}
Tensor elu(const Tensor& input, double scale, int64_t zero_point, double alpha) {
  check_quantized("elu", input);
  return call("elu", {input, scale, zero_point, alpha});
}
Tensor leaky_relu(const Tensor& input, double negative_slope, bool inplace, std::optional<double> scale,
                  std::optional<int64_t> zero_point) {
  if (scale.has_value() && zero_point.has_value()) {
    TORCH_CHECK_VALUE(!inplace, "Cannot rescale with `inplace`");
    check_quantized("leaky_relu", input);
    return call("leaky_relu", {input, negative_slope, false, *scale, *zero_point});
  }
  if (!inplace) return at::leaky_relu(input, negative_slope);
  Tensor self = input;
  return at::leaky_relu_(self, negative_slope);
}
Tensor hardtanh(const Tensor& input, double min_val, double max_val, bool inplace) {
  check_quantized("hardtanh", input);
  if (!inplace) return at::hardtanh(input, min_val, max_val);
  Tensor self = input;
  return at::hardtanh_(self, min_val, max_val);
}
Tensor clamp(const Tensor& input, double min, double max) {
  check_quantized("clamp", input);
  return at::clamp(input, min, max);
}
Tensor hardswish(const Tensor& input, double scale, int64_t zero_point) {
  check_quantized("hardswish", input);
  return call("hardswish", {input, scale, zero_point});
}
Tensor hardsigmoid(const Tensor& input, bool inplace) {
  check_quantized("hardsigmoid", input);
  if (!inplace) return at::hardsigmoid(input);
  Tensor self = input;
  return at::hardsigmoid_(self);
}
Tensor threshold(const Tensor& input, double threshold, double value) {
  check_quantized("threshold", input);
  return call("threshold", {input, threshold, value});
}

}  // namespace torch::nn::quantized::functional
