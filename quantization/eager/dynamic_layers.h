// Layers with weights of bytes on float tensors: torch.ao.nn.quantized.dynamic. Inputs are quantized for their own
// range in each call.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "nn/layers/rnn.h"
#include "nn/module/any_module.h"
#include "quantization/eager/quantized_layer.h"

namespace torch::nn::quantized::dynamic {

/// y = x weight^T + bias. State: "scale", "zero_point" (1 and 0), "_packed_params.dtype",
/// "_packed_params._packed_params".
template <bool kRelu>
class LinearOf : public QuantizedLayer, public Cloneable<LinearOf<kRelu>> {
 public:
  /// `weight`: QInt8, or Float, which is kept in half precision.
  LinearOf(const at::Tensor& weight, const at::Tensor& bias);
  at::Tensor forward(const at::Tensor& x);
  at::Tensor weight() const { return std::get<0>(_weight_bias()); }
  at::Tensor bias() const { return std::get<1>(_weight_bias()); }
  std::tuple<at::Tensor, at::Tensor> _weight_bias() const;
  void set_weight_bias(const at::Tensor& weight, const at::Tensor& bias);
  void reset() override {}
  std::string extra_repr() const override;

 protected:
  Parts parts() const override;
  void set_parts(const Parts& parts) override;

 private:
  bool half_ = false;
  c10::IValue packed_;
  std::optional<c10::OperatorHandle> op_;
};
extern template class LinearOf<false>;
extern template class LinearOf<true>;
using LinearImpl = LinearOf<false>;
TORCH_MODULE(Linear);

/// Quantizes a weight; null: it is kept in half precision.
using WeightQuantizer = std::function<at::Tensor(const at::Tensor& weight)>;

/// What LSTM and GRU share. State: "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0" and so on, weights
/// quantized or in half precision. (PyTorch's has objects of its own classes there.)
class RecurrentLayer : public StatefulLayer {
 public:
  nn::detail::RNNOptionsBase options;
  std::string extra_repr() const override;

 protected:
  /// Throws NotImplementedError for projections.
  RecurrentLayer(const nn::detail::RNNLayer& of, const char* op, const WeightQuantizer& quantize);
  Parts parts() const override { return weights_; }
  void set_parts(const Parts& parts) override;
  /// The operator's results. `x`: [steps, batch, features], or with the options' batch first, or without a batch.
  std::vector<at::Tensor> run(const at::Tensor& x, std::vector<at::Tensor> states);

 private:
  void pack();
  c10::OperatorHandle op_;
  bool half_;
  Parts weights_;
  std::vector<c10::IValue> cells_;
};

/// Called as nn::LSTM is.
class LSTMImpl : public RecurrentLayer, public Cloneable<LSTMImpl> {
 public:
  using States = std::tuple<at::Tensor, at::Tensor>;
  LSTMImpl(const nn::LSTMImpl& of, const WeightQuantizer& quantize)
      : RecurrentLayer(of, "aten::quantized_lstm", quantize) {}
  std::tuple<at::Tensor, States> forward(const at::Tensor& x, std::optional<States> states = {});
  void reset() override {}

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<States>())})
};
TORCH_MODULE(LSTM);

/// Called as nn::GRU is.
class GRUImpl : public RecurrentLayer, public Cloneable<GRUImpl> {
 public:
  GRUImpl(const nn::GRUImpl& of, const WeightQuantizer& quantize)
      : RecurrentLayer(of, "aten::quantized_gru", quantize) {}
  std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, at::Tensor state = {});
  void reset() override {}

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(at::Tensor())})
};
TORCH_MODULE(GRU);

/// What the cells share. State: "weight_ih", "weight_hh", "bias_ih", "bias_hh".
class RecurrentCell : public StatefulLayer {
 public:
  nn::detail::RNNCellOptionsBase options;
  std::string extra_repr() const override;

 protected:
  /// Weights of signed bytes: throws NotImplementedError where `quantize` is null.
  RecurrentCell(const nn::detail::RNNCellLayer& of, const std::string& op, const WeightQuantizer& quantize);
  Parts parts() const override { return weights_; }
  void set_parts(const Parts& parts) override;
  std::vector<at::Tensor> run(const at::Tensor& x, std::vector<at::Tensor> states) const;

 private:
  void pack();
  c10::OperatorHandle op_;
  Parts weights_;
  c10::IValue packed_ih_, packed_hh_;
};

/// One step: (h, c).
class LSTMCellImpl : public RecurrentCell, public Cloneable<LSTMCellImpl> {
 public:
  using States = std::tuple<at::Tensor, at::Tensor>;
  LSTMCellImpl(const nn::LSTMCellImpl& of, const WeightQuantizer& quantize)
      : RecurrentCell(of, "quantized::quantized_lstm_cell_dynamic", quantize) {}
  States forward(const at::Tensor& x, std::optional<States> states = {});
  void reset() override {}

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<States>())})
};
TORCH_MODULE(LSTMCell);

/// One step of nn::GRUCell or nn::RNNCell.
class GRUCellImpl : public RecurrentCell, public Cloneable<GRUCellImpl> {
 public:
  GRUCellImpl(const nn::GRUCellImpl& of, const WeightQuantizer& quantize)
      : RecurrentCell(of, "quantized::quantized_gru_cell_dynamic", quantize) {}
  at::Tensor forward(const at::Tensor& x, const at::Tensor& state = {}) { return run(x, {state})[0]; }
  void reset() override {}

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(at::Tensor())})
};
TORCH_MODULE(GRUCell);

class RNNCellImpl : public RecurrentCell, public Cloneable<RNNCellImpl> {
 public:
  RNNCellImpl(const nn::RNNCellImpl& of, const WeightQuantizer& quantize);
  at::Tensor forward(const at::Tensor& x, const at::Tensor& state = {}) { return run(x, {state})[0]; }
  void reset() override {}

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(at::Tensor())})
};
TORCH_MODULE(RNNCell);

}  // namespace torch::nn::quantized::dynamic

namespace torch::nn::intrinsic::quantized::dynamic {
using LinearReLUImpl = nn::quantized::dynamic::LinearOf<true>;
TORCH_MODULE(LinearReLU);
}  // namespace torch::nn::intrinsic::quantized::dynamic
