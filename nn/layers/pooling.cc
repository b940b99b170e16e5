#include "nn/layers/pooling.h"

#include "nn/functional/pooling.h"

namespace torch::nn {

namespace F = torch::nn::functional;

namespace {

template <size_t D>
void print_avg(std::ostream& stream, const char* name, const AvgPoolOptions<D>& o) {
  detail::put_text(stream, c10::str("torch::nn::", name, "(kernel_size=", o.kernel_size(), ", stride=", o.stride(),
                                    ", padding=", o.padding(), ")"));
}
template <size_t D>
void print_max(std::ostream& stream, const char* name, const MaxPoolOptions<D>& o) {
  detail::put_text(stream, c10::str("torch::nn::", name, "(kernel_size=", o.kernel_size(), ", stride=", o.stride(),
                                    ", padding=", o.padding(), ", dilation=", o.dilation(),
                                    ", ceil_mode=", o.ceil_mode() ? "true" : "false", ")"));
}
template <size_t D>
void print_adaptive(std::ostream& stream, const char* name, const AdaptivePoolOptions<D>& o) {
  detail::put_text(stream, c10::str("torch::nn::", name, "(output_size=", o.output_size(), ")"));
}

}  // namespace

at::Tensor AvgPool1dImpl::forward(const at::Tensor& input) {
  return F::avg_pool1d(input, options);
}
void AvgPool1dImpl::pretty_print(std::ostream& stream) const {
  print_avg(stream, "AvgPool1d", options);
}

at::Tensor AvgPool2dImpl::forward(const at::Tensor& input) {
  return F::avg_pool2d(input, options);
}
void AvgPool2dImpl::pretty_print(std::ostream& stream) const {
  print_avg(stream, "AvgPool2d", options);
}

at::Tensor AvgPool3dImpl::forward(const at::Tensor& input) {
  return F::avg_pool3d(input, options);
}
void AvgPool3dImpl::pretty_print(std::ostream& stream) const {
  print_avg(stream, "AvgPool3d", options);
}

at::Tensor MaxPool1dImpl::forward(const at::Tensor& input) {
  return F::max_pool1d(input, options);
}
std::tuple<at::Tensor, at::Tensor> MaxPool1dImpl::forward_with_indices(const at::Tensor& input) {
  return F::max_pool1d_with_indices(input, options);
}
void MaxPool1dImpl::pretty_print(std::ostream& stream) const {
  print_max(stream, "MaxPool1d", options);
}

at::Tensor MaxPool2dImpl::forward(const at::Tensor& input) {
  return F::max_pool2d(input, options);
}
std::tuple<at::Tensor, at::Tensor> MaxPool2dImpl::forward_with_indices(const at::Tensor& input) {
  return F::max_pool2d_with_indices(input, options);
}
void MaxPool2dImpl::pretty_print(std::ostream& stream) const {
  print_max(stream, "MaxPool2d", options);
}

at::Tensor MaxPool3dImpl::forward(const at::Tensor& input) {
  return F::max_pool3d(input, options);
}
std::tuple<at::Tensor, at::Tensor> MaxPool3dImpl::forward_with_indices(const at::Tensor& input) {
  return F::max_pool3d_with_indices(input, options);
}
void MaxPool3dImpl::pretty_print(std::ostream& stream) const {
  print_max(stream, "MaxPool3d", options);
}

at::Tensor AdaptiveAvgPool1dImpl::forward(const at::Tensor& input) {
  return F::adaptive_avg_pool1d(input, options);
}
void AdaptiveAvgPool1dImpl::pretty_print(std::ostream& stream) const {
  print_adaptive(stream, "AdaptiveAvgPool1d", options);
}

at::Tensor AdaptiveAvgPool2dImpl::forward(const at::Tensor& input) {
  return F::adaptive_avg_pool2d(input, options);
}
void AdaptiveAvgPool2dImpl::pretty_print(std::ostream& stream) const {
  print_adaptive(stream, "AdaptiveAvgPool2d", options);
}

at::Tensor AdaptiveAvgPool3dImpl::forward(const at::Tensor& input) {
  return F::adaptive_avg_pool3d(input, options);
}
void AdaptiveAvgPool3dImpl::pretty_print(std::ostream& stream) const {
  print_adaptive(stream, "AdaptiveAvgPool3d", options);
}

at::Tensor AdaptiveMaxPool1dImpl::forward(const at::Tensor& input) {
  return F::adaptive_max_pool1d(input, options);
}
std::tuple<at::Tensor, at::Tensor> AdaptiveMaxPool1dImpl::forward_with_indices(const at::Tensor& input) {
  return F::adaptive_max_pool1d_with_indices(input, options);
}
void AdaptiveMaxPool1dImpl::pretty_print(std::ostream& stream) const {
  print_adaptive(stream, "AdaptiveMaxPool1d", options);
}

at::Tensor AdaptiveMaxPool2dImpl::forward(const at::Tensor& input) {
  return F::adaptive_max_pool2d(input, options);
}
std::tuple<at::Tensor, at::Tensor> AdaptiveMaxPool2dImpl::forward_with_indices(const at::Tensor& input) {
  return F::adaptive_max_pool2d_with_indices(input, options);
}
void AdaptiveMaxPool2dImpl::pretty_print(std::ostream& stream) const {
  print_adaptive(stream, "AdaptiveMaxPool2d", options);
}

at::Tensor AdaptiveMaxPool3dImpl::forward(const at::Tensor& input) {
  return F::adaptive_max_pool3d(input, options);
}
std::tuple<at::Tensor, at::Tensor> AdaptiveMaxPool3dImpl::forward_with_indices(const at::Tensor& input) {
  return F::adaptive_max_pool3d_with_indices(input, options);
}
void AdaptiveMaxPool3dImpl::pretty_print(std::ostream& stream) const {
  print_adaptive(stream, "AdaptiveMaxPool3d", options);
}

}  // namespace torch::nn
