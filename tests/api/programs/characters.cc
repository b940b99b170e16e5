// An LSTM over characters; packed sequences, cells.
#include <torch/torch.h>

#include <iostream>
#include <map>
#include <string>

#include "tests/api/programs/program.h"

namespace {

struct CharLSTMImpl : torch::nn::Module {
  CharLSTMImpl(int64_t v, int64_t e, int64_t h, int64_t layers)
      : embed(v, e),
        lstm(torch::nn::LSTMOptions(e, h).num_layers(layers).batch_first(true).dropout(0.0)),
        out(h, v),
        ln(torch::nn::LayerNormOptions({h})) {
    register_module("embed", embed);
    register_module("lstm", lstm);
    register_module("out", out);
    register_module("ln", ln);
  }
  std::tuple<torch::Tensor, std::tuple<torch::Tensor, torch::Tensor>> forward(
      torch::Tensor x, torch::optional<std::tuple<torch::Tensor, torch::Tensor>> s = {}) {
    auto e = embed->forward(x);
    auto [o, st] = lstm->forward(e, s);
    return {out(ln(o)), st};
  }
  torch::nn::Embedding embed;
  torch::nn::LSTM lstm;
  torch::nn::Linear out;
  torch::nn::LayerNorm ln;
};
TORCH_MODULE(CharLSTM);
void run() {
  torch::manual_seed(2);
  std::string text = "the quick brown fox jumps over the lazy dog. ";
  std::map<char, int64_t> id;
  std::vector<char> chars;
  for (char c : text)
    if (!id.count(c)) {
      id[c] = chars.size();
      chars.push_back(c);
    }
  std::vector<int64_t> ids;
  for (char c : text) ids.push_back(id[c]);
  auto data = torch::from_blob(ids.data(), {(int64_t)ids.size()}, torch::TensorOptions().dtype(torch::kInt64)).clone();
  CharLSTM m(chars.size(), 8, 16, 2);
  std::cout << m << std::endl;
  torch::optim::RMSprop opt(m->parameters(), torch::optim::RMSpropOptions(5e-3).alpha(0.95).centered(true));
  for (int i = 0; i < 6; ++i) {
    auto x = data.slice(0, 0, 40).view({4, 10}), y = data.slice(0, 1, 41).view({4, 10});
    auto [o, st] = m->forward(x);
    auto loss =
        torch::nn::functional::cross_entropy(o.reshape({-1, o.size(2)}), y.reshape(-1),
                                             torch::nn::functional::CrossEntropyFuncOptions().label_smoothing(0.1));
    opt.zero_grad();
    loss.backward();
    torch::nn::utils::clip_grad_value_(m->parameters(), 0.1);
    opt.step();
    std::cout << loss.item<float>() << " " << std::get<0>(st).sizes() << "\n";
  }
  m->eval();
  torch::InferenceMode guard;
  auto x = torch::full({1, 1}, id['t'], torch::kLong);
  torch::optional<std::tuple<torch::Tensor, torch::Tensor>> st = torch::nullopt;
  std::string s;
  for (int i = 0; i < 20; ++i) {
    auto [o, n] = m->forward(x, st);
    st = n;
    auto p = torch::softmax(o.squeeze() / 0.8, -1);
    x = torch::multinomial(p, 1).view({1, 1});
    s += chars[x.item<int64_t>()];
  }
  std::cout << s << std::endl;
  torch::nn::GRU gru(torch::nn::GRUOptions(3, 4).bidirectional(true));
  auto seqs = std::vector<torch::Tensor>{torch::randn({5, 3}), torch::randn({3, 3}), torch::randn({2, 3})};
  auto padded = torch::nn::utils::rnn::pad_sequence(seqs, false, -1.0);
  auto packed = torch::nn::utils::rnn::pack_padded_sequence(padded, torch::tensor({5, 3, 2}));
  auto [po, hn] = gru->forward_with_packed_input(packed);
  auto [un, len] = torch::nn::utils::rnn::pad_packed_sequence(po);
  std::cout << un.sizes() << len << hn.sizes() << un.sum() << std::endl
            << gru << std::endl
            << packed.batch_sizes() << "\n";
  torch::nn::LSTMCell cell(3, 4);
  auto [h, c] = cell->forward(seqs[0]);
  std::tie(h, c) = cell(seqs[0], std::make_tuple(h, c));
  std::cout << h << c.sum() << cell << "\n";
  torch::nn::RNN rnn(torch::nn::RNNOptions(3, 2).nonlinearity(torch::kReLU));
  std::cout << std::get<0>(rnn(torch::ones({2, 1, 3}))) << rnn << rnn->named_parameters().keys() << "\n";
}

}  // namespace

KINDLING_PROGRAM(characters, run);
