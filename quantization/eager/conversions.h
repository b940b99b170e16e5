// What makers of replacements share. For the files of this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "aten/core/tensor.h"
#include "quantization/eager/mappings.h"

namespace torch::quantization::detail {

struct ActivationQParams {
  double scale;
  int64_t zero_point;
};
/// What the module's observer chooses. Throws ValueError where there is none, or it chooses several.
ActivationQParams activation(nn::Module& module);
/// Throws ValueError where it has none.
QConfig chosen(const nn::Module& module);
/// A new one of the module's QConfig.
std::shared_ptr<ObserverBase> weight_observer(const nn::Module& module);
/// QInt8, by what the observer chooses.
at::Tensor quantized_as(const at::Tensor& weight, ObserverBase& observer);
/// The same after the observer, by default a new one, has seen the weight.
at::Tensor observed(const nn::Module& module, const at::Tensor& weight, ObserverBase* observer = nullptr);

/// Embedding and EmbeddingBag.
void set_tables(ModuleMapping& mapping);
/// Those of training.
void set_trained_tables(ModuleMapping& mapping);
/// Undefined where the list is shorter.
at::Tensor at_or_none(const std::vector<at::Tensor>& list, size_t i);
/// As hooks see the arguments of an optional pair behind the first: two, or one undefined.
std::optional<std::tuple<at::Tensor, at::Tensor>> pair_or_none(const std::vector<at::Tensor>& list);
/// A call of an LSTM, as hooks see it.
template <class LSTM>
std::vector<at::Tensor> call_lstm(LSTM& lstm, const std::vector<at::Tensor>& in) {
  const auto [y, states] = nn::call_module(lstm, in.at(0), pair_or_none(in));
  return {y, std::get<0>(states), std::get<1>(states)};
}
/// LSTM and MultiheadAttention of nn::quantizable.
void set_custom_modules(ModuleMapping& mapping);
/// A replacement that is called with indices, offsets and weights.
template <class Bag>
Replacement bag_replacement(std::shared_ptr<Bag> made) {
  return {nn::AnyModule(made), [made](const std::vector<at::Tensor>& in) {
            return std::vector<at::Tensor>{nn::call_module(*made, in.at(0), at_or_none(in, 1), at_or_none(in, 2))};
          }};
}

}  // namespace torch::quantization::detail
