// RNN, LSTM, GRU and their cells by name.
#include "nn/layers/rnn.h"
#include "nn/utils/rnn.h"
#include "tests/recorded/module_options.h"

namespace recorded {

namespace nn = torch::nn;
using at::Tensor;
using nn::utils::rnn::PackedSequence;

namespace {

template <typename Options>
Options recurrent(const Json& c) {
  return Options(integer_of(c, "input_size", 1), integer_of(c, "hidden_size", 1))
      .num_layers(integer_of(c, "num_layers", 1))
      .bias(flag_of(c, "bias", true))
      .batch_first(flag_of(c, "batch_first", false))
      .dropout(number_of(c, "dropout", 0))
      .bidirectional(flag_of(c, "bidirectional", false));
}

bool is_packed(const Call& call) {
  return call.raw->at(0).is_object() && call.raw->at(0).contains("packed_sequence");
}

// The inputs behind the sequence: one hidden state, a pair of them, or none.
void take(const Call& call, size_t first, Tensor& hx) {
  if (call.inputs.size() > first) hx = call.inputs[first];
}
void take(const Call& call, size_t first, std::optional<std::tuple<Tensor, Tensor>>& hx) {
  if (call.inputs.size() > first) hx = std::make_tuple(call.inputs.at(first), call.inputs.at(first + 1));
}
void put(const Tensor& hx, Tensors& all) {
  all.push_back(hx);
}
void put(const std::tuple<Tensor, Tensor>& hx, Tensors& all) {
  all.push_back(std::get<0>(hx));
  all.push_back(std::get<1>(hx));
}

template <typename Hidden, typename Holder>
Built sequence_layer(Holder holder) {
  return {holder.ptr(), [holder](const Call& call) mutable -> Tensors {
            Hidden hx;
            Tensors all;
            if (is_packed(call)) {
              take(call, 4, hx);
              const PackedSequence x(call.inputs.at(0), call.inputs.at(1), call.inputs.at(2), call.inputs.at(3));
              const auto [y, h] = holder->forward_with_packed_input(x, hx);
              all = {y.data(), y.batch_sizes(), y.sorted_indices(), y.unsorted_indices()};
              put(h, all);
            } else {
              take(call, 1, hx);
              const auto [y, h] = holder->forward(call.inputs.at(0), hx);
              all = {y};
              put(h, all);
            }
            return all;
          }};
}

template <typename Hidden, typename Holder>
Built cell(Holder holder) {
  return {holder.ptr(), [holder](const Call& call) mutable -> Tensors {
            Hidden hx;
            take(call, 1, hx);
            Tensors all;
            put(holder->forward(call.inputs.at(0), hx), all);
            return all;
          }};
}

}  // namespace

Built build_recurrent(const std::string& name, const Json& c) {
  using Pair = std::optional<std::tuple<Tensor, Tensor>>;
  const int64_t input = integer_of(c, "input_size", 1), hidden = integer_of(c, "hidden_size", 1);
  const bool bias = flag_of(c, "bias", true);
  const std::string nonlinearity = text_of(c, "nonlinearity", "tanh");
  const bool relu = nonlinearity == "relu";
  if (!relu && nonlinearity != "tanh") refuse_value("nonlinearity", nonlinearity);
  if (name == "RNN") {
    auto options = recurrent<nn::RNNOptions>(c);
    if (relu) options.nonlinearity(torch::kReLU);
    return sequence_layer<Tensor>(nn::RNN(options));
  }
  if (name == "GRU") return sequence_layer<Tensor>(nn::GRU(recurrent<nn::GRUOptions>(c)));
  if (name == "LSTM")
    return sequence_layer<Pair>(nn::LSTM(recurrent<nn::LSTMOptions>(c).proj_size(integer_of(c, "proj_size", 0))));
  if (name == "RNNCell") {
    auto options = nn::RNNCellOptions(input, hidden).bias(bias);
    if (relu) options.nonlinearity(torch::kReLU);
    return cell<Tensor>(nn::RNNCell(options));
  }
  if (name == "GRUCell") return cell<Tensor>(nn::GRUCell(nn::GRUCellOptions(input, hidden).bias(bias)));
  if (name == "LSTMCell") return cell<Pair>(nn::LSTMCell(nn::LSTMCellOptions(input, hidden).bias(bias)));
  return {};
}

}  // namespace recorded
