// prepare_qat() and quantize_dynamic(): layers of training, and those that quantize their inputs themselves.
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "nn/layers/attention.h"
#include "nn/layers/rnn.h"
#include "quantization/eager/conversions.h"
#include "quantization/eager/dynamic_layers.h"
#include "quantization/eager/fused.h"
#include "quantization/eager/trained_tables.h"

namespace torch::quantization {

using at::Tensor;
using c10::ScalarType;
namespace quantized = nn::quantized;
namespace intrinsic = nn::intrinsic;
namespace qat = nn::qat;

using detail::at_or_none;
using detail::chosen;
using detail::quantized_as;
using detail::weight_observer;

namespace {

// --- training ---
template <class Layer, class Norm, bool kRelu>
Replacement trained(const nn::Module& module, const Layer& layer, const std::shared_ptr<Norm>& norm) {
  if constexpr (std::is_same_v<Norm, nn::ReLUImpl>) {
    return {nn::AnyModule(std::make_shared<qat::TrainedOf<Layer, void, kRelu>>(layer, nullptr, chosen(module)))};
  } else {
    return {nn::AnyModule(std::make_shared<qat::TrainedOf<Layer, Norm, kRelu>>(layer, norm, chosen(module)))};
  }
}

template <class Part>
std::shared_ptr<Part> shared(Part& part) {
  return std::dynamic_pointer_cast<Part>(part.shared_from_this());
}

template <class Layer, class Norm>
void set_qat(ModuleMapping& mapping) {
  mapping.set<Layer>([](Layer& layer) { return trained<Layer, nn::ReLUImpl, false>(layer, layer, nullptr); });
  using WithReLU = intrinsic::FusedImpl<Layer, nn::ReLUImpl>;
  mapping.set<WithReLU>(
      [](WithReLU& fused) { return trained<Layer, nn::ReLUImpl, true>(fused, fused.template part<0>(), nullptr); });
  using WithNorm = intrinsic::FusedImpl<Layer, Norm>;
  mapping.set<WithNorm>([](WithNorm& fused) {
    return trained<Layer, Norm, false>(fused, fused.template part<0>(), shared(fused.template part<1>()));
  });
  if constexpr (!std::is_same_v<Layer, nn::LinearImpl>) {
    using WithBoth = intrinsic::FusedImpl<Layer, Norm, nn::ReLUImpl>;
    mapping.set<WithBoth>([](WithBoth& fused) {
      return trained<Layer, Norm, true>(fused, fused.template part<0>(), shared(fused.template part<1>()));
    });
  }
}

ModuleMapping qat_mappings() {
  ModuleMapping mapping;
  set_qat<nn::LinearImpl, nn::BatchNorm1dImpl>(mapping);
  set_qat<nn::Conv1dImpl, nn::BatchNorm1dImpl>(mapping);
  set_qat<nn::Conv2dImpl, nn::BatchNorm2dImpl>(mapping);
  set_qat<nn::Conv3dImpl, nn::BatchNorm3dImpl>(mapping);
  return mapping;
}

ModuleMapping embedding_qat_mappings() {
  ModuleMapping mapping = get_default_qat_module_mappings();
  mapping.set<nn::EmbeddingImpl>([](nn::EmbeddingImpl& table) {
    return Replacement{nn::AnyModule(std::make_shared<qat::EmbeddingImpl>(table, chosen(table)))};
  });
  mapping.set<nn::EmbeddingBagImpl>([](nn::EmbeddingBagImpl& bag) {
    return detail::bag_replacement(std::make_shared<qat::EmbeddingBagImpl>(bag, chosen(bag)));
  });
  return mapping;
}

// --- dynamic ---
// Null: half precision.
quantized::dynamic::WeightQuantizer quantizer_of(const nn::Module& module) {
  const ScalarType dtype = weight_observer(module)->dtype();
  if (dtype == ScalarType::Half) return nullptr;
  const QConfig qconfig = chosen(module);
  return [qconfig](const Tensor& weight) {
    const auto observer = qconfig.weight();
    observer->forward(weight);
    return quantized_as(weight, *observer);
  };
}

template <bool kRelu>
Replacement dynamic_linear(const nn::Module& module, const nn::LinearImpl& layer) {
  const auto quantize = quantizer_of(module);
  const Tensor w = at::detach(layer.weight);
  return {nn::AnyModule(std::make_shared<quantized::dynamic::LinearOf<kRelu>>(
      quantize != nullptr ? quantize(w) : w, layer.bias.defined() ? at::detach(layer.bias) : Tensor()))};
}

template <class Layer, class Dynamic, class F>
void set_recurrent(ModuleMapping& mapping, const F& call) {
  mapping.set<Layer>([call](Layer& layer) {
    auto made = std::make_shared<Dynamic>(layer, quantizer_of(layer));
    return Replacement{nn::AnyModule(made), [call, made](const std::vector<Tensor>& in) { return call(*made, in); }};
  });
}

ModuleMapping dynamic_mappings() {
  namespace dynamic = quantized::dynamic;
  ModuleMapping mapping;
  mapping.set<nn::LinearImpl>([](nn::LinearImpl& layer) { return dynamic_linear<false>(layer, layer); });
  mapping.set<intrinsic::LinearReLUImpl>(
      [](intrinsic::LinearReLUImpl& fused) { return dynamic_linear<true>(fused, fused.part<0>()); });
  set_recurrent<nn::LSTMImpl, dynamic::LSTMImpl>(
      mapping, [](dynamic::LSTMImpl& m, const std::vector<Tensor>& in) { return detail::call_lstm(m, in); });
  set_recurrent<nn::GRUImpl, dynamic::GRUImpl>(mapping, [](dynamic::GRUImpl& m, const std::vector<Tensor>& in) {
    const auto [y, state] = nn::call_module(m, in.at(0), at_or_none(in, 1));
    return std::vector<Tensor>{y, state};
  });
  set_recurrent<nn::LSTMCellImpl, dynamic::LSTMCellImpl>(
      mapping, [](dynamic::LSTMCellImpl& m, const std::vector<Tensor>& in) {
        const auto [h, c] = nn::call_module(m, in.at(0), detail::pair_or_none(in));
        return std::vector<Tensor>{h, c};
      });
  const auto one_state = [](auto& m, const std::vector<Tensor>& in) {
    return std::vector<Tensor>{nn::call_module(m, in.at(0), at_or_none(in, 1))};
  };
  set_recurrent<nn::GRUCellImpl, dynamic::GRUCellImpl>(mapping, one_state);
  set_recurrent<nn::RNNCellImpl, dynamic::RNNCellImpl>(mapping, one_state);
  detail::set_tables(mapping);
  return mapping;
}

// f(tag) for Conv1d to 3d and Linear with the norm of theirs.
template <class F>
bool any_layer(const F& f) {
  return f(static_cast<std::tuple<nn::LinearImpl, nn::BatchNorm1dImpl>*>(nullptr), "Linear") ||
         f(static_cast<std::tuple<nn::Conv1dImpl, nn::BatchNorm1dImpl>*>(nullptr), "Conv1d") ||
         f(static_cast<std::tuple<nn::Conv2dImpl, nn::BatchNorm2dImpl>*>(nullptr), "Conv2d") ||
         f(static_cast<std::tuple<nn::Conv3dImpl, nn::BatchNorm3dImpl>*>(nullptr), "Conv3d");
}

template <class M>
bool is_a(const nn::Module& module) {
  return dynamic_cast<const M*>(&module) != nullptr;
}

template <class Layer, class Norm>
bool is_fused(const nn::Module& m) {
  if constexpr (std::is_same_v<Layer, nn::LinearImpl>) {
    if (is_a<intrinsic::LinearLeakyReLUImpl>(m) || is_a<intrinsic::LinearTanhImpl>(m)) return true;
  }
  if constexpr (std::is_same_v<Layer, nn::Conv2dImpl>) {
    if (is_a<intrinsic::ConvAdd2dImpl>(m) || is_a<intrinsic::ConvAddReLU2dImpl>(m)) return true;
  }
  return is_a<intrinsic::FusedImpl<Layer, nn::ReLUImpl>>(m) || is_a<intrinsic::FusedImpl<Layer, Norm>>(m) ||
         is_a<intrinsic::FusedImpl<Layer, Norm, nn::ReLUImpl>>(m);
}

}  // namespace

const ModuleMapping& get_default_qat_module_mappings() {
  static const ModuleMapping& mapping = *new ModuleMapping(qat_mappings());
  return mapping;
}
const ModuleMapping& get_embedding_qat_module_mappings() {
  static const ModuleMapping& mapping = *new ModuleMapping(embedding_qat_mappings());
  return mapping;
}
const ModuleMapping& get_default_dynamic_quant_module_mappings() {
  static const ModuleMapping& mapping = *new ModuleMapping(dynamic_mappings());
  return mapping;
}

nn::AnyModule twin(const nn::Module& module) {
  nn::AnyModule made;
  const auto copy = [&](const auto* known) {
    using Known = std::remove_cv_t<std::remove_pointer_t<decltype(known)>>;
    if (known != nullptr) made = nn::AnyModule(std::make_shared<Known>(*known));
    return known != nullptr;
  };
  any_layer([&]<class Layer, class Norm>(std::tuple<Layer, Norm>*, const char*) {
    return copy(dynamic_cast<const Layer*>(&module)) ||
           copy(dynamic_cast<const intrinsic::FusedImpl<Layer, nn::ReLUImpl>*>(&module));
  });
  return made;
}

bool is_whole(const nn::Module& module) {
  if (is_a<qat::TrainedLayer>(module) || is_a<ObserverBase>(module) || is_a<quantized::FloatFunctionalImpl>(module) ||
      // Its functions take the weights of its layers.
      is_a<nn::MultiheadAttentionImpl>(module) || is_a<intrinsic::BNReLU2dImpl>(module) ||
      is_a<intrinsic::BNReLU3dImpl>(module)) {
    return true;
  }
  return any_layer(
      [&]<class Layer, class Norm>(std::tuple<Layer, Norm>*, const char*) { return is_fused<Layer, Norm>(module); });
}

std::string object_type(const nn::Module& module) {
  std::string name;
  any_layer([&]<class Layer, class Norm>(std::tuple<Layer, Norm>*, const char* text) {
    bool found = is_fused<Layer, Norm>(module) || is_a<qat::TrainedOf<Layer, void, false>>(module) ||
                 is_a<qat::TrainedOf<Layer, void, true>>(module) || is_a<qat::TrainedOf<Layer, Norm, false>>(module);
    if constexpr (!std::is_same_v<Layer, nn::LinearImpl>) {
      found = found || is_a<qat::TrainedOf<Layer, Norm, true>>(module);
    }
    if (found) name = text;
    return found;
  });
  return name.empty() ? nn::detail::class_name(module) : name;
}

}  // namespace torch::quantization
