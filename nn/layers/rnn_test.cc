// Recurrent layers and packed sequences: PyTorch's recorded numbers (testdata/record_rnn.py), errors, containers.
#include "nn/layers/rnn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "c10/testing/message_of.h"
#include "nn/module/sequential.h"
#include "nn/module/state_dict.h"

namespace torch::nn {
namespace {

using c10::testing::message_of;
namespace rnn = utils::rnn;
using Tensors = std::vector<at::Tensor>;

std::ifstream recorded() {
  const char* other = std::getenv("RNN_CASES");
  std::ifstream in(other != nullptr ? other : "nn/layers/testdata/rnn_cases.txt");
  EXPECT_TRUE(in.good());
  return in;
}

// "2 3 1 0.5 ..": three rows of one number. "-1": no tensor.
at::Tensor read_tensor(std::istream& in, at::ScalarType dtype) {
  int64_t dims = 0;
  in >> dims;
  if (dims < 0) return {};
  std::vector<int64_t> sizes(static_cast<size_t>(dims));
  for (int64_t& s : sizes) in >> s;
  at::Tensor t = at::empty(sizes, at::TensorOptions().dtype(at::kDouble));
  for (int64_t i = 0; i < t.numel(); ++i) {
    std::string word;
    in >> word;
    t.data_ptr<double>()[i] = std::strtod(word.c_str(), nullptr);
  }
  return at::to(t, dtype);
}

void expect_close(const at::Tensor& got, const at::Tensor& wanted, double tolerance, const std::string& what) {
  ASSERT_TRUE(got.defined() && wanted.defined()) << what;
  ASSERT_EQ(got.sizes(), wanted.sizes()) << what;
  const at::Tensor a = at::contiguous(at::to(got, at::kDouble)), e = at::contiguous(at::to(wanted, at::kDouble));
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double x = a.data_ptr<double>()[i], y = e.data_ptr<double>()[i];
    EXPECT_LE(std::abs(x - y), tolerance * (1 + std::abs(y))) << what << " " << i;
  }
}

struct Case {
  std::string id, name;
  int64_t input = 0, hidden = 0, layers = 0, proj = 0;
  bool bias = false, batch_first = false, bidirectional = false, relu = false;
  double dropout = 0;
  uint64_t seed = 0;
  int64_t then[2] = {0, 0};
};

Case read_case(std::istream& in) {
  Case c;
  in >> c.id >> c.name >> c.input >> c.hidden >> c.layers >> c.bias >> c.batch_first >> c.bidirectional >> c.dropout >>
      c.proj >> c.relu >> c.seed >> c.then[0] >> c.then[1];
  return c;
}

template <typename Options>
Options stacked(const Case& c) {
  return Options(c.input, c.hidden)
      .num_layers(c.layers)
      .bias(c.bias)
      .batch_first(c.batch_first)
      .bidirectional(c.bidirectional)
      .dropout(c.dropout);
}

std::shared_ptr<Module> make(const Case& c) {
  if (c.name == "RNN") {
    RNNOptions o = stacked<RNNOptions>(c);
    if (c.relu) o.nonlinearity(torch::kReLU);
    return std::make_shared<RNNImpl>(o);
  }
  if (c.name == "LSTM") return std::make_shared<LSTMImpl>(stacked<LSTMOptions>(c).proj_size(c.proj));
  if (c.name == "GRU") return std::make_shared<GRUImpl>(stacked<GRUOptions>(c));
  if (c.name == "LSTMCell") return std::make_shared<LSTMCellImpl>(LSTMCellOptions(c.input, c.hidden).bias(c.bias));
  if (c.name == "GRUCell") return std::make_shared<GRUCellImpl>(GRUCellOptions(c.input, c.hidden).bias(c.bias));
  RNNCellOptions o = RNNCellOptions(c.input, c.hidden).bias(c.bias);
  if (c.relu) o.nonlinearity(torch::kReLU);
  return std::make_shared<RNNCellImpl>(o);
}

using Pair = std::optional<std::tuple<at::Tensor, at::Tensor>>;
Pair pair_of(const Tensors& in, size_t first) {
  return in.size() > first ? Pair(std::make_tuple(in[first], in[first + 1])) : std::nullopt;
}
at::Tensor state_of(const Tensors& in, size_t first) {
  return in.size() > first ? in[first] : at::Tensor();
}

template <typename Output>
Tensors listed(const std::tuple<Output, at::Tensor>& r) {
  return {std::get<0>(r), std::get<1>(r)};
}
template <typename Output>
Tensors listed(const std::tuple<Output, std::tuple<at::Tensor, at::Tensor>>& r) {
  return {std::get<0>(r), std::get<0>(std::get<1>(r)), std::get<1>(std::get<1>(r))};
}
Tensors with_parts(const rnn::PackedSequence& p, const Tensors& states) {
  Tensors all{p.data(), p.batch_sizes(), p.sorted_indices(), p.unsorted_indices()};
  all.insert(all.end(), states.begin(), states.end());
  return all;
}

// Results in the order of the recording; of a packed sequence its four parts.
Tensors call(Module& module, const Tensors& in, bool packed) {
  if (auto* cell = module.as<RNNCellImpl>()) return {cell->forward(in[0], state_of(in, 1))};
  if (auto* cell = module.as<GRUCellImpl>()) return {cell->forward(in[0], state_of(in, 1))};
  if (auto* cell = module.as<LSTMCellImpl>()) {
    const auto [h, c] = cell->forward(in[0], pair_of(in, 1));
    return {h, c};
  }
  auto* lstm = module.as<LSTMImpl>();
  auto* gru = module.as<GRUImpl>();
  auto* plain = module.as<RNNImpl>();
  if (!packed) {
    if (lstm != nullptr) return listed(lstm->forward(in[0], pair_of(in, 1)));
    return listed(gru != nullptr ? gru->forward(in[0], state_of(in, 1)) : plain->forward(in[0], state_of(in, 1)));
  }
  const rnn::PackedSequence sequence(in[0], in[1], in[2], in[3]);
  if (lstm != nullptr) {
    const auto [output, states] = lstm->forward_with_packed_input(sequence, pair_of(in, 4));
    return with_parts(output, {std::get<0>(states), std::get<1>(states)});
  }
  const auto [output, h] = gru != nullptr ? gru->forward_with_packed_input(sequence, state_of(in, 4))
                                          : plain->forward_with_packed_input(sequence, state_of(in, 4));
  return with_parts(output, {h});
}

at::Tensor cotangent(const at::Tensor& like, int64_t k) {
  at::Tensor t = at::empty(like.sizes(), at::TensorOptions().dtype(at::kDouble));
  for (int64_t i = 0; i < t.numel(); ++i) {
    t.data_ptr<double>()[i] = static_cast<double>((7 * i + 3 * k + 3) % 11 - 5) / 8;
  }
  return t;
}

void replay_run(std::istream& in, Module& module, const std::string& id) {
  std::string mode, word;
  int64_t seed = -1;
  bool packed = false;
  in >> mode >> seed >> packed;
  Tensors inputs, outputs, grad_inputs, leaves, results, cotangents;
  std::vector<std::pair<std::string, at::Tensor>> grads;
  while (in >> word && word != "end") {
    if (word == "grad") {
      std::string name;
      in >> name;
      grads.emplace_back(name, read_tensor(in, at::kDouble));
      continue;
    }
    Tensors& list = word == "input" ? inputs : word == "output" ? outputs : grad_inputs;
    const bool index = packed && &list != &grad_inputs && list.size() >= 1 && list.size() < 4;
    list.push_back(read_tensor(in, index ? at::kLong : at::kDouble));
  }
  module.zero_grad();
  module.train(mode != "eval");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (packed && i >= 1 && i < 4) continue;
    inputs[i].set_requires_grad(true);
    leaves.push_back(inputs[i]);
  }
  if (seed >= 0) at::manual_seed(static_cast<uint64_t>(seed));
  const Tensors got = call(module, inputs, packed);
  ASSERT_EQ(got.size(), outputs.size()) << id;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!outputs[i].defined()) {
      EXPECT_FALSE(got[i].defined()) << id;
      continue;
    }
    expect_close(got[i], outputs[i], 1e-7, id + " output " + std::to_string(i));
    if (!got[i].requires_grad()) continue;
    cotangents.push_back(cotangent(got[i], static_cast<int64_t>(results.size())));
    results.push_back(got[i]);
  }
  autograd::backward(results, cotangents);
  ASSERT_EQ(leaves.size(), grad_inputs.size()) << id;
  for (size_t i = 0; i < leaves.size(); ++i) {
    expect_close(leaves[i].grad(), grad_inputs[i], 1e-6, id + " gradient of input " + std::to_string(i));
  }
  for (const auto& [name, wanted] : grads)
    expect_close(module.get_parameter(name).grad(), wanted, 1e-6, id + " gradient of " + name);
}

TEST(Recurrent, NumbersOfPyTorch) {
  std::ifstream in = recorded();
  std::shared_ptr<Module> module;
  std::string word;
  Case c;
  size_t parameters = 0;
  int cases = 0;
  while (in >> word && word != "pack" && word != "pad" && word != "sequence") {
    if (word == "case") {
      c = read_case(in);
      at::manual_seed(c.seed);
      module = make(c);
      // What randint gives for a range of 2^30 next.
      auto* generator = at::check_generator<at::CPUGeneratorImpl>(at::detail::getDefaultCPUGenerator());
      for (const int64_t next : c.then)
        EXPECT_EQ(static_cast<int64_t>(generator->random64() % (1 << 30)), next) << c.id;
      parameters = 0;
      ++cases;
    } else if (word == "parameter") {
      std::string name;
      in >> name;
      const auto named = module->named_parameters();
      ASSERT_LT(parameters, named.size()) << c.id;
      EXPECT_EQ(named[parameters].key(), name) << c.id;
      expect_close(named[parameters].value(), read_tensor(in, at::kFloat), 0, c.id + " " + name);
      ++parameters;
    } else {
      EXPECT_EQ(module->parameters().size(), parameters) << c.id;
      module->to(at::kDouble);
      replay_run(in, *module, c.id);
    }
  }
  EXPECT_GE(cases, 12);
}

Tensors read_until_end(std::istream& in, std::vector<bool> integers) {
  Tensors all;
  std::string word;
  while (in >> word && word != "end") {
    all.push_back(read_tensor(in, all.size() < integers.size() && integers[all.size()] ? at::kLong : at::kDouble));
  }
  return all;
}

void expect_packed(const rnn::PackedSequence& got, const Tensors& wanted, size_t first, const std::string& id) {
  const Tensors parts = with_parts(got, {});
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].defined(), wanted[first + i].defined()) << id;
    if (parts[i].defined() && wanted[first + i].defined())
      expect_close(parts[i], wanted[first + i], 0, id + " part " + std::to_string(i));
  }
}

TEST(PackedSequence, NumbersOfPyTorch) {
  std::ifstream in = recorded();
  std::string word, id;
  int cases = 0;
  while (in >> word) {
    if (word != "pack" && word != "pad" && word != "sequence") continue;
    in >> id;
    ++cases;
    if (word == "pack") {
      bool batch_first = false, enforce_sorted = false;
      double padding = 0;
      int64_t total = 0, count = 0;
      in >> batch_first >> enforce_sorted >> padding >> total >> count;
      at::Tensor lengths = at::empty({count}, at::TensorOptions().dtype(at::kLong));
      for (int64_t i = 0; i < count; ++i) in >> lengths.data_ptr<int64_t>()[i];
      const Tensors t = read_until_end(in, {false, false, true, true, true});
      const rnn::PackedSequence packed = rnn::pack_padded_sequence(t[0], lengths, batch_first, enforce_sorted);
      expect_packed(packed, t, 1, id);
      const auto [padded, counted] = rnn::pad_packed_sequence(packed, batch_first, padding,
                                                              total < 0 ? std::nullopt : std::optional<int64_t>(total));
      expect_close(padded, t[5], 0, id + " padded");
      expect_close(counted, t[6], 0, id + " lengths");
      const Tensors sequences = rnn::unpack_sequence(packed);
      ASSERT_EQ(sequences.size() + 7, t.size()) << id;
      for (size_t i = 0; i < sequences.size(); ++i) expect_close(sequences[i], t[7 + i], 0, id + " unpacked");
    } else if (word == "pad") {
      bool batch_first = false, unpadded = false;
      double padding = 0;
      std::string side;
      size_t count = 0;
      in >> batch_first >> padding >> side >> count >> unpadded;
      const Tensors t = read_until_end(in, {});
      const Tensors sequences(t.begin(), t.begin() + static_cast<int64_t>(count));
      const at::Tensor padded = rnn::pad_sequence(sequences, batch_first, padding, side);
      expect_close(padded, t.back(), 0, id);
      if (!unpadded) continue;
      at::Tensor lengths = at::empty({static_cast<int64_t>(count)}, at::TensorOptions().dtype(at::kLong));
      for (size_t i = 0; i < count; ++i) lengths.data_ptr<int64_t>()[i] = sequences[i].size(0);
      const Tensors again = rnn::unpad_sequence(padded, lengths, batch_first);
      for (size_t i = 0; i < count; ++i) expect_close(again[i], sequences[i], 0, id + " unpadded");
    } else {
      bool enforce_sorted = false;
      size_t count = 0;
      in >> enforce_sorted >> count;
      std::vector<bool> integers(count + 4, true);
      for (size_t i = 0; i <= count; ++i) integers[i] = false;
      const Tensors t = read_until_end(in, integers);
      const Tensors sequences(t.begin(), t.begin() + static_cast<int64_t>(count));
      expect_packed(rnn::pack_sequence(sequences, enforce_sorted), t, count, id);
    }
  }
  EXPECT_GE(cases, 12);
}

TEST(PackedSequence, Errors) {
  const at::Tensor lengths = at::ones({1}, at::TensorOptions().dtype(at::kLong));
  EXPECT_NE(message_of([&] {
              rnn::pack_padded_sequence(at::ones({3, 2, 1}), lengths, false, false);
            }).find("Expected `len(lengths)` to be equal to batch_size, but got 1"),
            std::string::npos);
  const rnn::PackedSequence packed = rnn::pack_sequence({at::ones({3, 1})});
  EXPECT_THROW(rnn::pad_packed_sequence(packed, false, 0.0, 2), c10::ValueError);
  EXPECT_NE(message_of([&] {
              rnn::pad_packed_sequence(packed, false, 0.0, 2);
            }).find("got total_length=2 and max sequence length being 3"),
            std::string::npos);
  EXPECT_FALSE(rnn::invert_permutation({}).defined());
  EXPECT_EQ(packed.to(at::kDouble).data().scalar_type(), at::kDouble);
  EXPECT_FALSE(packed.is_cuda());
}

TEST(Recurrent, Errors) {
  const auto says = [](const auto& f, const char* text) {
    EXPECT_NE(message_of(f).find(text), std::string::npos) << message_of(f);
  };
  const at::Tensor x = at::ones({3, 2, 2});
  says(
      [&] {
        LSTM(2, 3)->forward(at::ones({3, 2, 4}));
      },
      "input.size(-1) must be equal to input_size. Expected 2, got 4");
  says([&] { LSTM(2, 3)->forward(at::ones({2})); }, "dimensions, got 1");
  says(
      [&] {
        LSTM(2, 3)->forward(x, std::make_tuple(at::ones({1, 9, 3}), at::ones({1, 2, 3})));
      },
      "Expected hidden[0] size [1, 2, 3], got [1, 9, 3]");
  says([&] { GRU(2, 3)->forward(x, at::ones({2, 2, 3})); }, "Expected hidden size [1, 2, 3], got [2, 2, 3]");
  says([&] { LSTM(2, 3)->forward(at::to(x, at::kDouble)); }, "does not match weight dtype");
  EXPECT_THROW(LSTM(LSTMOptions(2, 3).proj_size(3)), c10::ValueError);
  says([] { LSTM(LSTMOptions(2, 3).proj_size(3)); }, "proj_size has to be smaller than hidden_size");
  says([] { LSTM(2, 0); }, "hidden_size must be greater than zero");
  says([] { GRU(GRUOptions(2, 3).num_layers(0)); }, "num_layers must be greater than zero");
  says([] { RNN(RNNOptions(2, 3).dropout(1.5)); }, "dropout should be a number in range [0, 1]");
  says([] { LSTMCell(9, 3)->forward(at::ones({2, 3})); }, "input has inconsistent input_size: got 3 expected 9");
  says([] { GRUCell(2, 3)->forward(at::ones({2, 2}), at::ones({6, 4})); }, "Input batch size 2 doesn't match hidden");
  says(
      [] {
        GRUCell(2, 3)->forward(at::ones({2, 2}), at::ones({2, 4}));
      },
      "has inconsistent hidden_size: got 4, expected 3");
  says([] { RNNCell(2, 3)->forward(at::ones({1, 1, 2})); }, "RNNCell: Expected input to be 1D or 2D, got 3D instead");
}

TEST(Recurrent, Texts) {
  const auto text = [](const auto& module) {
    std::ostringstream out;
    out << module;
    return out.str();
  };
  EXPECT_EQ(text(RNN(RNNOptions(128, 64).num_layers(3).dropout(0.2).nonlinearity(torch::kTanh))),
            "torch::nn::RNN(input_size=128, hidden_size=64, num_layers=3, bias=true, batch_first=false, dropout=0.2, "
            "bidirectional=false)");
  EXPECT_EQ(text(RNN(3, 2)),
            "torch::nn::RNN(input_size=3, hidden_size=2, num_layers=1, bias=true, batch_first=false, dropout=0, "
            "bidirectional=false)");
  EXPECT_EQ(text(LSTM(LSTMOptions(12, 6).num_layers(3).dropout(0.2))),
            "torch::nn::LSTM(input_size=12, hidden_size=6, num_layers=3, bias=true, batch_first=false, dropout=0.2, "
            "bidirectional=false)");
  EXPECT_EQ(text(LSTM(LSTMOptions(3, 2).bidirectional(true).batch_first(true).bias(false))),
            "torch::nn::LSTM(input_size=3, hidden_size=2, num_layers=1, bias=false, batch_first=true, dropout=0, "
            "bidirectional=true)");
  EXPECT_EQ(text(LSTM(LSTMOptions(4, 3).proj_size(2))),
            "torch::nn::LSTM(input_size=4, hidden_size=3, num_layers=1, bias=true, batch_first=false, dropout=0, "
            "bidirectional=false, proj_size=2)");
  EXPECT_EQ(text(GRU(GRUOptions(12, 6).num_layers(2).dropout(0.5))),
            "torch::nn::GRU(input_size=12, hidden_size=6, num_layers=2, bias=true, batch_first=false, dropout=0.5, "
            "bidirectional=false)");
  EXPECT_EQ(text(RNNCell(RNNCellOptions(20, 10).bias(true).nonlinearity(torch::kReLU))),
            "torch::nn::RNNCell(20, 10, nonlinearity=kReLU)");
  EXPECT_EQ(text(RNNCell(20, 10)), "torch::nn::RNNCell(20, 10)");
  EXPECT_EQ(text(LSTMCell(20, 10)), "torch::nn::LSTMCell(20, 10)");
  EXPECT_EQ(text(LSTMCell(LSTMCellOptions(20, 10).bias(false))), "torch::nn::LSTMCell(20, 10, bias=false)");
  EXPECT_EQ(text(GRUCell(20, 10)), "torch::nn::GRUCell(20, 10)");
}

// A clone has weights of its own, a loaded state is used, and a conversion reaches them.
TEST(Recurrent, ClonesLoadsAndConverts) {
  LSTM a(2, 3), b(2, 3);
  const at::Tensor x = at::ones({2, 1, 2});
  const at::Tensor before = std::get<0>(a(x));
  const auto copy = std::dynamic_pointer_cast<LSTMImpl>(a->clone());
  expect_close(std::get<0>(copy->forward(x)), before, 0, "clone");
  b->load_state_dict(a->state_dict());
  expect_close(std::get<0>(b(x)), before, 0, "loaded");
  b->load_state_dict(a->state_dict(), true, /*assign=*/true);
  {
    c10::NoGradGuard no_grad;
    for (at::Tensor& p : a->parameters()) at::mul_(p, 2.0);
  }
  expect_close(std::get<0>(copy->forward(x)), before, 0, "the clone's weights are its own");
  expect_close(std::get<0>(b(x)), std::get<0>(a(x)), 0, "assigned tensors are shared");
  a->to(at::kDouble);
  EXPECT_EQ(std::get<0>(a(at::to(x, at::kDouble))).scalar_type(), at::kDouble);
  EXPECT_EQ(a->all_weights().size(), 4u);
  a->flatten_parameters();
}

TEST(Recurrent, DoubleBackward) {
  GRU gru(2, 3);
  gru->to(at::kDouble);
  at::Tensor x = at::full({4, 2, 2}, 0.5, at::TensorOptions().dtype(at::kDouble));
  x.set_requires_grad(true);
  const at::Tensor g = autograd::grad({at::sum(std::get<0>(gru(x)))}, {x}, {}, true, true)[0];
  at::sum(at::mul(g, g)).backward();
  EXPECT_TRUE(gru->get_parameter("weight_hh_l0").grad().defined());
  EXPECT_TRUE(x.grad().defined());
}

}  // namespace
}  // namespace torch::nn
