// Options of convolutions over D spatial dimensions.
#pragma once

#include <cstdint>

#include "aten/core/tensor.h"
#include "c10/util/arg.h"
#include "c10/util/variant.h"
#include "nn/options/enum.h"
#include "nn/options/expanding_array.h"

namespace torch::nn {

namespace detail {

using conv_padding_mode_t =
    std::variant<enumtype::kZeros, enumtype::kReflect, enumtype::kReplicate, enumtype::kCircular>;
// Numbers, or kValid (none) or kSame (the output has the input's size; stride 1 only).
template <size_t D>
using conv_padding_t = std::variant<ExpandingArray<D>, enumtype::kValid, enumtype::kSame>;

}  // namespace detail

// The arguments of every convolution; a braced list or number is a padding, too.
#define KD_CONVOLUTION_ARGUMENTS                                       \
  TORCH_ARG(ExpandingArray<D>, stride) = 1;                            \
  TORCH_ARG(padding_t, padding) = ExpandingArray<D>(0);                \
                                                                       \
 public:                                                               \
  auto padding(std::initializer_list<int64_t> list)->decltype(*this) { \
    return padding(padding_t(ExpandingArray<D>(list)));                \
  }                                                                    \
                                                                       \
  TORCH_ARG(ExpandingArray<D>, dilation) = 1;                          \
  TORCH_ARG(int64_t, groups) = 1

// And of every convolution module.
#define KD_CONVOLUTION_MODULE_ARGUMENTS      \
  TORCH_ARG(int64_t, in_channels);           \
  TORCH_ARG(int64_t, out_channels);          \
  TORCH_ARG(ExpandingArray<D>, kernel_size); \
  KD_CONVOLUTION_ARGUMENTS;                  \
  TORCH_ARG(bool, bias) = true;              \
  TORCH_ARG(padding_mode_t, padding_mode) = kZeros

namespace detail {

// What a convolution module holds, plain or transposed.
template <size_t D>
struct ConvNdOptions {
  using padding_mode_t = conv_padding_mode_t;
  using padding_t = conv_padding_t<D>;
  ConvNdOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  KD_CONVOLUTION_MODULE_ARGUMENTS;
  TORCH_ARG(bool, transposed) = false;
  TORCH_ARG(ExpandingArray<D>, output_padding) = 0;
};

}  // namespace detail

template <size_t D>
struct ConvOptions {
  using padding_mode_t = detail::conv_padding_mode_t;
  using padding_t = detail::conv_padding_t<D>;
  ConvOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  KD_CONVOLUTION_MODULE_ARGUMENTS;
};
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;
using Conv3dOptions = ConvOptions<3>;

// The gradient of a convolution as a layer: the output grows by the stride. `output_padding` adds to one side of it.
template <size_t D>
struct ConvTransposeOptions {
  using padding_mode_t = detail::conv_padding_mode_t;
  ConvTransposeOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TORCH_ARG(int64_t, in_channels);
  TORCH_ARG(int64_t, out_channels);
  TORCH_ARG(ExpandingArray<D>, kernel_size);
  TORCH_ARG(ExpandingArray<D>, stride) = 1;
  TORCH_ARG(ExpandingArray<D>, padding) = 0;
  TORCH_ARG(ExpandingArray<D>, output_padding) = 0;
  TORCH_ARG(int64_t, groups) = 1;
  TORCH_ARG(bool, bias) = true;
  TORCH_ARG(ExpandingArray<D>, dilation) = 1;
  // Only kZeros can be computed.
  TORCH_ARG(padding_mode_t, padding_mode) = torch::kZeros;
};
using ConvTranspose1dOptions = ConvTransposeOptions<1>;
using ConvTranspose2dOptions = ConvTransposeOptions<2>;
using ConvTranspose3dOptions = ConvTransposeOptions<3>;

namespace functional {

template <size_t D>
struct ConvFuncOptions {
  using padding_t = nn::detail::conv_padding_t<D>;
  TORCH_ARG(at::Tensor, bias) = at::Tensor();
  KD_CONVOLUTION_ARGUMENTS;
};
using Conv1dFuncOptions = ConvFuncOptions<1>;
using Conv2dFuncOptions = ConvFuncOptions<2>;
using Conv3dFuncOptions = ConvFuncOptions<3>;

template <size_t D>
struct ConvTransposeFuncOptions {
  TORCH_ARG(at::Tensor, bias) = at::Tensor();
  TORCH_ARG(ExpandingArray<D>, stride) = 1;
  TORCH_ARG(ExpandingArray<D>, padding) = 0;
  TORCH_ARG(ExpandingArray<D>, output_padding) = 0;
  TORCH_ARG(int64_t, groups) = 1;
  TORCH_ARG(ExpandingArray<D>, dilation) = 1;
};
using ConvTranspose1dFuncOptions = ConvTransposeFuncOptions<1>;
using ConvTranspose2dFuncOptions = ConvTransposeFuncOptions<2>;
using ConvTranspose3dFuncOptions = ConvTransposeFuncOptions<3>;

}  // namespace functional

#undef KD_CONVOLUTION_MODULE_ARGUMENTS
#undef KD_CONVOLUTION_ARGUMENTS

}  // namespace torch::nn
