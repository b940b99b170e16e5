// Convolution layers.
//
//   torch::nn::Conv2d conv(torch::nn::Conv2dOptions(3, 16, 3).padding(1));
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>
#include <vector>

#include "nn/module/any_module.h"
#include "nn/module/cloneable.h"
#include "nn/options/conv.h"

namespace torch::nn {

namespace detail {
struct LazyTag {};
}  // namespace detail

// What the convolutions share. Members: weight [out_channels, in_channels / groups, *kernel_size], bias [out_channels];
// both start uniform within 1 / sqrt(in_channels / groups * kernel elements).
template <size_t D>
class ConvNdBase : public virtual Module {
 public:
  explicit ConvNdBase(detail::ConvNdOptions<D> options_) : options(std::move(options_)) {}
  void reset_parameters();

  detail::ConvNdOptions<D> options;
  at::Tensor weight;
  at::Tensor bias;

 protected:
  TORCH_MODULE_TENSORS(weight, bias)
  // Checks the options (groups divide both channel counts, kSame has stride 1) and makes the parameters.
  void make_parameters();
  void print(std::ostream& stream, std::string_view name) const;
  // Pads as the padding mode says where that is not zeros; the convolution then pads nothing itself.
  at::Tensor padded(const at::Tensor& input) const;
  detail::conv_padding_t<D> remaining_padding() const;

  // The output padding that gives a transposed convolution this output size, given with or without the batch size and
  // channels; without one that of the options. Throws for a size that the input cannot give.
  std::vector<int64_t> output_padding_for(const at::Tensor& input,
                                          const std::optional<c10::IntArrayRef>& output_size) const;
  // The options of functional::conv_transpose.
  functional::ConvTransposeFuncOptions<D> transposed_call(const at::Tensor& input,
                                                          const std::optional<c10::IntArrayRef>& output_size) const;

  // As functional::pad takes it: from the last dimension on, before and after.
  std::vector<int64_t> _reversed_padding_repeated_twice;
};
extern template class ConvNdBase<1>;
extern template class ConvNdBase<2>;
extern template class ConvNdBase<3>;

template <size_t D, typename Derived>
class ConvNdImpl : public ConvNdBase<D>, public Cloneable<Derived> {
 public:
  explicit ConvNdImpl(detail::ConvNdOptions<D> options_) : ConvNdBase<D>(std::move(options_)) { reset(); }
  // Without parameters: for what learns in_channels later (nn/layers/lazy.h).
  ConvNdImpl(detail::ConvNdOptions<D> options_, detail::LazyTag) : ConvNdBase<D>(std::move(options_)) {}
  void reset() override { this->make_parameters(); }
};

namespace detail {
template <size_t D>
ConvNdOptions<D> convolution_options(const ConvOptions<D>& o) {
  return ConvNdOptions<D>(o.in_channels(), o.out_channels(), o.kernel_size())
      .stride(o.stride())
      .padding(o.padding())
      .dilation(o.dilation())
      .groups(o.groups())
      .bias(o.bias())
      .padding_mode(o.padding_mode());
}
template <size_t D>
ConvNdOptions<D> convolution_options(const ConvTransposeOptions<D>& o) {
  return ConvNdOptions<D>(o.in_channels(), o.out_channels(), o.kernel_size())
      .stride(o.stride())
      .padding(o.padding())
      .dilation(o.dilation())
      .groups(o.groups())
      .bias(o.bias())
      .padding_mode(o.padding_mode())
      .transposed(true)
      .output_padding(o.output_padding());
}
}  // namespace detail

// What the transposed convolutions share. Weight [in_channels, out_channels / groups, *kernel_size].
template <size_t D, typename Derived>
class ConvTransposeNdImpl : public ConvNdImpl<D, Derived> {
 public:
  using ConvNdImpl<D, Derived>::ConvNdImpl;
};

// Input [N, C, L] or [C, L].
class Conv1dImpl : public ConvNdImpl<1, Conv1dImpl> {
 public:
  Conv1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size)
      : Conv1dImpl(Conv1dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv1dImpl(Conv1dOptions options_) : ConvNdImpl(detail::convolution_options(options_)) {}
  Conv1dImpl(const Conv1dOptions& options_, detail::LazyTag tag)
      : ConvNdImpl(detail::convolution_options(options_), tag) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::Conv1d"); }
};
TORCH_COMPILED_MODULE(Conv1d);

// Input [N, C, H, W] or [C, H, W].
class Conv2dImpl : public ConvNdImpl<2, Conv2dImpl> {
 public:
  Conv2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
      : Conv2dImpl(Conv2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv2dImpl(Conv2dOptions options_) : ConvNdImpl(detail::convolution_options(options_)) {}
  Conv2dImpl(const Conv2dOptions& options_, detail::LazyTag tag)
      : ConvNdImpl(detail::convolution_options(options_), tag) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::Conv2d"); }
};
TORCH_COMPILED_MODULE(Conv2d);

// Input [N, C, D, H, W] or [C, D, H, W].
class Conv3dImpl : public ConvNdImpl<3, Conv3dImpl> {
 public:
  Conv3dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<3> kernel_size)
      : Conv3dImpl(Conv3dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv3dImpl(Conv3dOptions options_) : ConvNdImpl(detail::convolution_options(options_)) {}
  Conv3dImpl(const Conv3dOptions& options_, detail::LazyTag tag)
      : ConvNdImpl(detail::convolution_options(options_), tag) {}
  at::Tensor forward(const at::Tensor& input);
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::Conv3d"); }
};
TORCH_COMPILED_MODULE(Conv3d);

// Input [N, C, L] or [C, L]; with an output size the output has this size, which has to be one of the `stride` many
// that a convolution makes the input of.
class ConvTranspose1dImpl : public ConvTransposeNdImpl<1, ConvTranspose1dImpl> {
 public:
  ConvTranspose1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size)
      : ConvTranspose1dImpl(ConvTranspose1dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose1dImpl(ConvTranspose1dOptions options_)
      : ConvTransposeNdImpl(detail::convolution_options(options_)) {}
  ConvTranspose1dImpl(const ConvTranspose1dOptions& options_, detail::LazyTag tag)
      : ConvTransposeNdImpl(detail::convolution_options(options_), tag) {}
  at::Tensor forward(const at::Tensor& input, const std::optional<c10::IntArrayRef>& output_size = std::nullopt);
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::ConvTranspose1d"); }

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<c10::IntArrayRef>())})
};
TORCH_COMPILED_MODULE(ConvTranspose1d);

// Input [N, C, H, W] or [C, H, W].
class ConvTranspose2dImpl : public ConvTransposeNdImpl<2, ConvTranspose2dImpl> {
 public:
  ConvTranspose2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
      : ConvTranspose2dImpl(ConvTranspose2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose2dImpl(ConvTranspose2dOptions options_)
      : ConvTransposeNdImpl(detail::convolution_options(options_)) {}
  ConvTranspose2dImpl(const ConvTranspose2dOptions& options_, detail::LazyTag tag)
      : ConvTransposeNdImpl(detail::convolution_options(options_), tag) {}
  at::Tensor forward(const at::Tensor& input, const std::optional<c10::IntArrayRef>& output_size = std::nullopt);
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::ConvTranspose2d"); }

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<c10::IntArrayRef>())})
};
TORCH_COMPILED_MODULE(ConvTranspose2d);

// Input [N, C, D, H, W] or [C, D, H, W].
class ConvTranspose3dImpl : public ConvTransposeNdImpl<3, ConvTranspose3dImpl> {
 public:
  ConvTranspose3dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<3> kernel_size)
      : ConvTranspose3dImpl(ConvTranspose3dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose3dImpl(ConvTranspose3dOptions options_)
      : ConvTransposeNdImpl(detail::convolution_options(options_)) {}
  ConvTranspose3dImpl(const ConvTranspose3dOptions& options_, detail::LazyTag tag)
      : ConvTransposeNdImpl(detail::convolution_options(options_), tag) {}
  at::Tensor forward(const at::Tensor& input, const std::optional<c10::IntArrayRef>& output_size = std::nullopt);
  void pretty_print(std::ostream& stream) const override { print(stream, "torch::nn::ConvTranspose3d"); }

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<c10::IntArrayRef>())})
};
TORCH_COMPILED_MODULE(ConvTranspose3d);

}  // namespace torch::nn
