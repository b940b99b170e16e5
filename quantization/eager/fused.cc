#include "quantization/eager/fused.h"

#include <vector>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "nn/module/module_access.h"
#include "nn/utils/fusion.h"

namespace torch::nn::intrinsic {

using at::Tensor;

template <bool kRelu>
ConvAddOf<kRelu>::ConvAddOf(std::shared_ptr<Conv2dImpl> conv, ReLUPtr relu)
    : Module(kRelu ? "ConvAddReLU2d" : "ConvAdd2d"), conv_(std::move(conv)), relu_(std::move(relu)) {
  TORCH_CHECK_VALUE(conv_ != nullptr && (!kRelu || relu_ != nullptr), this->name(), ": expected modules, but got null");
  enroll();
}
template <bool kRelu>
void ConvAddOf<kRelu>::enroll() {
  this->register_module("0", conv_);
  if constexpr (kRelu) this->register_module("relu", relu_);
  this->train(conv_->is_training());
}
template <bool kRelu>
void ConvAddOf<kRelu>::reset() {
  conv_ = std::dynamic_pointer_cast<Conv2dImpl>(conv_->clone());
  if constexpr (kRelu) relu_ = std::dynamic_pointer_cast<ReLUImpl>(relu_->clone());
  enroll();
}
template <bool kRelu>
Tensor ConvAddOf<kRelu>::forward(const Tensor& x1, const Tensor& x2) {
  const Tensor sum = at::add(call_module(*conv_, x1), x2);
  if constexpr (kRelu) return call_module(*relu_, sum);
  return sum;
}
template class ConvAddOf<false>;
template class ConvAddOf<true>;

}  // namespace torch::nn::intrinsic

namespace torch::nn::qat {

using at::Tensor;

namespace {

template <class Layer, class Norm, bool kRelu>
std::string trained_name() {
  if constexpr (std::is_void_v<Norm>) {
    return kRelu ? intrinsic::detail::fused_name<Layer, ReLUImpl>() : intrinsic::detail::fused_name<Layer>();
  } else {
    return kRelu ? intrinsic::detail::fused_name<Layer, Norm, ReLUImpl>()
                 : intrinsic::detail::fused_name<Layer, Norm>();
  }
}

}  // namespace

TrainedLayer::TrainedLayer(quantization::QConfig qconfig) : qconfig_(std::move(qconfig)) {
  TORCH_CHECK_VALUE(qconfig_.weight != nullptr, "qat: the QConfig has no fake quantizer of weights");
}

template <class Layer, class Norm, bool kRelu>
TrainedOf<Layer, Norm, kRelu>::TrainedOf(const Layer& of, NormPtr norm, const quantization::QConfig& qconfig)
    : Module(trained_name<Layer, Norm, kRelu>()), TrainedLayer(qconfig), layer_(std::make_shared<Layer>(of)) {
  ModuleAccess::parameters(*layer_).clear();
  layer_->weight = layer_->bias = Tensor();
  enroll(of.weight, of.bias);
  if constexpr (kHasNorm) {
    TORCH_CHECK_VALUE(norm != nullptr && norm->running_var.defined(), this->name(),
                      ": expected a batch norm with running statistics");
    TORCH_CHECK_VALUE(norm->options.num_features() == weight.size(0), this->name(), ": the batch norm has ",
                      norm->options.num_features(), " channels, but the layer ", weight.size(0));
    bn = this->register_module("bn", std::move(norm));
  }
  weight_fake_quant = this->register_module("weight_fake_quant", qconfig_.weight());
  TrainedOf::train(of.is_training());
}

template <class Layer, class Norm, bool kRelu>
void TrainedOf<Layer, Norm, kRelu>::enroll(const Tensor& weight_, const Tensor& bias_) {
  weight = this->register_parameter("weight", weight_, weight_.requires_grad());
  bias = this->register_parameter("bias", bias_, bias_.defined() && bias_.requires_grad());
}

template <class Layer, class Norm, bool kRelu>
void TrainedOf<Layer, Norm, kRelu>::reset() {
  const c10::NoGradGuard no_grad;
  const auto copy = [](const Tensor& t) {
    return t.defined() ? at::clone(at::detach(t), std::nullopt).set_requires_grad(t.requires_grad()) : t;
  };
  layer_ = std::make_shared<Layer>(*layer_);
  enroll(copy(weight), copy(bias));
  if constexpr (kHasNorm) bn = this->register_module("bn", std::dynamic_pointer_cast<Norm>(bn->clone()));
  weight_fake_quant = this->register_module("weight_fake_quant", qconfig_.weight());
}

template <class Layer, class Norm, bool kRelu>
Tensor TrainedOf<Layer, Norm, kRelu>::apply(const Tensor& x, const Tensor& w, const Tensor& b) {
  // They are the layer's while it is called.
  struct Lent {
    Layer& layer;
    ~Lent() { layer.weight = layer.bias = Tensor(); }
  } lent{*layer_};
  layer_->weight = w;
  layer_->bias = b;
  return layer_->forward(x);
}

template <class Layer, class Norm, bool kRelu>
Tensor TrainedOf<Layer, Norm, kRelu>::forward(const Tensor& x) {
  Tensor y;
  if constexpr (kHasNorm) {
    Tensor factor = at::reciprocal(at::sqrt(at::add(bn->running_var, bn->options.eps())));
    if (bn->weight.defined()) factor = at::div(bn->weight, at::sqrt(at::add(bn->running_var, bn->options.eps())));
    std::vector<int64_t> row(static_cast<size_t>(weight.dim()), 1), column = row;
    row[1] = -1;
    column[0] = -1;
    const Tensor scaled = weight_fake_quant->forward(at::mul(weight, at::reshape(factor, column)));
    y = at::div(apply(x, scaled, Tensor()), at::reshape(factor, row));
    if (bias.defined()) y = at::add(y, at::reshape(bias, row));
    y = call_module(*bn, y);
  } else {
    y = apply(x, weight_fake_quant->forward(weight), bias);
  }
  return kRelu ? at::relu(y) : y;
}

template <class Layer, class Norm, bool kRelu>
void TrainedOf<Layer, Norm, kRelu>::train(bool on) {
  Module::train(on);
  if constexpr (kHasNorm) {
    if (freeze_bn) bn->train(false);
  }
}

template <class Layer, class Norm, bool kRelu>
void TrainedOf<Layer, Norm, kRelu>::update_bn_stats() {
  if constexpr (kHasNorm) {
    freeze_bn = false;
    bn->train(true);
  }
}
template <class Layer, class Norm, bool kRelu>
void TrainedOf<Layer, Norm, kRelu>::freeze_bn_stats() {
  if constexpr (kHasNorm) {
    freeze_bn = true;
    bn->train(false);
  }
}

template <class Layer, class Norm, bool kRelu>
std::pair<Tensor, Tensor> TrainedOf<Layer, Norm, kRelu>::folded() const {
  if constexpr (kHasNorm) {
    return utils::fuse_conv_bn_weights(weight, bias, bn->running_mean, bn->running_var, bn->options.eps(), bn->weight,
                                       bn->bias);
  } else {
    return {weight, bias};
  }
}

#define KD_TRAINED(Layer, Norm)                 \
  template class TrainedOf<Layer, void, false>; \
  template class TrainedOf<Layer, void, true>;  \
  template class TrainedOf<Layer, Norm, false>;
KD_TRAINED(nn::LinearImpl, nn::BatchNorm1dImpl)
KD_TRAINED(nn::Conv1dImpl, nn::BatchNorm1dImpl)
KD_TRAINED(nn::Conv2dImpl, nn::BatchNorm2dImpl)
KD_TRAINED(nn::Conv3dImpl, nn::BatchNorm3dImpl)
template class TrainedOf<nn::Conv1dImpl, nn::BatchNorm1dImpl, true>;
template class TrainedOf<nn::Conv2dImpl, nn::BatchNorm2dImpl, true>;
template class TrainedOf<nn::Conv3dImpl, nn::BatchNorm3dImpl, true>;

namespace {
template <class F>
void for_norms(Module& module, const F& f) {
  const auto one = [&](auto* layer) {
    if (layer != nullptr) f(*layer);
  };
  one(dynamic_cast<ConvBn1dImpl*>(&module));
  one(dynamic_cast<ConvBn2dImpl*>(&module));
  one(dynamic_cast<ConvBn3dImpl*>(&module));
  one(dynamic_cast<ConvBnReLU1dImpl*>(&module));
  one(dynamic_cast<ConvBnReLU2dImpl*>(&module));
  one(dynamic_cast<ConvBnReLU3dImpl*>(&module));
}
}  // namespace

void update_bn_stats(Module& module) {
  for_norms(module, [](auto& layer) { layer.update_bn_stats(); });
}
void freeze_bn_stats(Module& module) {
  for_norms(module, [](auto& layer) { layer.freeze_bn_stats(); });
}

}  // namespace torch::nn::qat
