#include "quantization/eager/conversions.h"

#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "nn/layers/embedding.h"
#include "quantization/eager/quantized_layers.h"
#include "quantization/eager/trained_tables.h"

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
// `observer`: a new one of the module's QConfig, or that of training.
Tensor table_of(const nn::Module& module, const Tensor& weight, const std::shared_ptr<ObserverBase>& observer) {
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

template <class Options>
Replacement quantized_bag(const Tensor& table, const Options& options) {
  return bag_replacement(
      std::make_shared<quantized::EmbeddingBagImpl>(table, options.mode(), options.include_last_offset()));
}

}  // namespace

std::optional<std::tuple<Tensor, Tensor>> pair_or_none(const std::vector<Tensor>& list) {
  if (list.size() < 3) return std::nullopt;
  return std::tuple(list[1], list[2]);
}
Tensor at_or_none(const std::vector<Tensor>& list, size_t i) {
  return i < list.size() ? list[i] : Tensor();
}

void set_tables(ModuleMapping& mapping) {
  mapping.set<nn::EmbeddingImpl>([](nn::EmbeddingImpl& table) {
    return Replacement{nn::AnyModule(quantized::Embedding(table_of(table, table.weight, weight_observer(table))))};
  });
  mapping.set<nn::EmbeddingBagImpl>([](nn::EmbeddingBagImpl& bag) {
    return quantized_bag(table_of(bag, bag.weight, weight_observer(bag)), bag.options);
  });
}

void set_trained_tables(ModuleMapping& mapping) {
  mapping.set<nn::qat::EmbeddingImpl>([](nn::qat::EmbeddingImpl& table) {
    return Replacement{nn::AnyModule(quantized::Embedding(table_of(table, table.weight, table.weight_fake_quant)))};
  });
  mapping.set<nn::qat::EmbeddingBagImpl>([](nn::qat::EmbeddingBagImpl& bag) {
    return quantized_bag(table_of(bag, bag.weight, bag.weight_fake_quant), bag.options());
  });
}

}  // namespace torch::quantization::detail
