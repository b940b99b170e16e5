#include "quantization/eager/quantized_linear.h"

#include <cstddef>
#include <variant>
#include <vector>

#include "aten/ops/creation/ops.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace torch::nn::quantized {

using at::Tensor;
using c10::IValue;

namespace {

const char* scheme_of(const Tensor& weight) {
  return weight.qscheme() == c10::kPerTensorAffine ? "per_tensor_affine" : "per_channel_affine";
}

template <size_t D>
std::vector<int64_t> list_of(const ExpandingArray<D>& a) {
  return {a->begin(), a->end()};
}

// Padding as numbers.
template <size_t D>
std::vector<int64_t> padding_of(const nn::detail::ConvNdOptions<D>& o) {
  TORCH_CHECK_NOT_IMPLEMENTED(std::holds_alternative<enumtype::kZeros>(o.padding_mode()), "quantized::Conv", D,
                              "d: only the padding mode 'zeros' is supported");
  if (const auto* numbers = std::get_if<ExpandingArray<D>>(&o.padding())) return list_of(*numbers);
  std::vector<int64_t> padding(D, 0);
  if (std::holds_alternative<enumtype::kValid>(o.padding())) return padding;
  for (size_t i = 0; i < D; ++i) {
    const int64_t total = (*o.dilation())[i] * ((*o.kernel_size())[i] - 1);
    TORCH_CHECK_NOT_IMPLEMENTED(total % 2 == 0, "quantized::Conv", D, "d: padding 'same' that differs by side");
    padding[i] = total / 2;
  }
  return padding;
}

std::string convolution_name(size_t dims, bool transposed) {
  return c10::str(transposed ? "conv_transpose" : "conv", dims, "d");
}

c10::OperatorHandle operator_of(const std::string& op, const std::string& with) {
  // Of two and three dimensions the operators that take the geometry from the weights are overloads.
  const bool overloaded = (op == "conv2d" || op == "conv3d") && (with.empty() || with == "_relu");
  return detail::find_operator("quantized::" + op + with, overloaded ? "new" : "");
}

}  // namespace

PackedLayer::PackedLayer(std::string op, const char* with, double scale_, int64_t zero_point_)
    : QuantizedLayer(scale_, zero_point_),
      op_(operator_of(op, with)),
      name_(std::move(op)),
      unpack_(detail::find_operator("quantized::" + name_ + "_unpack")) {}

std::tuple<Tensor, Tensor> PackedLayer::_weight_bias() const {
  c10::Stack stack{packed_};
  unpack_.callBoxed(stack);
  return {stack.at(0).toTensor(), detail::tensor_or_none(stack.at(1))};
}

void PackedLayer::set_weight_bias(const Tensor& weight, const Tensor& bias) {
  TORCH_CHECK(weight.defined() && weight.is_quantized() && weight.scalar_type() == c10::ScalarType::QInt8,
              "quantized::", name_, ": expected a weight of dtype QInt8, but got ",
              weight.defined() ? weight.toString() : "none");
  if (!packed_.isNone()) {
    const auto [own, own_bias] = _weight_bias();
    TORCH_CHECK(own.sizes() == weight.sizes(), "quantized::", name_, ": expected a weight of sizes ", own.sizes(),
                ", but got ", weight.sizes());
  }
  packed_ = pack(detail::constant(weight), detail::constant(bias));
}

LinearLayer::LinearLayer(const char* with, const Tensor& weight, const Tensor& bias, double scale_, int64_t zero_point_)
    : PackedLayer("linear", with, scale_, zero_point_) {
  set_weight_bias(weight, bias);
}
template <bool kRelu>
LinearOf<kRelu>::LinearOf(const Tensor& weight, const Tensor& bias, double scale_, int64_t zero_point_)
    : Module(kRelu ? "QuantizedLinearReLU" : "QuantizedLinear"),
      LinearLayer(kRelu ? "_relu" : "", weight, bias, scale_, zero_point_) {}

IValue LinearLayer::pack(const Tensor& weight, const Tensor& bias) const {
  return detail::call("quantized::linear_prepack", "", {weight, detail::maybe(bias)})[0];
}

StatefulLayer::Parts LinearLayer::parts() const {
  Parts all = QuantizedLayer::parts();
  const auto [weight, bias] = _weight_bias();
  all.emplace_back("_packed_params.dtype", static_cast<int64_t>(weight.scalar_type()));
  all.emplace_back("_packed_params._packed_params", c10::ivalue::Tuple::create({IValue(weight), detail::maybe(bias)}));
  return all;
}

void LinearLayer::set_parts(const Parts& parts) {
  for (const auto& [name, value] : parts) {
    if (name != "_packed_params._packed_params") continue;
    const auto& both = value.toTupleRef().elements();
    set_weight_bias(both.at(0).toTensor(), detail::tensor_or_none(both.at(1)));
  }
  QuantizedLayer::set_parts(parts);
}

std::string LinearLayer::extra_repr() const {
  const Tensor w = weight();
  return c10::str("in_features=", w.size(1), ", out_features=", w.size(0), ", ", qparams_text(), ", qscheme=torch.",
                  scheme_of(w));
}

template <size_t D, bool kTransposed>
ConvLayer<D, kTransposed>::ConvLayer(const char* with, const nn::detail::ConvNdOptions<D>& options_,
                                     const Tensor& weight, const Tensor& bias, double scale_, int64_t zero_point_)
    : PackedLayer(convolution_name(D, kTransposed), with, scale_, zero_point_), options(options_) {
  set_weight_bias(weight, bias);
}
template <size_t D, bool kRelu, bool kTransposed>
ConvOf<D, kRelu, kTransposed>::ConvOf(const nn::detail::ConvNdOptions<D>& options_, const Tensor& weight,
                                      const Tensor& bias, double scale_, int64_t zero_point_)
    : Module(c10::str("QuantizedConv", kTransposed ? "Transpose" : "", kRelu ? "ReLU" : "", D, "d")),
      ConvLayer<D, kTransposed>(kRelu ? "_relu" : "", options_, weight, bias, scale_, zero_point_) {}

template <size_t D, bool kTransposed>
IValue ConvLayer<D, kTransposed>::pack(const Tensor& weight, const Tensor& bias) const {
  c10::Stack stack{weight, detail::maybe(bias), list_of(options.stride()), padding_of(options)};
  if (kTransposed) stack.emplace_back(list_of(options.output_padding()));
  stack.emplace_back(list_of(options.dilation()));
  stack.emplace_back(options.groups());
  return detail::call("quantized::" + convolution_name(D, kTransposed) + "_prepack", "", std::move(stack))[0];
}

template <size_t D, bool kTransposed>
StatefulLayer::Parts ConvLayer<D, kTransposed>::parts() const {
  const auto [weight, bias] = _weight_bias();
  Parts all{{"weight", IValue(weight)}, {"bias", detail::maybe(bias)}};
  for (auto& part : QuantizedLayer::parts()) all.push_back(std::move(part));
  return all;
}

template <size_t D, bool kTransposed>
void ConvLayer<D, kTransposed>::set_parts(const Parts& parts) {
  auto [weight, bias] = _weight_bias();
  for (const auto& [name, value] : parts) {
    if (name == "weight") weight = value.toTensor();
    if (name == "bias") bias = detail::tensor_or_none(value);
  }
  set_weight_bias(weight, bias);
  QuantizedLayer::set_parts(parts);
}

template <size_t D, bool kTransposed>
std::string ConvLayer<D, kTransposed>::extra_repr() const {
  const auto text = [](const auto& a) { return detail::list_text(a); };
  std::string all = c10::str(options.in_channels(), ", ", options.out_channels(),
                             ", kernel_size=", text(list_of(options.kernel_size())),
                             ", stride=", text(list_of(options.stride())), ", ", qparams_text());
  const std::vector<int64_t> padding = padding_of(options);
  if (padding != std::vector<int64_t>(D, 0)) all += ", padding=" + text(padding);
  if (list_of(options.dilation()) != std::vector<int64_t>(D, 1))
    all += ", dilation=" + text(list_of(options.dilation()));
  if (kTransposed && list_of(options.output_padding()) != std::vector<int64_t>(D, 0)) {
    all += ", output_padding=" + text(list_of(options.output_padding()));
  }
  if (options.groups() != 1) all += c10::str(", groups=", options.groups());
  if (!bias().defined()) all += ", bias=False";
  return all;
}

template class LinearOf<false>;
template class LinearOf<true>;
#define KD_QUANTIZED_CONVOLUTIONS(D)      \
  template class ConvLayer<D, false>;     \
  template class ConvLayer<D, true>;      \
  template class ConvOf<D, false, false>; \
  template class ConvOf<D, true, false>;  \
  template class ConvOf<D, false, true>;
KD_QUANTIZED_CONVOLUTIONS(1)
KD_QUANTIZED_CONVOLUTIONS(2)
KD_QUANTIZED_CONVOLUTIONS(3)

}  // namespace torch::nn::quantized

namespace torch::nn::intrinsic::quantized {

using at::Tensor;
using nn::quantized::detail::call_for_tensor;

LinearLeakyReLUImpl::LinearLeakyReLUImpl(const Tensor& weight, const Tensor& bias, double negative_slope_,
                                         double scale_, int64_t zero_point_)
    : Module("QuantizedLinearLeakyReLU"),
      LinearLayer("_leaky_relu", weight, bias, scale_, zero_point_),
      negative_slope(negative_slope_) {}
Tensor LinearLeakyReLUImpl::forward(const Tensor& qx) {
  return call_for_tensor(op_, {qx, packed_, scale, zero_point, negative_slope});
}

LinearTanhImpl::LinearTanhImpl(const Tensor& weight, const Tensor& bias, double scale_, int64_t zero_point_)
    : Module("QuantizedLinearTanh"), LinearLayer("_tanh", weight, bias, scale_, zero_point_) {}

template <bool kRelu>
ConvAddOf<kRelu>::ConvAddOf(const nn::detail::ConvNdOptions<2>& options_, const Tensor& weight, const Tensor& bias,
                            double scale_, int64_t zero_point_)
    : Module(kRelu ? "QuantizedConvAddReLU2d" : "QuantizedConvAdd2d"),
      ConvLayer(kRelu ? "_add_relu" : "_add", options_, weight, bias, scale_, zero_point_) {}
template <bool kRelu>
Tensor ConvAddOf<kRelu>::forward(const Tensor& qx, const Tensor& extra) {
  TORCH_CHECK_VALUE(qx.dim() == 4, "Input shape must be `(N, C, H, W)`!");
  return call_for_tensor(op_, {qx, extra, packed_, scale, zero_point});
}
template class ConvAddOf<false>;
template class ConvAddOf<true>;

}  // namespace torch::nn::intrinsic::quantized
