#include "nn/functional/pooling.h"

#include "aten/ops/pool/ops.h"

namespace torch::nn::functional {
namespace {

// The output's sizes, absent ones taken from the input.
template <size_t D>
std::array<int64_t, D> full_size(const Tensor& input, const ExpandingArrayWithOptionalElem<D>& wanted) {
  TORCH_CHECK(input.dim() > static_cast<int64_t>(D), "Input must have at least ", D + 1, " dimensions, but got ",
              input.dim());
  std::array<int64_t, D> out;
  for (size_t i = 0; i < D; ++i)
    out[i] = (*wanted)[i].value_or(input.size(static_cast<int64_t>(i) - static_cast<int64_t>(D)));
  return out;
}

}  // namespace

Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& o) {
  return at::avg_pool1d(input, *o.kernel_size(), *o.stride(), *o.padding(), o.ceil_mode(), o.count_include_pad());
}
Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& o) {
  return at::avg_pool2d(input, *o.kernel_size(), *o.stride(), *o.padding(), o.ceil_mode(), o.count_include_pad(),
                        o.divisor_override());
}
Tensor avg_pool3d(const Tensor& input, const AvgPool3dFuncOptions& o) {
  return at::avg_pool3d(input, *o.kernel_size(), *o.stride(), *o.padding(), o.ceil_mode(), o.count_include_pad(),
                        o.divisor_override());
}
Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& o) {
  return at::max_pool1d(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(), o.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input, const MaxPool1dFuncOptions& o) {
  return at::max_pool1d_with_indices(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(), o.ceil_mode());
}
Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& o) {
  return at::max_pool2d(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(), o.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const MaxPool2dFuncOptions& o) {
  return at::max_pool2d_with_indices(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(), o.ceil_mode());
}
Tensor max_pool3d(const Tensor& input, const MaxPool3dFuncOptions& o) {
  return at::max_pool3d(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(), o.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& input, const MaxPool3dFuncOptions& o) {
  return at::max_pool3d_with_indices(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(), o.ceil_mode());
}
Tensor adaptive_avg_pool1d(const Tensor& input, const AdaptiveAvgPool1dFuncOptions& o) {
  return at::adaptive_avg_pool1d(input, full_size(input, o.output_size()));
}
std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool1dFuncOptions& o) {
  return at::adaptive_max_pool1d(input, full_size(input, o.output_size()));
}
Tensor adaptive_max_pool1d(const Tensor& input, const AdaptiveMaxPool1dFuncOptions& o) {
  return std::get<0>(adaptive_max_pool1d_with_indices(input, o));
}
Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& o) {
  return at::adaptive_avg_pool2d(input, full_size(input, o.output_size()));
}
std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool2dFuncOptions& o) {
  return at::adaptive_max_pool2d(input, full_size(input, o.output_size()));
}
Tensor adaptive_max_pool2d(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& o) {
  return std::get<0>(adaptive_max_pool2d_with_indices(input, o));
}
Tensor adaptive_avg_pool3d(const Tensor& input, const AdaptiveAvgPool3dFuncOptions& o) {
  return at::adaptive_avg_pool3d(input, full_size(input, o.output_size()));
}
std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool3dFuncOptions& o) {
  return at::adaptive_max_pool3d(input, full_size(input, o.output_size()));
}
Tensor adaptive_max_pool3d(const Tensor& input, const AdaptiveMaxPool3dFuncOptions& o) {
  return std::get<0>(adaptive_max_pool3d_with_indices(input, o));
}

}  // namespace torch::nn::functional
