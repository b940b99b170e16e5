// LSTM and attention made of layers that are observed and quantized one by one: torch.ao.nn.quantizable. prepare() puts
// them in the place of nn::LSTM and nn::MultiheadAttention; convert() makes nn::quantized::LSTM and MultiheadAttention
// of them, on quantized tensors, which are the same but for what their layers are.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "nn/layers/attention.h"
#include "nn/layers/rnn.h"
#include "nn/module/any_module.h"
#include "nn/module/module_list.h"
#include "quantization/eager/stubs.h"

namespace torch::nn::quantizable {

/// A module of layers and of arithmetic (FloatFunctional), children that are called as what they are at the time:
/// float, observed, trained or quantized.
class ModuleOfParts : public virtual Module {
 protected:
  void add_layer(const std::string& name, AnyModule layer);
  void add_arithmetic(const std::string& name);
  at::Tensor call(const std::string& name, const at::Tensor& x) { return layers_.at(name).forward(x); }
  nn::quantized::FloatFunctionalImpl& arithmetic(const std::string& name) { return *arithmetic_.at(name); }
  /// The same children, or clones of them, in the place of one's own.
  void share_parts(const ModuleOfParts& other);
  void clone_parts(const ModuleOfParts& other, const std::optional<c10::Device>& device);
  void on_set_child(const std::string& name, const std::shared_ptr<Module>& child) override;
  void on_set_any_child(const std::string& name, const AnyModule& child) override;

 private:
  std::map<std::string, AnyModule> layers_;
  std::map<std::string, nn::quantized::FloatFunctional> arithmetic_;
};

/// One step of an LSTM, called as nn::LSTMCell is. Children: igates and hgates, Linear of the four gates' rows (input,
/// forget, cell, output); input_gate, forget_gate and output_gate, Sigmoid; cell_gate, Tanh; and gates, fgate_cx,
/// igate_cgate, fgate_cx_igate_cgate and ogate_cy, the arithmetic between them. Without states they are zeros.
class LSTMCellImpl : public ModuleOfParts, public Cloneable<LSTMCellImpl> {
 public:
  using States = std::tuple<at::Tensor, at::Tensor>;

  LSTMCellImpl(int64_t input_size, int64_t hidden_size) : LSTMCellImpl(LSTMCellOptions(input_size, hidden_size)) {}
  explicit LSTMCellImpl(const LSTMCellOptions& options) : LSTMCellImpl(nn::LSTMCellImpl(options)) {}
  /// With the float cell's own parameters.
  explicit LSTMCellImpl(const nn::LSTMCellImpl& of);
  /// With these, biases undefined or not.
  LSTMCellImpl(const at::Tensor& weight_ih, const at::Tensor& weight_hh, const at::Tensor& bias_ih,
               const at::Tensor& bias_hh);
  /// `x`: [batch, input_size].
  States forward(const at::Tensor& x, std::optional<States> states = {});
  std::shared_ptr<Module> clone(const std::optional<c10::Device>& device = std::nullopt) const override;
  void reset() override {}

  LSTMCellOptions options;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<States>())})
};
TORCH_MODULE(LSTMCell);

/// Layers of cells, called as nn::LSTM is. Children: "layers", of which number k has "layer_fw" and, where
/// bidirectional, "layer_bw", with an LSTMCell, "cell", each. Dropout between the layers is left out. kQuantized:
/// nn::quantized::LSTM, whose input and states, like its results, are quantized.
template <bool kQuantized>
class LSTMOf : public Cloneable<LSTMOf<kQuantized>> {
 public:
  using States = std::tuple<at::Tensor, at::Tensor>;

  LSTMOf(int64_t input_size, int64_t hidden_size) requires(!kQuantized)
      : LSTMOf(LSTMOptions(input_size, hidden_size)) {}
  explicit LSTMOf(const LSTMOptions& options) requires(!kQuantized) : LSTMOf(nn::LSTMImpl(options)) {}
  /// With the float layer's own parameters. Throws NotImplementedError for projections.
  explicit LSTMOf(const nn::LSTMImpl& of) requires(!kQuantized);
  /// With the layers of one that was observed, which convert() quantizes.
  explicit LSTMOf(const LSTMOf<false>& observed) requires kQuantized;
  LSTMOf(const LSTMOf&) = default;
  LSTMOf& operator=(const LSTMOf&) = default;
  std::tuple<at::Tensor, States> forward(const at::Tensor& x, std::optional<States> states = {});
  void reset() override;

  LSTMOptions options;
  ModuleList layers;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<States>())})

 private:
  LSTMCellImpl& cell(int64_t layer, bool backward) const;
};
extern template class LSTMOf<false>;
extern template class LSTMOf<true>;
using LSTMImpl = LSTMOf<false>;
TORCH_MODULE(LSTM);

/// Called as nn::MultiheadAttention is, with a batch. Children: linear_Q, linear_K, linear_V and out_proj, Linear;
/// q_scaling_product, arithmetic; dequant_q, dequant_k and dequant_v, behind which attention is computed in float, and
/// the stubs quant_attn_output and quant_attn_output_weights for its results. bias_k and bias_v stay float. kQuantized:
/// nn::quantized::MultiheadAttention, whose inputs, like its results, are quantized.
template <bool kQuantized>
class MultiheadAttentionOf : public ModuleOfParts, public Cloneable<MultiheadAttentionOf<kQuantized>> {
 public:
  MultiheadAttentionOf(int64_t embed_dim, int64_t num_heads) requires(!kQuantized)
      : MultiheadAttentionOf(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  explicit MultiheadAttentionOf(const MultiheadAttentionOptions& options) requires(!kQuantized)
      : MultiheadAttentionOf(nn::MultiheadAttentionImpl(options)) {}
  /// With copies of the float layer's parameters, and its own out_proj's, bias_k and bias_v.
  explicit MultiheadAttentionOf(const nn::MultiheadAttentionImpl& of) requires(!kQuantized);
  /// With the layers of one that was observed, which convert() quantizes.
  explicit MultiheadAttentionOf(const MultiheadAttentionOf<false>& observed) requires kQuantized;
  MultiheadAttentionOf(const MultiheadAttentionOf&) = default;
  MultiheadAttentionOf& operator=(const MultiheadAttentionOf&) = default;
  /// Output and, with `need_weights`, the attention's weights. Throws NotImplementedError where `is_causal`, ValueError
  /// for masks of other sizes and inputs without a batch.
  std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                             const at::Tensor& key_padding_mask = {}, bool need_weights = true,
                                             const at::Tensor& attn_mask = {}, bool average_attn_weights = true,
                                             bool is_causal = false);
  std::shared_ptr<Module> clone(const std::optional<c10::Device>& device = std::nullopt) const override;
  void reset() override {}

  MultiheadAttentionOptions options;
  at::Tensor bias_k, bias_v;

 protected:
  TORCH_MODULE_TENSORS(bias_k, bias_v)
  FORWARD_HAS_DEFAULT_ARGS({3, AnyValue(at::Tensor())}, {4, AnyValue(true)}, {5, AnyValue(at::Tensor())},
                           {6, AnyValue(true)}, {7, AnyValue(false)})

 private:
  MultiheadAttentionOf(const char* name, const MultiheadAttentionOptions& options);
  void set_biases(const at::Tensor& k, const at::Tensor& v);
};
extern template class MultiheadAttentionOf<false>;
extern template class MultiheadAttentionOf<true>;
using MultiheadAttentionImpl = MultiheadAttentionOf<false>;
TORCH_MODULE(MultiheadAttention);

}  // namespace torch::nn::quantizable

namespace torch::nn::quantized {
using LSTMImpl = nn::quantizable::LSTMOf<true>;
TORCH_MODULE(LSTM);
using MultiheadAttentionImpl = nn::quantizable::MultiheadAttentionOf<true>;
TORCH_MODULE(MultiheadAttention);
}  // namespace torch::nn::quantized
