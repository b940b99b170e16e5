// Recurrent layers RNN, LSTM and GRU, and their cells.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "nn/module/any_module.h"
#include "nn/module/cloneable.h"
#include "nn/options/rnn.h"
#include "nn/utils/rnn.h"

namespace torch::nn {
namespace detail {

// What RNN, LSTM and GRU share. Parameters for each layer k and, where bidirectional, once more with the suffix
// _reverse: weight_ih_l{k} [gates * hidden_size, input_size], weight_hh_l{k} [gates * hidden_size, hidden_size],
// bias_ih_l{k}, bias_hh_l{k} [gates * hidden_size]; with proj_size weight_hr_l{k} [proj_size, hidden_size]. At first
// all are uniform between -1 / sqrt(hidden_size) and 1 / sqrt(hidden_size).
class RNNLayer : public virtual Module {
 public:
  explicit RNNLayer(const RNNOptionsBase& options_) : options_base(options_) {}
  void reset_parameters();
  // Makes CUDA parameters parts of one buffer, in the order in which cuDNN reads them, so that forward() copies none.
  // Done by to(). Where they are not all on one device, of one dtype and with memory of their own, and on the CPU,
  // where layers pack weights as they need them, there is nothing to do.
  void flatten_parameters();
  // All weights, in the order of registration.
  std::vector<at::Tensor> all_weights() const;
  void pretty_print(std::ostream& stream) const override;

  RNNOptionsBase options_base;

 protected:
  void make_parameters();
  void convert(const std::optional<c10::Device>& device, const std::optional<Dtype>& dtype, bool non_blocking) override;
  // Registered weights are their own members; those that are computed stand beside.
  at::Tensor* tensor_member(const std::string& name) override;
  // The input with a batch dimension, and the states, zeros where none were given, for the operator.
  struct Call {
    at::Tensor input, batch_sizes;
    std::vector<at::Tensor> states;
    bool batched;
  };
  Call begin(const at::Tensor& input, const std::vector<at::Tensor>& states) const;
  Call begin(const utils::rnn::PackedSequence& input, const std::vector<at::Tensor>& states) const;
  // Result and states as the caller gave input and states.
  std::vector<at::Tensor> run(const Call& call) const;
  std::tuple<at::Tensor, at::Tensor> run_one(const at::Tensor& input, const at::Tensor& hx) const;
  std::tuple<utils::rnn::PackedSequence, at::Tensor> run_one(const utils::rnn::PackedSequence& input,
                                                             const at::Tensor& hx) const;

 private:
  OrderedDict<std::string, at::Tensor> computed_weights_;
  void check_input(const at::Tensor& input) const;
  void check_states(const std::vector<at::Tensor>& states, int64_t batch, bool batched) const;
  std::vector<at::Tensor> states_or_zeros(const std::vector<at::Tensor>& states, const at::Tensor& input,
                                          int64_t batch) const;
};

template <typename Derived>
class RNNImplBase : public RNNLayer, public Cloneable<Derived> {
 public:
  explicit RNNImplBase(const RNNOptionsBase& options_) : RNNLayer(options_) { make_parameters(); }
  void reset() override { make_parameters(); }
};

// What the cells share: weight_ih [gates * hidden_size, input_size], weight_hh [gates * hidden_size, hidden_size] and
// with bias bias_ih, bias_hh [gates * hidden_size].
class RNNCellLayer : public virtual Module {
 public:
  explicit RNNCellLayer(const RNNCellOptionsBase& options_) : options_base(options_) {}
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  RNNCellOptionsBase options_base;
  at::Tensor weight_ih;
  at::Tensor weight_hh;
  at::Tensor bias_ih;
  at::Tensor bias_hh;

 protected:
  TORCH_MODULE_TENSORS(weight_ih, weight_hh, bias_ih, bias_hh)
  void make_parameters();
  // Checks them and gives [batch, features]; zeros for a state that is undefined.
  at::Tensor batched_input(const at::Tensor& input) const;
  at::Tensor batched_state(const at::Tensor& input, const at::Tensor& state, const char* label) const;
  virtual std::string get_nonlinearity_str() const;
};

template <typename Derived>
class RNNCellImplBase : public RNNCellLayer, public Cloneable<Derived> {
 public:
  explicit RNNCellImplBase(const RNNCellOptionsBase& options_) : RNNCellLayer(options_) { make_parameters(); }
  void reset() override { make_parameters(); }
};

}  // namespace detail

// h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), or relu. Input [steps, batch, input_size] (batch_first: [batch,
// steps, input_size]; without a batch [steps, input_size]) and a state [num_layers * directions, batch, hidden_size],
// zeros where undefined; gives [steps, batch, directions * hidden_size] and the last state.
//
//   RNN rnn(RNNOptions(4, 5).num_layers(2));
//   auto [output, state] = rnn(torch::randn({7, 3, 4}));
class RNNImpl : public detail::RNNImplBase<RNNImpl> {
 public:
  RNNImpl(int64_t input_size, int64_t hidden_size) : RNNImpl(RNNOptions(input_size, hidden_size)) {}
  explicit RNNImpl(const RNNOptions& options_);
  std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& input, at::Tensor hx = {});
  std::tuple<utils::rnn::PackedSequence, at::Tensor> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, at::Tensor hx = {});

  RNNOptions options;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(at::Tensor())})
};
TORCH_COMPILED_MODULE(RNN);

// i, f, o = sigmoid(..), g = tanh(..) of W_ih x_t + b_ih + W_hh h_(t-1) + b_hh; c_t = f c_(t-1) + i g; h_t = o
// tanh(c_t), with proj_size W_hr (o tanh(c_t)). Sizes as RNN's; the states are (h [.., proj_size or hidden_size], c
// [.., hidden_size]).
class LSTMImpl : public detail::RNNImplBase<LSTMImpl> {
 public:
  using States = std::tuple<at::Tensor, at::Tensor>;

  LSTMImpl(int64_t input_size, int64_t hidden_size) : LSTMImpl(LSTMOptions(input_size, hidden_size)) {}
  explicit LSTMImpl(const LSTMOptions& options_);
  std::tuple<at::Tensor, States> forward(const at::Tensor& input, std::optional<States> hx_opt = {});
  std::tuple<utils::rnn::PackedSequence, States> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, std::optional<States> hx_opt = {});

  LSTMOptions options;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<States>())})
};
TORCH_COMPILED_MODULE(LSTM);

// r, z = sigmoid(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh); n = tanh(W_in x_t + b_in + r (W_hn h_(t-1) + b_hn));
// h_t = (1 - z) n + z h_(t-1). Sizes as RNN's.
class GRUImpl : public detail::RNNImplBase<GRUImpl> {
 public:
  GRUImpl(int64_t input_size, int64_t hidden_size) : GRUImpl(GRUOptions(input_size, hidden_size)) {}
  explicit GRUImpl(const GRUOptions& options_);
  std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& input, at::Tensor hx = {});
  std::tuple<utils::rnn::PackedSequence, at::Tensor> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, at::Tensor hx = {});

  GRUOptions options;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(at::Tensor())})
};
TORCH_COMPILED_MODULE(GRU);

// One step of an RNN: input [batch, input_size] or [input_size], state [batch, hidden_size] or [hidden_size], zeros
// where undefined; gives the new state.
class RNNCellImpl : public detail::RNNCellImplBase<RNNCellImpl> {
 public:
  RNNCellImpl(int64_t input_size, int64_t hidden_size) : RNNCellImpl(RNNCellOptions(input_size, hidden_size)) {}
  explicit RNNCellImpl(const RNNCellOptions& options_);
  at::Tensor forward(const at::Tensor& input, const at::Tensor& hx = {});

  RNNCellOptions options;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(at::Tensor())})
  std::string get_nonlinearity_str() const override;
};
TORCH_COMPILED_MODULE(RNNCell);

// One step of an LSTM: gives the new (h, c).
class LSTMCellImpl : public detail::RNNCellImplBase<LSTMCellImpl> {
 public:
  using States = std::tuple<at::Tensor, at::Tensor>;

  LSTMCellImpl(int64_t input_size, int64_t hidden_size) : LSTMCellImpl(LSTMCellOptions(input_size, hidden_size)) {}
  explicit LSTMCellImpl(const LSTMCellOptions& options_);
  States forward(const at::Tensor& input, std::optional<States> hx_opt = {});

  LSTMCellOptions options;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<States>())})
};
TORCH_COMPILED_MODULE(LSTMCell);

// One step of a GRU.
class GRUCellImpl : public detail::RNNCellImplBase<GRUCellImpl> {
 public:
  GRUCellImpl(int64_t input_size, int64_t hidden_size) : GRUCellImpl(GRUCellOptions(input_size, hidden_size)) {}
  explicit GRUCellImpl(const GRUCellOptions& options_);
  at::Tensor forward(const at::Tensor& input, const at::Tensor& hx = {});

  GRUCellOptions options;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(at::Tensor())})
};
TORCH_COMPILED_MODULE(GRUCell);

}  // namespace torch::nn
