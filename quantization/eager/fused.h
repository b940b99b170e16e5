// Layers that belong together: torch.ao.nn.intrinsic, what fuse_modules() makes of float layers that follow each other,
// and torch.ao.nn.qat and torch.ao.nn.intrinsic.qat, the layers of training, whose weights are quantized in each call.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "nn/layers/activation.h"
#include "nn/layers/conv.h"
#include "nn/layers/linear.h"
#include "nn/layers/normalization.h"
#include "nn/module/cloneable.h"
#include "nn/module/module_holder.h"
#include "quantization/qconfig.h"

namespace torch::nn::intrinsic {

namespace detail {
/// "Conv", "Bn", "ReLU", "LeakyReLU", "Tanh" or "Linear", and of how many dimensions, 0 for none.
template <class Layer>
struct PartName;
#define KD_PART(Layer, name, dims)             \
  template <>                                  \
  struct PartName<Layer> {                     \
    static constexpr const char* text = name;  \
    static constexpr size_t dimensions = dims; \
  };
KD_PART(LinearImpl, "Linear", 0)
KD_PART(Conv1dImpl, "Conv", 1)
KD_PART(Conv2dImpl, "Conv", 2)
KD_PART(Conv3dImpl, "Conv", 3)
KD_PART(BatchNorm1dImpl, "Bn", 1)
KD_PART(BatchNorm2dImpl, "Bn", 2)
KD_PART(BatchNorm3dImpl, "Bn", 3)
KD_PART(ReLUImpl, "ReLU", 0)
KD_PART(LeakyReLUImpl, "LeakyReLU", 0)
KD_PART(TanhImpl, "Tanh", 0)
#undef KD_PART

/// "ConvBnReLU2d"
template <class... Layers>
std::string fused_name() {
  std::string text;
  for (const char* part : {PartName<Layers>::text...}) text += text.empty() && part[0] == 'B' ? "BN" : part;
  size_t dimensions = 0;
  for (const size_t d : {PartName<Layers>::dimensions...}) dimensions = std::max(dimensions, d);
  return dimensions == 0 ? text : text + std::to_string(dimensions) + "d";
}
}  // namespace detail

/// Layers called one after another, children "0", "1" ..; a Sequential that is one layer to quantization.
template <class... Layers>
class FusedImpl : public Cloneable<FusedImpl<Layers...>> {
 public:
  explicit FusedImpl(std::shared_ptr<Layers>... layers)
      : Module(detail::fused_name<Layers...>()), layers_(std::move(layers)...) {
    enroll();
  }
  explicit FusedImpl(ModuleHolder<Layers>... layers) : FusedImpl(layers.ptr()...) {}
  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = x;
    std::apply([&](auto&... layer) { ((y = call_module(*layer, y)), ...); }, layers_);
    return y;
  }
  void reset() override {
    std::apply([](auto&... layer) { ((layer = copy_of(layer)), ...); }, layers_);
    enroll();
  }
  template <size_t I>
  auto& part() const {
    return *std::get<I>(layers_);
  }
  /// A batch norm, or null.
  template <class Layer>
  static constexpr bool has = (std::is_same_v<Layer, Layers> || ...);

 private:
  template <class Layer>
  static std::shared_ptr<Layer> copy_of(const std::shared_ptr<Layer>& layer) {
    return std::dynamic_pointer_cast<Layer>(layer->clone());
  }
  void enroll() {
    size_t i = 0;
    std::apply([&](auto&... layer) { (this->register_module(std::to_string(i++), layer), ...); }, layers_);
    this->train(std::get<0>(layers_)->is_training());
  }
  std::tuple<std::shared_ptr<Layers>...> layers_;
};

#define KD_FUSED(Name, ...)                  \
  using Name##Impl = FusedImpl<__VA_ARGS__>; \
  TORCH_MODULE(Name)
KD_FUSED(LinearReLU, LinearImpl, ReLUImpl);
KD_FUSED(LinearBn1d, LinearImpl, BatchNorm1dImpl);
KD_FUSED(LinearLeakyReLU, LinearImpl, LeakyReLUImpl);
KD_FUSED(LinearTanh, LinearImpl, TanhImpl);
KD_FUSED(ConvReLU1d, Conv1dImpl, ReLUImpl);
KD_FUSED(ConvReLU2d, Conv2dImpl, ReLUImpl);
KD_FUSED(ConvReLU3d, Conv3dImpl, ReLUImpl);
KD_FUSED(ConvBn1d, Conv1dImpl, BatchNorm1dImpl);
KD_FUSED(ConvBn2d, Conv2dImpl, BatchNorm2dImpl);
KD_FUSED(ConvBn3d, Conv3dImpl, BatchNorm3dImpl);
KD_FUSED(ConvBnReLU1d, Conv1dImpl, BatchNorm1dImpl, ReLUImpl);
KD_FUSED(ConvBnReLU2d, Conv2dImpl, BatchNorm2dImpl, ReLUImpl);
KD_FUSED(ConvBnReLU3d, Conv3dImpl, BatchNorm3dImpl, ReLUImpl);
KD_FUSED(BNReLU2d, BatchNorm2dImpl, ReLUImpl);
KD_FUSED(BNReLU3d, BatchNorm3dImpl, ReLUImpl);
#undef KD_FUSED

/// conv(x1) + x2, with relu behind it; children "0" and "relu".
template <bool kRelu>
class ConvAddOf : public Cloneable<ConvAddOf<kRelu>> {
 public:
  using ReLUPtr = std::conditional_t<kRelu, std::shared_ptr<ReLUImpl>, std::nullptr_t>;
  explicit ConvAddOf(std::shared_ptr<Conv2dImpl> conv, ReLUPtr relu = {});
  explicit ConvAddOf(const Conv2d& conv) requires(!kRelu) : ConvAddOf(conv.ptr()) {}
  ConvAddOf(const Conv2d& conv, const ReLU& relu) requires kRelu : ConvAddOf(conv.ptr(), relu.ptr()) {}
  /// `x2` has the sizes of the convolution's result, or others that broadcast with it.
  at::Tensor forward(const at::Tensor& x1, const at::Tensor& x2);
  void reset() override;
  Conv2dImpl& conv() const { return *conv_; }

 private:
  void enroll();
  std::shared_ptr<Conv2dImpl> conv_;
  ReLUPtr relu_{};
};
extern template class ConvAddOf<false>;
extern template class ConvAddOf<true>;
using ConvAdd2dImpl = ConvAddOf<false>;
using ConvAddReLU2dImpl = ConvAddOf<true>;
TORCH_MODULE(ConvAdd2d);
TORCH_MODULE(ConvAddReLU2d);

}  // namespace torch::nn::intrinsic

namespace torch::nn::qat {

/// What the layers of training share.
class TrainedLayer : public virtual Module {
 public:
  at::Tensor weight;
  std::shared_ptr<quantization::ObserverBase> weight_fake_quant;

 protected:
  /// Throws ValueError where the QConfig has no weight.
  explicit TrainedLayer(quantization::QConfig qconfig);
  quantization::QConfig qconfig_;
};

/// A linear layer or a convolution whose weight is quantized by `weight_fake_quant` before it is used. It has the float
/// layer's own parameters. With a batch norm, child "bn", of statistics (mean, var), weight g and bias b:
///
///   factor = g / sqrt(running_var + eps);  y = bn(layer(x; fake(weight * factor)) / factor + bias)
///
/// so that the weight is quantized as it will be when the norm is folded into it. Throws ValueError where the QConfig
/// has no weight.
template <class Layer, class Norm, bool kRelu>
class TrainedOf : public TrainedLayer, public Cloneable<TrainedOf<Layer, Norm, kRelu>> {
 public:
  static constexpr bool kHasNorm = !std::is_void_v<Norm>;
  using NormPtr = std::conditional_t<kHasNorm, std::shared_ptr<Norm>, std::nullptr_t>;

  TrainedOf(const Layer& of, NormPtr norm, const quantization::QConfig& qconfig);
  at::Tensor forward(const at::Tensor& x);
  void reset() override;
  /// Of the batch norm while its statistics are frozen: it stays in evaluation.
  void train(bool on = true) override;
  /// The norm's statistics move with training, or stay.
  void update_bn_stats();
  void freeze_bn_stats();
  /// Weight and bias with the norm folded in.
  std::pair<at::Tensor, at::Tensor> folded() const;
  /// The float layer's options.
  const auto& options() const { return layer_->options; }

  at::Tensor bias;
  NormPtr bn{};
  bool freeze_bn = false;

 protected:
  TORCH_MODULE_TENSORS(weight, bias)

 private:
  // Registers what the layer has, or, once there is something, a copy.
  void enroll(const at::Tensor& weight, const at::Tensor& bias);
  at::Tensor apply(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
  // Of the float layer's class, with its options and without tensors.
  std::shared_ptr<Layer> layer_;
};

#define KD_TRAINED(Name, Layer, Norm, relu)        \
  using Name##Impl = TrainedOf<Layer, Norm, relu>; \
  extern template class TrainedOf<Layer, Norm, relu>;
KD_TRAINED(Linear, nn::LinearImpl, void, false)
KD_TRAINED(Conv1d, nn::Conv1dImpl, void, false)
KD_TRAINED(Conv2d, nn::Conv2dImpl, void, false)
KD_TRAINED(Conv3d, nn::Conv3dImpl, void, false)
TORCH_MODULE(Linear);
TORCH_MODULE(Conv1d);
TORCH_MODULE(Conv2d);
TORCH_MODULE(Conv3d);
KD_TRAINED(LinearReLU, nn::LinearImpl, void, true)
KD_TRAINED(LinearBn1d, nn::LinearImpl, nn::BatchNorm1dImpl, false)
KD_TRAINED(ConvReLU1d, nn::Conv1dImpl, void, true)
KD_TRAINED(ConvReLU2d, nn::Conv2dImpl, void, true)
KD_TRAINED(ConvReLU3d, nn::Conv3dImpl, void, true)
KD_TRAINED(ConvBn1d, nn::Conv1dImpl, nn::BatchNorm1dImpl, false)
KD_TRAINED(ConvBn2d, nn::Conv2dImpl, nn::BatchNorm2dImpl, false)
KD_TRAINED(ConvBn3d, nn::Conv3dImpl, nn::BatchNorm3dImpl, false)
KD_TRAINED(ConvBnReLU1d, nn::Conv1dImpl, nn::BatchNorm1dImpl, true)
KD_TRAINED(ConvBnReLU2d, nn::Conv2dImpl, nn::BatchNorm2dImpl, true)
KD_TRAINED(ConvBnReLU3d, nn::Conv3dImpl, nn::BatchNorm3dImpl, true)
#undef KD_TRAINED

/// For module.apply(): of convolutions with a batch norm. As in PyTorch, LinearBn1d is left as it is; its own functions
/// do it.
void update_bn_stats(Module& module);
void freeze_bn_stats(Module& module);

}  // namespace torch::nn::qat

namespace torch::nn::intrinsic::qat {
using nn::qat::ConvBn1dImpl;
using nn::qat::ConvBn2dImpl;
using nn::qat::ConvBn3dImpl;
using nn::qat::ConvBnReLU1dImpl;
using nn::qat::ConvBnReLU2dImpl;
using nn::qat::ConvBnReLU3dImpl;
using nn::qat::ConvReLU1dImpl;
using nn::qat::ConvReLU2dImpl;
using nn::qat::ConvReLU3dImpl;
using nn::qat::freeze_bn_stats;
using nn::qat::LinearBn1dImpl;
using nn::qat::LinearReLUImpl;
using nn::qat::update_bn_stats;
TORCH_MODULE(ConvReLU1d);
TORCH_MODULE(ConvReLU2d);
TORCH_MODULE(ConvReLU3d);
TORCH_MODULE(ConvBn1d);
TORCH_MODULE(ConvBn2d);
TORCH_MODULE(ConvBn3d);
TORCH_MODULE(ConvBnReLU1d);
TORCH_MODULE(ConvBnReLU2d);
TORCH_MODULE(ConvBnReLU3d);
TORCH_MODULE(LinearReLU);
TORCH_MODULE(LinearBn1d);
}  // namespace torch::nn::intrinsic::qat
