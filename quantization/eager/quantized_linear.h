// Quantized linear layers and convolutions: bytes in, bytes out. A weight is QInt8, with one scale for all or one for
// each output channel; the bias is float.
#pragma once

#include <optional>
#include <string>
#include <tuple>

#include "nn/options/conv.h"
#include "quantization/eager/quantized_layer.h"

namespace torch::nn::quantized {

/// Weights as the operators want them.
class PackedLayer : public QuantizedLayer {
 public:
  /// Quantized.
  at::Tensor weight() const { return std::get<0>(_weight_bias()); }
  /// Float, or undefined.
  at::Tensor bias() const { return std::get<1>(_weight_bias()); }
  std::tuple<at::Tensor, at::Tensor> _weight_bias() const;
  /// Throws c10::Error for a weight that is not QInt8 and for other sizes.
  void set_weight_bias(const at::Tensor& weight, const at::Tensor& bias);

 protected:
  /// `op`: "linear", "conv2d"; `with`: what it is joined with, "_relu", "_add", or "".
  PackedLayer(std::string op, const char* with, double scale, int64_t zero_point);
  virtual c10::IValue pack(const at::Tensor& weight, const at::Tensor& bias) const = 0;
  at::Tensor apply(const at::Tensor& qx) const {
    return detail::call_for_tensor(op_, {qx, packed_, scale, zero_point});
  }

  c10::OperatorHandle op_;
  c10::IValue packed_;

 private:
  std::string name_;
  c10::OperatorHandle unpack_;
};

/// What linear layers share. State: "scale", "zero_point", "_packed_params.dtype", "_packed_params._packed_params"
/// (weight and bias).
class LinearLayer : public PackedLayer {
 public:
  std::string extra_repr() const override;

 protected:
  LinearLayer(const char* with, const at::Tensor& weight, const at::Tensor& bias, double scale, int64_t zero_point);
  Parts parts() const override;
  void set_parts(const Parts& parts) override;
  c10::IValue pack(const at::Tensor& weight, const at::Tensor& bias) const override;
};

/// y = x weight^T + bias, quantized by scale and zero_point; with relu behind it.
template <bool kRelu>
class LinearOf : public LinearLayer, public Cloneable<LinearOf<kRelu>> {
 public:
  LinearOf(const at::Tensor& weight, const at::Tensor& bias, double scale = 1, int64_t zero_point = 0);
  at::Tensor forward(const at::Tensor& qx) { return apply(qx); }
  void reset() override {}
};
extern template class LinearOf<false>;
extern template class LinearOf<true>;
using LinearImpl = LinearOf<false>;
TORCH_MODULE(Linear);

/// What convolutions over D dimensions (transposed: of quantized::conv_transposeDd) with the geometry of a float
/// layer's options share. State: "weight", "bias", "scale", "zero_point". Throws NotImplementedError for padding modes
/// other than zeros, and for padding "same" that is not the same on both sides.
template <size_t D, bool kTransposed>
class ConvLayer : public PackedLayer {
 public:
  std::string extra_repr() const override;

  nn::detail::ConvNdOptions<D> options;

 protected:
  ConvLayer(const char* with, const nn::detail::ConvNdOptions<D>& options, const at::Tensor& weight,
            const at::Tensor& bias, double scale, int64_t zero_point);
  Parts parts() const override;
  void set_parts(const Parts& parts) override;
  c10::IValue pack(const at::Tensor& weight, const at::Tensor& bias) const override;
};

/// With relu behind it.
template <size_t D, bool kRelu, bool kTransposed>
class ConvOf : public ConvLayer<D, kTransposed>, public Cloneable<ConvOf<D, kRelu, kTransposed>> {
 public:
  ConvOf(const nn::detail::ConvNdOptions<D>& options, const at::Tensor& weight, const at::Tensor& bias,
         double scale = 1, int64_t zero_point = 0);
  at::Tensor forward(const at::Tensor& qx) { return this->apply(qx); }
  void reset() override {}
};
#define KD_QUANTIZED_CONVOLUTIONS(D)              \
  extern template class ConvLayer<D, false>;      \
  extern template class ConvLayer<D, true>;       \
  extern template class ConvOf<D, false, false>;  \
  extern template class ConvOf<D, true, false>;   \
  extern template class ConvOf<D, false, true>;   \
  using Conv##D##dImpl = ConvOf<D, false, false>; \
  using ConvTranspose##D##dImpl = ConvOf<D, false, true>;
KD_QUANTIZED_CONVOLUTIONS(1)
KD_QUANTIZED_CONVOLUTIONS(2)
KD_QUANTIZED_CONVOLUTIONS(3)
#undef KD_QUANTIZED_CONVOLUTIONS
TORCH_MODULE(Conv1d);
TORCH_MODULE(Conv2d);
TORCH_MODULE(Conv3d);
TORCH_MODULE(ConvTranspose1d);
TORCH_MODULE(ConvTranspose2d);
TORCH_MODULE(ConvTranspose3d);

}  // namespace torch::nn::quantized

namespace torch::nn::intrinsic::quantized {

using LinearReLUImpl = nn::quantized::LinearOf<true>;
TORCH_MODULE(LinearReLU);
using ConvReLU1dImpl = nn::quantized::ConvOf<1, true, false>;
TORCH_MODULE(ConvReLU1d);
using ConvReLU2dImpl = nn::quantized::ConvOf<2, true, false>;
TORCH_MODULE(ConvReLU2d);
using ConvReLU3dImpl = nn::quantized::ConvOf<3, true, false>;
TORCH_MODULE(ConvReLU3d);

/// A linear layer with leaky_relu behind it.
class LinearLeakyReLUImpl : public nn::quantized::LinearLayer, public Cloneable<LinearLeakyReLUImpl> {
 public:
  LinearLeakyReLUImpl(const at::Tensor& weight, const at::Tensor& bias, double negative_slope, double scale = 1,
                      int64_t zero_point = 0);
  at::Tensor forward(const at::Tensor& qx);
  void reset() override {}

  double negative_slope;
};
TORCH_MODULE(LinearLeakyReLU);

/// A linear layer with tanh behind it.
class LinearTanhImpl : public nn::quantized::LinearLayer, public Cloneable<LinearTanhImpl> {
 public:
  LinearTanhImpl(const at::Tensor& weight, const at::Tensor& bias, double scale = 1, int64_t zero_point = 0);
  at::Tensor forward(const at::Tensor& qx) { return apply(qx); }
  void reset() override {}
};
TORCH_MODULE(LinearTanh);

/// conv(qx) + extra, with relu behind it; `extra`: QUInt8, of the result's sizes and of a scale of its own.
template <bool kRelu>
class ConvAddOf : public nn::quantized::ConvLayer<2, false>, public Cloneable<ConvAddOf<kRelu>> {
 public:
  ConvAddOf(const nn::detail::ConvNdOptions<2>& options, const at::Tensor& weight, const at::Tensor& bias,
            double scale = 1, int64_t zero_point = 0);
  /// Throws ValueError where `qx` has not four dimensions, c10::Error for another dtype or other sizes of `extra`.
  at::Tensor forward(const at::Tensor& qx, const at::Tensor& extra);
  void reset() override {}
};
extern template class ConvAddOf<false>;
extern template class ConvAddOf<true>;
using ConvAdd2dImpl = ConvAddOf<false>;
using ConvAddReLU2dImpl = ConvAddOf<true>;
TORCH_MODULE(ConvAdd2d);
TORCH_MODULE(ConvAddReLU2d);

}  // namespace torch::nn::intrinsic::quantized
