// prepare(): modules whose layers are observed in their place; and what convert() makes of them.
#include <memory>
#include <vector>

#include "quantization/eager/conversions.h"
#include "quantization/eager/quantizable.h"

namespace torch::quantization {

using at::Tensor;
namespace quantizable = nn::quantizable;
namespace quantized = nn::quantized;

namespace {

template <class LSTM>
nn::TensorsCall lstm_call(const std::shared_ptr<LSTM>& made) {
  return [made](const std::vector<Tensor>& in) { return detail::call_lstm(*made, in); };
}

ModuleMapping custom_mappings() {
  ModuleMapping mapping;
  mapping.set<nn::LSTMImpl>([](nn::LSTMImpl& of) {
    const auto made = std::make_shared<quantizable::LSTMImpl>(of);
    return Replacement{nn::AnyModule(made), lstm_call(made)};
  });
  mapping.set<nn::MultiheadAttentionImpl>([](nn::MultiheadAttentionImpl& of) {
    const auto made = std::make_shared<quantizable::MultiheadAttentionImpl>(of);
    // Hooks see tensors only: weights are always wanted, and averaged.
    return Replacement{nn::AnyModule(made), [made](const std::vector<Tensor>& in) {
                         const auto [y, weights] =
                             nn::call_module(*made, in.at(0), in.at(1), in.at(2), detail::at_or_none(in, 3), true,
                                             detail::at_or_none(in, 5));
                         return std::vector<Tensor>{y, weights};
                       }};
  });
  return mapping;
}

}  // namespace

const ModuleMapping& get_default_custom_module_mappings() {
  static const ModuleMapping& mapping = *new ModuleMapping(custom_mappings());
  return mapping;
}

void detail::set_custom_modules(ModuleMapping& mapping) {
  mapping.set<quantizable::LSTMImpl>([](quantizable::LSTMImpl& observed) {
    const auto made = std::make_shared<quantized::LSTMImpl>(observed);
    return Replacement{nn::AnyModule(made), lstm_call(made), /*shares_children=*/true};
  });
  mapping.set<quantizable::MultiheadAttentionImpl>([](quantizable::MultiheadAttentionImpl& observed) {
    return Replacement{nn::AnyModule(std::make_shared<quantized::MultiheadAttentionImpl>(observed)), nullptr,
                       /*shares_children=*/true};
  });
}

}  // namespace torch::quantization
