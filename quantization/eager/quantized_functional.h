// Functions of quantized tensors: torch.ao.nn.quantized.functional, with the options of torch::nn::functional. Inputs
// are quantized by one scale; results have the input's scale, zero point and dtype where a function takes no others.
// Each throws ValueError for an input that is not quantized, unless it says otherwise.
#pragma once

#include <cstdint>
#include <optional>

#include "aten/core/tensor.h"
#include "nn/options/conv.h"
#include "nn/options/pooling.h"
#include "nn/options/upsampling.h"

namespace torch::nn::quantized::functional {

using at::Tensor;

/// Means of windows.
Tensor avg_pool2d(const Tensor& input, const nn::functional::AvgPool2dFuncOptions& options);
Tensor avg_pool3d(const Tensor& input, const nn::functional::AvgPool3dFuncOptions& options);
/// Windows chosen so that the output has the given size.
Tensor adaptive_avg_pool2d(const Tensor& input, const nn::functional::AdaptiveAvgPool2dFuncOptions& options);
Tensor adaptive_avg_pool3d(const Tensor& input, const nn::functional::AdaptiveAvgPool3dFuncOptions& options);
/// Maxima of windows; of float tensors, too.
Tensor max_pool1d(const Tensor& input, const nn::functional::MaxPool1dFuncOptions& options);
Tensor max_pool2d(const Tensor& input, const nn::functional::MaxPool2dFuncOptions& options);

/// Convolutions of an input [N, C, L], [N, C, H, W] or [N, C, D, H, W] of dtype QUInt8 with a weight of dtype QInt8;
/// the options' bias is float. The result, QUInt8, has `scale` and `zero_point`. The weight is packed in each call,
/// which modules (quantized_linear.h) do once. Throws NotImplementedError for other dtypes, for padding modes other
/// than zeros and for padding that is not numbers, ValueError for an input of other dimensions.
Tensor conv1d(const Tensor& input, const Tensor& weight, const nn::functional::Conv1dFuncOptions& options = {},
              double scale = 1, int64_t zero_point = 0);
Tensor conv2d(const Tensor& input, const Tensor& weight, const nn::functional::Conv2dFuncOptions& options = {},
              double scale = 1, int64_t zero_point = 0);
Tensor conv3d(const Tensor& input, const Tensor& weight, const nn::functional::Conv3dFuncOptions& options = {},
              double scale = 1, int64_t zero_point = 0);
/// input weight^T + bias with a weight [out, in] of dtype QInt8 and a float bias, packed in each call. Scale and zero
/// point of the result are by default the input's.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
              std::optional<double> scale = std::nullopt, std::optional<int64_t> zero_point = std::nullopt);

/// Images in another size by kNearest or kBilinear, volumes by kNearest. Throws NotImplementedError for other modes.
Tensor interpolate(const Tensor& input, const nn::functional::InterpolateFuncOptions& options = {});
/// interpolate; the last with aligned corners.
Tensor upsample(const Tensor& input, const UpsampleOptions& options);
Tensor upsample_nearest(const Tensor& input, const Upsampling2dOptions& options);
Tensor upsample_bilinear(const Tensor& input, const Upsampling2dOptions& options);

/// max(0, x) + min(0, alpha (exp(x / alpha) - 1))
Tensor celu(const Tensor& input, double scale, int64_t zero_point, double alpha = 1);
/// x above 0, else alpha (exp(x) - 1).
Tensor elu(const Tensor& input, double scale, int64_t zero_point, double alpha = 1);
/// x above 0, else x negative_slope. With both `scale` and `zero_point` the result has these; of float tensors without
/// them, too. Throws ValueError for them where `inplace`.
Tensor leaky_relu(const Tensor& input, double negative_slope = 0.01, bool inplace = false,
                  std::optional<double> scale = std::nullopt, std::optional<int64_t> zero_point = std::nullopt);
/// x within [min_val, max_val].
Tensor hardtanh(const Tensor& input, double min_val = -1, double max_val = 1, bool inplace = false);
Tensor clamp(const Tensor& input, double min, double max);
/// x relu6(x + 3) / 6
Tensor hardswish(const Tensor& input, double scale, int64_t zero_point);
/// relu6(x + 3) / 6; of scale 1/256 and zero point 0, or -128 for QInt8.
Tensor hardsigmoid(const Tensor& input, bool inplace = false);
/// x above `threshold`, else `value`.
Tensor threshold(const Tensor& input, double threshold, double value);

}  // namespace torch::nn::quantized::functional

namespace torch::ao {
namespace nn = torch::nn;
}  // namespace torch::ao
