#include "quantization/eager/conversions.h"

#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "nn/layers/embedding.h"
#include "quantization/eager/quantized_layers.h"

namespace torch::quantization::detail {

using at::Tensor;
using c10::ScalarType;
namespace quantized = nn::quantized;

std::shared_ptr<ObserverBase> observer_of(const nn::Module& module) {
  const auto children = module.named_children();
  const auto* const found = children.find(kObserver);
  return found == nullptr ? nullptr : std::dynamic_pointer_cast<ObserverBase>(*found);
}

ActivationQParams activation(nn::Module& module) {
  const auto observer = observer_of(module);
  TORCH_CHECK_VALUE(observer != nullptr, "convert: ", module.name(),
                    " has a QConfig, but no observer: call prepare() first");
  const auto [scale, zero] = observer->calculate_qparams();
  TORCH_CHECK_VALUE(scale.numel() == 1, "convert: expected one scale for the results of ", module.name(), ", but got ",
                    scale.numel());
  return {at::item(scale).toDouble(), at::item(zero).toLong()};
}

QConfig chosen(const nn::Module& module) {
  const auto* const qconfig = qconfig_of(module);
  TORCH_CHECK_VALUE(qconfig != nullptr && qconfig->has_value(), module.name(), " has no QConfig");
  return **qconfig;
}

Tensor quantized_as(const Tensor& weight, ObserverBase& observer) {
  const ScalarType integers = integer_dtype(observer.dtype());
  TORCH_CHECK_VALUE(integers == ScalarType::Char, "Weight observer must have a dtype of qint8, but got ",
                    observer.dtype());
  const auto [scale, zero] = observer.calculate_qparams();
  if (is_per_channel(observer.qscheme())) {
    return at::quantize_per_channel(weight, scale, zero, observer.ch_axis(), ScalarType::QInt8);
  }
  return at::quantize_per_tensor(weight, at::item(scale).toDouble(), at::item(zero).toLong(), ScalarType::QInt8);
}

std::shared_ptr<ObserverBase> weight_observer(const nn::Module& module) {
  const QConfig qconfig = chosen(module);
  TORCH_CHECK_VALUE(qconfig.weight != nullptr, module.name(), ": the QConfig has no weight observer");
  return qconfig.weight();
}

Tensor observed(const nn::Module& module, const Tensor& weight, ObserverBase* observer) {
  const auto own = observer == nullptr ? weight_observer(module) : nullptr;
  if (observer == nullptr) observer = own.get();
  const Tensor w = at::detach(weight);
  observer->forward(w);
  return quantized_as(w, *observer);
}

namespace {
Tensor table_of(const nn::Module& module, const Tensor& weight) {
  const auto observer = weight_observer(module);
  const bool fits = (observer->dtype() == ScalarType::QUInt8 || observer->dtype() == ScalarType::Byte ||
                     observer->dtype() == ScalarType::QUInt4x2) &&
                    observer->qscheme() == c10::kPerChannelAffineFloatQParams;
  TORCH_CHECK_VALUE(fits, module.name(), " quantization is only supported with float_qparams_weight_only_qconfig.");
  const Tensor w = at::detach(weight);
  observer->forward(w);
  const auto [scale, zero] = observer->calculate_qparams();
  const auto dtype = observer->dtype() == ScalarType::QUInt4x2 ? ScalarType::QUInt4x2 : ScalarType::QUInt8;
  return at::quantize_per_channel(w, scale, zero, 0, dtype);
}

}  // namespace

Tensor at_or_none(const std::vector<Tensor>& list, size_t i) {
  return i < list.size() ? list[i] : Tensor();
}

void set_tables(ModuleMapping& mapping) {
  mapping.set<nn::EmbeddingImpl>([](nn::EmbeddingImpl& table) {
    return Replacement{nn::AnyModule(std::make_shared<quantized::EmbeddingImpl>(table_of(table, table.weight)))};
  });
  mapping.set<nn::EmbeddingBagImpl>([](nn::EmbeddingBagImpl& bag) {
    auto made = std::make_shared<quantized::EmbeddingBagImpl>(table_of(bag, bag.weight), bag.options.mode(),
                                                              bag.options.include_last_offset());
    return Replacement{
        nn::AnyModule(made), [made](const std::vector<Tensor>& in) {
          return std::vector<Tensor>{nn::call_module(*made, in.at(0), at_or_none(in, 1), at_or_none(in, 2))};
        }};
  });
}

}  // namespace torch::quantization::detail
