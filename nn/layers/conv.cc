#include "nn/layers/conv.h"

#include <cmath>
#include <tuple>

#include "aten/ops/creation/ops.h"
#include "nn/functional/conv.h"
#include "nn/functional/padding.h"
#include "nn/init/init.h"

namespace torch::nn {

namespace F = torch::nn::functional;

template <size_t D>
void ConvNdBase<D>::make_parameters() {
  const int64_t in = options.in_channels();
  const int64_t out = options.out_channels();
  const int64_t groups = options.groups();
  TORCH_CHECK_VALUE(in > 0 && groups > 0 && out > 0, "in_channels, groups and out_channels must be a positive integer.");
  TORCH_CHECK_VALUE(in % groups == 0, "in_channels must be divisible by groups");
  TORCH_CHECK_VALUE(out % groups == 0, "out_channels must be divisible by groups");
  for (const int64_t k : *options.kernel_size())
    TORCH_CHECK(k > 0, "kernel_size must be positive, but got ", options.kernel_size());

  std::vector<int64_t>& pads = _reversed_padding_repeated_twice;
  pads.assign(2 * D, 0);
  if (std::holds_alternative<enumtype::kSame>(options.padding())) {
    for (const int64_t s : *options.stride()) {
      TORCH_CHECK_VALUE(s == 1, "padding='same' is not supported for strided convolutions");
    }
    for (size_t i = 0; i < D; ++i) {
      const int64_t total = (*options.dilation())[D - 1 - i] * ((*options.kernel_size())[D - 1 - i] - 1);
      pads[2 * i] = total / 2;
      pads[2 * i + 1] = total - total / 2;
    }
  } else if (const auto* numbers = std::get_if<ExpandingArray<D>>(&options.padding())) {
    for (size_t i = 0; i < D; ++i) pads[2 * i] = pads[2 * i + 1] = (**numbers)[D - 1 - i];
  }

  std::vector<int64_t> sizes =
      options.transposed() ? std::vector<int64_t>{in, out / groups} : std::vector<int64_t>{out, in / groups};
  sizes.insert(sizes.end(), options.kernel_size()->begin(), options.kernel_size()->end());
  weight = register_parameter("weight", at::empty(sizes));
  bias = options.bias() ? register_parameter("bias", at::empty({out}))
                        : register_parameter("bias", at::Tensor(), /*requires_grad=*/false);
  reset_parameters();
}

template <size_t D>
void ConvNdBase<D>::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5));
  if (bias.defined()) {
    const int64_t fan_in = std::get<0>(init::_calculate_fan_in_and_fan_out(weight));
    const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
    init::uniform_(bias, -bound, bound);
  }
}

template <size_t D>
at::Tensor ConvNdBase<D>::padded(const at::Tensor& input) const {
  F::PadFuncOptions pad(_reversed_padding_repeated_twice);
  if (std::holds_alternative<enumtype::kReflect>(options.padding_mode())) {
    pad.mode(torch::kReflect);
  } else if (std::holds_alternative<enumtype::kReplicate>(options.padding_mode())) {
    pad.mode(torch::kReplicate);
  } else if (std::holds_alternative<enumtype::kCircular>(options.padding_mode())) {
    pad.mode(torch::kCircular);
  } else {
    return input;
  }
  return F::pad(input, pad);
}

template <size_t D>
detail::conv_padding_t<D> ConvNdBase<D>::remaining_padding() const {
  if (std::holds_alternative<enumtype::kZeros>(options.padding_mode())) return options.padding();
  return ExpandingArray<D>(0);
}

template <size_t D>
void ConvNdBase<D>::print(std::ostream& stream, std::string_view name) const {
  std::string text = c10::str(name, "(", options.in_channels(), ", ", options.out_channels(),
                              ", kernel_size=", options.kernel_size(), ", stride=", options.stride());
  const auto differs = [](const ExpandingArray<D>& values, int64_t usual) {
    for (const int64_t v : *values) {
      if (v != usual) return true;
    }
    return false;
  };
  if (const auto* numbers = std::get_if<ExpandingArray<D>>(&options.padding())) {
    if (differs(*numbers, 0)) text += c10::str(", padding=", *numbers);
  } else {
    text += std::holds_alternative<enumtype::kSame>(options.padding()) ? ", padding='same'" : ", padding='valid'";
  }
  if (differs(options.dilation(), 1)) text += c10::str(", dilation=", options.dilation());
  if (differs(options.output_padding(), 0)) text += c10::str(", output_padding=", options.output_padding());
  if (options.groups() != 1) text += c10::str(", groups=", options.groups());
  if (!options.bias()) text += ", bias=false";
  if (!std::holds_alternative<enumtype::kZeros>(options.padding_mode())) {
    text += c10::str(", padding_mode=", enumtype::get_enum_name(options.padding_mode()));
  }
  detail::put_text(stream, text + ")");
}

template <size_t D>
std::vector<int64_t> ConvNdBase<D>::output_padding_for(const at::Tensor& input,
                                                       const std::optional<c10::IntArrayRef>& output_size) const {
  if (!output_size.has_value()) return {options.output_padding()->begin(), options.output_padding()->end()};
  c10::IntArrayRef wanted = *output_size;
  const size_t leading = input.dim() == static_cast<int64_t>(D) + 2 ? 2 : 1;
  TORCH_CHECK(input.dim() == static_cast<int64_t>(D + leading), "ConvTranspose", D, "d: expected an input of ", D + 1,
              " or ", D + 2, " dimensions, but got sizes ", input.sizes());
  if (wanted.size() == D + leading) wanted = wanted.slice(leading);
  TORCH_CHECK_VALUE(wanted.size() == D, "output_size must have ", D, " or ", D + leading, " elements (got ",
              output_size->size(), ")");
  const c10::IntArrayRef sizes = input.sizes().slice(leading);
  const auto& padding = *std::get<ExpandingArray<D>>(options.padding());
  std::vector<int64_t> low, high, extra;
  for (size_t d = 0; d < D; ++d) {
    low.push_back((sizes[d] - 1) * (*options.stride())[d] - 2 * padding[d] +
                  (*options.dilation())[d] * ((*options.kernel_size())[d] - 1) + 1);
    high.push_back(low[d] + (*options.stride())[d] - 1);
  }
  for (size_t d = 0; d < D; ++d) {
    TORCH_CHECK_VALUE(wanted[d] >= low[d] && wanted[d] <= high[d], "requested an output size of ", wanted,
                ", but valid sizes range from ", c10::IntArrayRef(low), " to ", c10::IntArrayRef(high),
                      " (for an input of ", sizes, ")");
    extra.push_back(wanted[d] - low[d]);
  }
  return extra;
}

template <size_t D>
F::ConvTransposeFuncOptions<D> ConvNdBase<D>::transposed_call(
    const at::Tensor& input, const std::optional<c10::IntArrayRef>& output_size) const {
  TORCH_CHECK_VALUE(std::holds_alternative<enumtype::kZeros>(options.padding_mode()),
                    "Only `zeros` padding mode is supported for ConvTranspose", D, "d");
  return F::ConvTransposeFuncOptions<D>()
      .bias(bias)
      .stride(options.stride())
      .padding(std::get<ExpandingArray<D>>(options.padding()))
      .output_padding(output_padding_for(input, output_size))
      .groups(options.groups())
      .dilation(options.dilation());
}

template class ConvNdBase<1>;
template class ConvNdBase<2>;
template class ConvNdBase<3>;

namespace {

template <size_t D>
F::ConvFuncOptions<D> call_options(const detail::ConvNdOptions<D>& o, const at::Tensor& bias,
                                   detail::conv_padding_t<D> padding) {
  return F::ConvFuncOptions<D>()
      .bias(bias)
      .stride(o.stride())
      .padding(std::move(padding))
      .dilation(o.dilation())
      .groups(o.groups());
}

}  // namespace

at::Tensor Conv1dImpl::forward(const at::Tensor& input) {
  return F::conv1d(padded(input), weight, call_options(options, bias, remaining_padding()));
}
at::Tensor Conv2dImpl::forward(const at::Tensor& input) {
  return F::conv2d(padded(input), weight, call_options(options, bias, remaining_padding()));
}
at::Tensor Conv3dImpl::forward(const at::Tensor& input) {
  return F::conv3d(padded(input), weight, call_options(options, bias, remaining_padding()));
}

at::Tensor ConvTranspose1dImpl::forward(const at::Tensor& input, const std::optional<c10::IntArrayRef>& output_size) {
  return F::conv_transpose1d(input, weight, transposed_call(input, output_size));
}
at::Tensor ConvTranspose2dImpl::forward(const at::Tensor& input, const std::optional<c10::IntArrayRef>& output_size) {
  return F::conv_transpose2d(input, weight, transposed_call(input, output_size));
}
at::Tensor ConvTranspose3dImpl::forward(const at::Tensor& input, const std::optional<c10::IntArrayRef>& output_size) {
  return F::conv_transpose3d(input, weight, transposed_call(input, output_size));
}

template class Cloneable<Conv1dImpl>;
template class Cloneable<Conv2dImpl>;
template class Cloneable<Conv3dImpl>;
template class Cloneable<ConvTranspose1dImpl>;
template class Cloneable<ConvTranspose2dImpl>;
template class Cloneable<ConvTranspose3dImpl>;

}  // namespace torch::nn
