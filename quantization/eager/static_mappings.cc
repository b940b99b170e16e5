// convert(): modules on quantized tensors.
#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "nn/layers/dropout.h"
#include "quantization/eager/conversions.h"
#include "quantization/eager/fused.h"
#include "quantization/eager/quantized_layers.h"
#include "quantization/eager/quantized_linear.h"

namespace torch::quantization {

using at::Tensor;
using c10::ScalarType;
namespace quantized = nn::quantized;
namespace intrinsic = nn::intrinsic;
namespace qat = nn::qat;

using detail::activation;
using detail::observed;
using detail::quantized_as;
using detail::weight_observer;

namespace {

// --- linear layers and convolutions ---
template <class Layer>
constexpr size_t kDimensions = intrinsic::detail::PartName<Layer>::dimensions;

Tensor detached(const Tensor& bias) {
  return bias.defined() ? at::detach(bias) : Tensor();
}

template <bool kRelu, class Layer, class Options>
Replacement packed(nn::Module& module, const Options& options, const Tensor& weight, const Tensor& bias) {
  const auto [scale, zero_point] = activation(module);
  const Tensor b = detached(bias);
  if constexpr (std::is_same_v<Layer, nn::LinearImpl>) {
    return {nn::AnyModule(std::make_shared<quantized::LinearOf<kRelu>>(weight, b, scale, zero_point))};
  } else {
    using Quantized = quantized::ConvOf<kDimensions<Layer>, kRelu, false>;
    return {nn::AnyModule(std::make_shared<Quantized>(options, weight, b, scale, zero_point))};
  }
}

template <class Layer>
void set_layer(ModuleMapping& mapping) {
  mapping.set<Layer>([](Layer& layer) {
    return packed<false, Layer>(layer, layer.options, observed(layer, layer.weight), layer.bias);
  });
  using WithReLU = intrinsic::FusedImpl<Layer, nn::ReLUImpl>;
  mapping.set<WithReLU>([](WithReLU& fused) {
    Layer& layer = fused.template part<0>();
    return packed<true, Layer>(fused, layer.options, observed(fused, layer.weight), layer.bias);
  });
}

void set_linear_with(ModuleMapping& mapping) {
  mapping.set<intrinsic::LinearLeakyReLUImpl>([](intrinsic::LinearLeakyReLUImpl& fused) {
    const auto [scale, zero_point] = activation(fused);
    nn::LinearImpl& layer = fused.part<0>();
    return Replacement{nn::AnyModule(
        intrinsic::quantized::LinearLeakyReLU(observed(fused, layer.weight), detached(layer.bias),
                                              fused.part<1>().options.negative_slope(), scale, zero_point))};
  });
  mapping.set<intrinsic::LinearTanhImpl>([](intrinsic::LinearTanhImpl& fused) {
    const auto [scale, zero_point] = activation(fused);
    nn::LinearImpl& layer = fused.part<0>();
    return Replacement{nn::AnyModule(
        intrinsic::quantized::LinearTanh(observed(fused, layer.weight), detached(layer.bias), scale, zero_point))};
  });
}

template <bool kRelu>
void set_conv_add(ModuleMapping& mapping) {
  using Fused = intrinsic::ConvAddOf<kRelu>;
  mapping.set<Fused>([](Fused& fused) {
    const auto [scale, zero_point] = activation(fused);
    nn::Conv2dImpl& layer = fused.conv();
    auto made = std::make_shared<intrinsic::quantized::ConvAddOf<kRelu>>(layer.options, observed(fused, layer.weight),
                                                                         detached(layer.bias), scale, zero_point);
    return Replacement{nn::AnyModule(made), [made](const std::vector<Tensor>& in) {
                         return std::vector<Tensor>{nn::call_module(*made, in.at(0), in.at(1))};
                       }};
  });
}

template <class Layer, class Norm, bool kRelu>
void set_trained(ModuleMapping& mapping) {
  using Trained = qat::TrainedOf<Layer, Norm, kRelu>;
  mapping.set<Trained>([](Trained& layer) {
    const auto [weight, bias] = layer.folded();
    // Convolutions see the weight once more, as it is with the norm folded in.
    const Tensor q = std::is_same_v<Layer, nn::LinearImpl> ? quantized_as(at::detach(weight), *layer.weight_fake_quant)
                                                           : observed(layer, weight, layer.weight_fake_quant.get());
    return packed<kRelu, Layer>(layer, layer.options(), q, bias);
  });
}

template <class Layer, size_t D>
void set_transposed(ModuleMapping& mapping) {
  mapping.set<Layer>([](Layer& layer) {
    const auto observer = weight_observer(layer);
    TORCH_CHECK_NOT_IMPLEMENTED(!is_per_channel(observer->qscheme()),
                                "Per channel weight observer is not supported yet for ConvTranspose", D, "d.");
    const auto [scale, zero_point] = activation(layer);
    using Quantized = quantized::ConvOf<D, false, true>;
    return Replacement{nn::AnyModule(std::make_shared<Quantized>(
        layer.options, observed(layer, layer.weight, observer.get()), detached(layer.bias), scale, zero_point))};
  });
}

// --- others ---
void copy_into(const Tensor& to, const Tensor& from) {
  if (to.defined() && from.defined()) Tensor(to).copy_(from);
}

template <class Layer, class Quantized>
void set_normalization(ModuleMapping& mapping) {
  mapping.set<Layer>([](Layer& layer) {
    const c10::NoGradGuard no_grad;
    const auto [scale, zero_point] = activation(layer);
    auto made = std::make_shared<Quantized>(layer.options, scale, zero_point);
    copy_into(made->weight, layer.weight);
    copy_into(made->bias, layer.bias);
    return Replacement{nn::AnyModule(made)};
  });
}

template <size_t D, bool kRelu>
Replacement batch_norm(nn::Module& module, const nn::detail::BatchNormState& norm) {
  TORCH_CHECK_VALUE(norm.running_mean.defined(), "convert: expected running statistics of ", norm.name());
  const c10::NoGradGuard no_grad;
  const auto [scale, zero_point] = activation(module);
  auto made = std::make_shared<quantized::BatchNormOf<D, kRelu>>(norm.options, scale, zero_point);
  copy_into(made->weight, norm.weight);
  copy_into(made->bias, norm.bias);
  copy_into(made->running_mean, norm.running_mean);
  copy_into(made->running_var, norm.running_var);
  copy_into(made->num_batches_tracked, norm.num_batches_tracked);
  return {nn::AnyModule(made)};
}

template <class Norm, size_t D>
void set_batch_norm(ModuleMapping& mapping) {
  mapping.set<Norm>([](Norm& norm) { return batch_norm<D, false>(norm, norm); });
  using WithReLU = intrinsic::FusedImpl<Norm, nn::ReLUImpl>;
  mapping.set<WithReLU>([](WithReLU& fused) { return batch_norm<D, true>(fused, fused.template part<0>()); });
}

template <class Stub>
void set_dequantize(ModuleMapping& mapping) {
  mapping.set<Stub>([](Stub&) { return Replacement{nn::AnyModule(quantized::DeQuantize())}; });
}

ModuleMapping static_mappings() {
  ModuleMapping mapping;
  set_layer<nn::LinearImpl>(mapping);
  set_layer<nn::Conv1dImpl>(mapping);
  set_layer<nn::Conv2dImpl>(mapping);
  set_layer<nn::Conv3dImpl>(mapping);
  set_transposed<nn::ConvTranspose1dImpl, 1>(mapping);
  set_transposed<nn::ConvTranspose2dImpl, 2>(mapping);
  set_transposed<nn::ConvTranspose3dImpl, 3>(mapping);
  set_trained<nn::LinearImpl, void, false>(mapping);
  set_trained<nn::LinearImpl, void, true>(mapping);
  set_trained<nn::LinearImpl, nn::BatchNorm1dImpl, false>(mapping);
  const auto convolution = [&]<class Conv, class Norm>(std::tuple<Conv, Norm>*) {
    set_trained<Conv, void, false>(mapping);
    set_trained<Conv, void, true>(mapping);
    set_trained<Conv, Norm, false>(mapping);
    set_trained<Conv, Norm, true>(mapping);
  };
  convolution(static_cast<std::tuple<nn::Conv1dImpl, nn::BatchNorm1dImpl>*>(nullptr));
  convolution(static_cast<std::tuple<nn::Conv2dImpl, nn::BatchNorm2dImpl>*>(nullptr));
  convolution(static_cast<std::tuple<nn::Conv3dImpl, nn::BatchNorm3dImpl>*>(nullptr));
  set_linear_with(mapping);
  set_conv_add<false>(mapping);
  set_conv_add<true>(mapping);
  set_batch_norm<nn::BatchNorm2dImpl, 2>(mapping);
  set_batch_norm<nn::BatchNorm3dImpl, 3>(mapping);
  set_normalization<nn::LayerNormImpl, quantized::LayerNormImpl>(mapping);
  set_normalization<nn::GroupNormImpl, quantized::GroupNormImpl>(mapping);
  set_normalization<nn::InstanceNorm1dImpl, quantized::InstanceNormImpl>(mapping);
  set_normalization<nn::InstanceNorm2dImpl, quantized::InstanceNormImpl>(mapping);
  set_normalization<nn::InstanceNorm3dImpl, quantized::InstanceNormImpl>(mapping);
  detail::set_tables(mapping);
  detail::set_trained_tables(mapping);
  detail::set_custom_modules(mapping);

  mapping.set<QuantStubImpl>([](QuantStubImpl& stub) {
    const auto [scale, zero_point] = activation(stub);
    ScalarType dtype = detail::observer_of(stub)->dtype();
    if (dtype == ScalarType::Byte) dtype = ScalarType::QUInt8;
    if (dtype == ScalarType::Char) dtype = ScalarType::QInt8;
    return Replacement{nn::AnyModule(quantized::Quantize(scale, zero_point, dtype))};
  });
  set_dequantize<DeQuantStubImpl>(mapping);
  mapping.set<quantized::FloatFunctionalImpl>([](quantized::FloatFunctionalImpl& of) {
    const auto [scale, zero_point] = activation(of);
    return Replacement{nn::AnyModule(quantized::QFunctional(scale, zero_point))};
  });
  mapping.set<nn::HardswishImpl>([](nn::HardswishImpl& of) {
    const auto [scale, zero_point] = activation(of);
    return Replacement{nn::AnyModule(quantized::Hardswish(scale, zero_point))};
  });
  mapping.set<nn::ELUImpl>([](nn::ELUImpl& of) {
    const auto [scale, zero_point] = activation(of);
    return Replacement{nn::AnyModule(quantized::ELU(scale, zero_point, of.options))};
  });
  mapping.set<nn::LeakyReLUImpl>([](nn::LeakyReLUImpl& of) {
    const auto [scale, zero_point] = activation(of);
    return Replacement{nn::AnyModule(quantized::LeakyReLU(scale, zero_point, of.options))};
  });
  mapping.set<nn::PReLUImpl>([](nn::PReLUImpl& of) {
    const auto [scale, zero_point] = activation(of);
    // Unsigned, whatever the QConfig says: a signed observer's zero point would cut slopes below zero off.
    const auto observer = MinMaxObserver().ptr();
    const Tensor w = at::detach(of.weight);
    observer->forward(w);
    const auto [step, zero] = observer->calculate_qparams();
    const Tensor weight =
        at::quantize_per_tensor(w, at::item(step).toDouble(), at::item(zero).toLong(), ScalarType::QUInt8);
    return Replacement{nn::AnyModule(quantized::PReLU(scale, zero_point, weight))};
  });
  mapping.set<nn::ReLU6Impl>([](nn::ReLU6Impl&) { return Replacement{nn::AnyModule(quantized::ReLU6())}; });
  mapping.set<nn::DropoutImpl>(
      [](nn::DropoutImpl& of) { return Replacement{nn::AnyModule(quantized::Dropout(of.options.p()))}; });
  return mapping;
}

}  // namespace

const ModuleMapping& get_default_static_quant_module_mappings() {
  static const ModuleMapping& mapping = *new ModuleMapping(static_mappings());
  return mapping;
}

}  // namespace torch::quantization
