#include "nn/functional/conv.h"

#include "aten/ops/conv/ops.h"
#include "nn/functional/optional_tensor.h"

namespace torch::nn::functional {
namespace {

// Calls `conv` with the padding as numbers or as a word.
template <size_t D, typename Conv>
Tensor with_padding(const ConvFuncOptions<D>& options, const Conv& conv) {
  if (const auto* numbers = std::get_if<ExpandingArray<D>>(&options.padding()))
    return conv(c10::IntArrayRef(**numbers));
  return conv(std::string_view(std::holds_alternative<enumtype::kSame>(options.padding()) ? "same" : "valid"));
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& o) {
  return with_padding(o, [&](auto padding) {
    return at::conv1d(input, weight, nn::detail::if_defined(o.bias()), *o.stride(), padding, *o.dilation(), o.groups());
  });
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& o) {
  return with_padding(o, [&](auto padding) {
    return at::conv2d(input, weight, nn::detail::if_defined(o.bias()), *o.stride(), padding, *o.dilation(), o.groups());
  });
}
Tensor conv3d(const Tensor& input, const Tensor& weight, const Conv3dFuncOptions& o) {
  return with_padding(o, [&](auto padding) {
    return at::conv3d(input, weight, nn::detail::if_defined(o.bias()), *o.stride(), padding, *o.dilation(), o.groups());
  });
}
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const ConvTranspose1dFuncOptions& o) {
  return at::conv_transpose1d(input, weight, nn::detail::if_defined(o.bias()), *o.stride(), *o.padding(),
                              *o.output_padding(), o.groups(), *o.dilation());
}
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const ConvTranspose2dFuncOptions& o) {
  return at::conv_transpose2d(input, weight, nn::detail::if_defined(o.bias()), *o.stride(), *o.padding(),
                              *o.output_padding(), o.groups(), *o.dilation());
}
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const ConvTranspose3dFuncOptions& o) {
  return at::conv_transpose3d(input, weight, nn::detail::if_defined(o.bias()), *o.stride(), *o.padding(),
                              *o.output_padding(), o.groups(), *o.dilation());
}

}  // namespace torch::nn::functional
