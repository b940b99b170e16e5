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
  detail::put_text_with_words(stream, c10::str("torch::nn::", name, "(kernel_size=", o.kernel_size(), ", stride=",
                                               o.stride(), ", padding=", o.padding(), ", dilation=", o.dilation(),
                                               ", ceil_mode=", o.ceil_mode() ? "true" : "false", ")"));
}
template <typename Options>
void print_adaptive(std::ostream& stream, const char* name, const Options& o) {
  detail::put_text(stream, c10::str("torch::nn::", name, "(output_size=", o.output_size(), ")"));
}
template <size_t D>
void print_unpool(std::ostream& stream, const char* name, const MaxUnpoolOptions<D>& o) {
  detail::put_text_with_words(stream, c10::str("torch::nn::", name, "(kernel_size=", o.kernel_size(),
                                               ", stride=", o.stride(), ", padding=", o.padding(), ")"));
}
template <size_t D>
void print_lp(std::ostream& stream, const char* name, const LPPoolOptions<D>& o) {
  detail::put_text_with_words(
      stream, c10::str("torch::nn::", name, "(norm_type=", o.norm_type(), ", kernel_size=", o.kernel_size(),
                       ", stride=", o.stride(), ", ceil_mode=", o.ceil_mode() ? "true" : "false", ")"));
}

template <size_t D>
F::MaxUnpoolFuncOptions<D> unpool_call(const MaxUnpoolOptions<D>& o,
                                       const std::optional<std::vector<int64_t>>& output_size) {
  return F::MaxUnpoolFuncOptions<D>(o.kernel_size()).stride(o.stride()).padding(o.padding()).output_size(output_size);
}

template <size_t D>
void check_fractional(const FractionalMaxPoolOptions<D>& o) {
  TORCH_CHECK_VALUE(o.output_size().has_value() || o.output_ratio().has_value(), "FractionalMaxPool", D,
                    "d requires specifying either an output size, or a pooling ratio");
  TORCH_CHECK_VALUE(!o.output_size().has_value() || !o.output_ratio().has_value(),
                    "only one of output_size and output_ratio may be specified");
  if (!o.output_ratio().has_value()) return;
  for (const double ratio : **o.output_ratio())
    TORCH_CHECK_VALUE(0 < ratio && ratio < 1, "output_ratio must be between 0 and 1 (got ", *o.output_ratio(), ")");
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

at::Tensor MaxUnpool1dImpl::forward(const at::Tensor& input, const at::Tensor& indices,
                                   const std::optional<std::vector<int64_t>>& output_size) {
  return F::max_unpool1d(input, indices, unpool_call(options, output_size));
}
void MaxUnpool1dImpl::pretty_print(std::ostream& stream) const {
  print_unpool(stream, "MaxUnpool1d", options);
}

at::Tensor MaxUnpool2dImpl::forward(const at::Tensor& input, const at::Tensor& indices,
                                   const std::optional<std::vector<int64_t>>& output_size) {
  return F::max_unpool2d(input, indices, unpool_call(options, output_size));
}
void MaxUnpool2dImpl::pretty_print(std::ostream& stream) const {
  print_unpool(stream, "MaxUnpool2d", options);
}

at::Tensor MaxUnpool3dImpl::forward(const at::Tensor& input, const at::Tensor& indices,
                                   const std::optional<std::vector<int64_t>>& output_size) {
  return F::max_unpool3d(input, indices, unpool_call(options, output_size));
}
void MaxUnpool3dImpl::pretty_print(std::ostream& stream) const {
  print_unpool(stream, "MaxUnpool3d", options);
}

FractionalMaxPool2dImpl::FractionalMaxPool2dImpl(FractionalMaxPool2dOptions options_) : options(std::move(options_)) {
  reset();
}
void FractionalMaxPool2dImpl::reset() {
  check_fractional(options);
  _random_samples = register_buffer("_random_samples", options._random_samples());
}
std::tuple<at::Tensor, at::Tensor> FractionalMaxPool2dImpl::forward_with_indices(const at::Tensor& input) {
  FractionalMaxPool2dOptions now = options;
  now._random_samples(_random_samples);
  return F::fractional_max_pool2d_with_indices(input, now);
}
at::Tensor FractionalMaxPool2dImpl::forward(const at::Tensor& input) {
  return std::get<0>(forward_with_indices(input));
}
void FractionalMaxPool2dImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, "torch::nn::FractionalMaxPool2d()");
}

FractionalMaxPool3dImpl::FractionalMaxPool3dImpl(FractionalMaxPool3dOptions options_) : options(std::move(options_)) {
  reset();
}
void FractionalMaxPool3dImpl::reset() {
  check_fractional(options);
  _random_samples = register_buffer("_random_samples", options._random_samples());
}
std::tuple<at::Tensor, at::Tensor> FractionalMaxPool3dImpl::forward_with_indices(const at::Tensor& input) {
  FractionalMaxPool3dOptions now = options;
  now._random_samples(_random_samples);
  return F::fractional_max_pool3d_with_indices(input, now);
}
at::Tensor FractionalMaxPool3dImpl::forward(const at::Tensor& input) {
  return std::get<0>(forward_with_indices(input));
}
void FractionalMaxPool3dImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, "torch::nn::FractionalMaxPool3d()");
}

at::Tensor LPPool1dImpl::forward(const at::Tensor& input) {
  return F::lp_pool1d(input, options);
}
void LPPool1dImpl::pretty_print(std::ostream& stream) const {
  print_lp(stream, "LPPool1d", options);
}

at::Tensor LPPool2dImpl::forward(const at::Tensor& input) {
  return F::lp_pool2d(input, options);
}
void LPPool2dImpl::pretty_print(std::ostream& stream) const {
  print_lp(stream, "LPPool2d", options);
}

at::Tensor LPPool3dImpl::forward(const at::Tensor& input) {
  return F::lp_pool3d(input, options);
}
void LPPool3dImpl::pretty_print(std::ostream& stream) const {
  print_lp(stream, "LPPool3d", options);
}

template class Cloneable<AvgPool1dImpl>;
template class Cloneable<AvgPool2dImpl>;
template class Cloneable<AvgPool3dImpl>;
template class Cloneable<MaxPool1dImpl>;
template class Cloneable<MaxPool2dImpl>;
template class Cloneable<MaxPool3dImpl>;
template class Cloneable<AdaptiveAvgPool1dImpl>;
template class Cloneable<AdaptiveAvgPool2dImpl>;
template class Cloneable<AdaptiveAvgPool3dImpl>;
template class Cloneable<AdaptiveMaxPool1dImpl>;
template class Cloneable<AdaptiveMaxPool2dImpl>;
template class Cloneable<AdaptiveMaxPool3dImpl>;
template class Cloneable<MaxUnpool1dImpl>;
template class Cloneable<MaxUnpool2dImpl>;
template class Cloneable<MaxUnpool3dImpl>;
template class Cloneable<FractionalMaxPool2dImpl>;
template class Cloneable<FractionalMaxPool3dImpl>;
template class Cloneable<LPPool1dImpl>;
template class Cloneable<LPPool2dImpl>;
template class Cloneable<LPPool3dImpl>;

}  // namespace torch::nn
