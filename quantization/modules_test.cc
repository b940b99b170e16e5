// Tables of training and fused layers, against what PyTorch recorded (testdata/record_modules.py), and what they
// refuse.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <torch/torch.h>
#include "aten/testing/testing.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"
#include "quantization/eager/fused.h"
#include "quantization/eager/quantizable.h"
#include "quantization/eager/quantize.h"
#include "quantization/eager/quantized_layers.h"
#include "quantization/eager/quantized_linear.h"
#include "quantization/eager/trained_tables.h"
#include "utils/serialize/safetensors.h"

namespace torch::quantization {
namespace {

using at::Tensor;
using at::testing::sample;
using c10::testing::message_of;
using nlohmann::json;

struct Recorded {
  json cases;
  safetensors::File tensors{"quantization/testdata/modules.safetensors"};
  Recorded() { std::ifstream("quantization/testdata/modules.json") >> cases; }
  Tensor tensor(const json& name) const { return tensors.get(name.get<std::string>()); }
  nn::StateDict state(const json& names) const {
    nn::StateDict all;
    for (const auto& [name, tensor] : names.items()) all.insert(name, this->tensor(tensor));
    return all;
  }
  // f(case) for those of a kind; how many there are.
  template <class F>
  int each(const char* kind, const F& f) const {
    int count = 0;
    for (const json& one : cases) {
      if (one["kind"] != kind) continue;
      SCOPED_TRACE(one["name"].get<std::string>());
      f(one);
      ++count;
    }
    return count;
  }
};

double hex(const json& text) {
  return std::strtod(text.get<std::string>().c_str(), nullptr);
}

double largest_difference(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return INFINITY;
  return at::testing::values(at::max(at::abs(at::sub(at::to(a, at::kDouble), at::to(b, at::kDouble)))))[0];
}

std::vector<std::string> names_of(const json& list) {
  return list.get<std::vector<std::string>>();
}

// --- tables ---
nn::Sequential table_model(const json& kind) {
  nn::Sequential model;
  if (kind == "embedding") {
    model->push_back("0", nn::AnyModule(nn::Embedding(nn::EmbeddingOptions(7, 8).padding_idx(2))));
  } else {
    model->push_back("0", nn::AnyModule(nn::EmbeddingBag(nn::EmbeddingBagOptions(7, 8).mode(torch::kSum))));
  }
  return model;
}

QConfig table_qconfig(const json& name) {
  return name == "default_embedding_qat_qconfig" ? default_embedding_qat_qconfig()
                                                 : default_embedding_qat_qconfig_4bit();
}

Tensor weight_of(nn::Module& module) {
  return dynamic_cast<nn::quantized::TableLayer&>(module).weight();
}

TEST(TrainedTables, AsPyTorchTrainsThem) {
  const Recorded recorded;
  const int count = recorded.each("table", [&](const json& one) {
    nn::Sequential model = table_model(one["name"]);
    model->load_state_dict(recorded.state(one["state"]));
    prepare_qat(model, table_qconfig(one["qconfig"]), get_embedding_qat_module_mappings());
    EXPECT_EQ(model->state_dict().keys(), names_of(one["prepared"]));
    const Tensor x = recorded.tensor(one["indices"]);
    for (size_t step = 0; step < one["steps"].size(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      if (step == 2) model->apply(disable_observer);
      model->zero_grad();
      const Tensor y = model->forward(x);
      const Tensor loss = at::sum(at::mul(y, y));
      loss.backward();
      {
        const c10::NoGradGuard no_grad;
        for (Tensor& p : model->parameters()) p.sub_(at::mul(p.grad(), 0.1));
      }
      const double want = hex(one["steps"][step]["loss"]);
      EXPECT_NEAR(at::testing::values(at::detach(loss))[0], want, 1e-5 * want);
      const nn::StateDict state = model->state_dict();
      for (const auto& [name, tensor] : one["steps"][step]["state"].items()) {
        EXPECT_LE(largest_difference(state[name], recorded.tensor(tensor)), 1e-4) << name;
      }
    }
    const c10::NoGradGuard no_grad;
    model->eval();
    const Tensor trained = model->forward(x);
    convert(model);
    EXPECT_LE(largest_difference(at::dequantize(weight_of(*model->ptr(0))), recorded.tensor(one["weight"])), 1e-4);
    if (one.contains("result")) {
      EXPECT_LE(largest_difference(model->forward(x), recorded.tensor(one["result"])), 1e-3);
    }
    // Scales of half bytes are kept in half precision.
    const bool bytes = one["qconfig"] == "default_embedding_qat_qconfig";
    EXPECT_LE(largest_difference(model->forward(x), trained), bytes ? 1e-5 : 2e-2);
  });
  EXPECT_EQ(count, 4);
}

struct BagsImpl : nn::Cloneable<BagsImpl> {
  BagsImpl() { reset(); }
  void reset() override {
    register_module("bag", bag = nn::EmbeddingBag(nn::EmbeddingBagOptions(6, 4).mode(torch::kSum)));
  }
  Tensor forward(const Tensor& indices, const Tensor& offsets, const Tensor& weights) {
    return bag(indices, offsets, weights);
  }
  nn::EmbeddingBag bag{nullptr};
};
TORCH_MODULE(Bags);

TEST(TrainedTables, MembersAreClonedTrainedAndConverted) {
  Bags model;
  prepare_qat(model, default_embedding_qat_qconfig(), get_embedding_qat_module_mappings());
  auto* trained = model->get_submodule("bag")->as<nn::qat::EmbeddingBag>();
  ASSERT_NE(trained, nullptr);
  EXPECT_TRUE(trained->weight.is_same(model->parameters()[0]));
  const Tensor indices = torch::tensor({0, 5, 3, 3, 1}), offsets = torch::tensor({0, 2}), weights = sample({5});
  const Tensor y = model->forward(indices, offsets, weights);
  y.sum().backward();
  EXPECT_TRUE(trained->weight.grad().defined());
  EXPECT_FALSE(at::equal(trained->weight_fake_quant->forward(trained->weight), trained->weight));

  const auto copy = std::dynamic_pointer_cast<nn::qat::EmbeddingBagImpl>(trained->clone());
  EXPECT_TRUE(at::equal(copy->forward(indices, offsets, weights), trained->forward(indices, offsets, weights)));
  EXPECT_FALSE(copy->weight.is_same(trained->weight));

  const c10::NoGradGuard no_grad;
  model->eval();
  convert(model);
  EXPECT_NE(model->get_submodule("bag")->as<nn::quantized::EmbeddingBag>(), nullptr);
  EXPECT_LE(largest_difference(model->forward(indices, offsets, weights), y), 1e-5);
}

TEST(TrainedTables, RefuseOtherQConfigs) {
  nn::Sequential model(nn::Embedding(4, 4)), bags(nn::EmbeddingBag(4, 4));
  const auto& modules = get_embedding_qat_module_mappings();
  const auto message = [&](nn::Sequential& of, const QConfig& qconfig) {
    return message_of<c10::ValueError>([&] { prepare_qat(of, qconfig, modules); });
  };
  EXPECT_EQ(message(model, get_default_qat_qconfig()),
            "Embedding weights requires a qscheme of torch.per_channel_affine_float_qparams");
  EXPECT_EQ(message(bags, get_default_qat_qconfig()),
            "Embedding Bag weights requires a qscheme of torch.per_channel_affine_float_qparams");
  EXPECT_EQ(message(model, QConfig{}), "qat: the QConfig has no fake quantizer of weights");
  // By default tables are not trained.
  prepare_qat(model, get_default_qat_qconfig());
  EXPECT_NE(model->ptr(0)->as<nn::Embedding>(), nullptr);
  // Means have no quantized form.
  prepare_qat(bags, default_embedding_qat_qconfig(), modules);
  bags->forward(torch::tensor({{0, 1}}));
  EXPECT_THROW(convert(bags), c10::NotImplementedError);
  EXPECT_NE(bags->ptr(0)->as<nn::qat::EmbeddingBag>(), nullptr);
}

TEST(TrainedTables, AreMadeOfOptions) {
  nn::qat::Embedding table(nn::EmbeddingOptions(5, 3).max_norm(1.), default_embedding_qat_qconfig());
  EXPECT_EQ(table->weight.sizes(), c10::IntArrayRef({5, 3}));
  const Tensor before = at::clone(table->weight, std::nullopt);
  EXPECT_LE(at::testing::values(at::max(at::norm(at::detach(table(torch::tensor({0, 1, 4}))), 2, {1})))[0], 1.001);
  EXPECT_TRUE(at::equal(table->weight, before)) << "rows are scaled after they were quantized";
}

// --- fused layers ---
// A layer of one or two arguments, between stubs.
template <class Layer>
struct BetweenStubs : nn::Module {
  BetweenStubs(Layer layer_, size_t arguments) : layer(std::move(layer_)) {
    quants.resize(arguments);
    for (size_t i = 0; i < arguments; ++i) register_module("quant" + std::to_string(i), quants[i]);
    register_module("layer", layer);
    register_module("dequant", dequant);
  }
  Tensor forward(const std::vector<Tensor>& x) {
    if constexpr (std::is_invocable_v<Layer&, Tensor, Tensor>) {
      result = layer(quants[0](x.at(0)), quants[1](x.at(1)));
    } else {
      result = layer(quants[0](x.at(0)));
    }
    return dequant(result);
  }
  std::vector<QuantStub> quants;
  Layer layer;
  DeQuantStub dequant;
  Tensor result;
};

// The names of the state, tensors and others.
std::set<std::string> keys_of(const nn::Module& module) {
  const nn::StateDict state = module.state_dict();
  std::set<std::string> keys;
  for (const auto& item : state) keys.insert(item.key());
  for (const auto& item : state.extra_state) keys.insert(item.key());
  return keys;
}

template <class Quantized, class Layer>
void check_fused(const Recorded& recorded, const json& one, Layer layer) {
  const auto model = std::make_shared<BetweenStubs<Layer>>(layer, one["batches"][0].size());
  model->load_state_dict(recorded.state(one["state"]));
  model->eval();
  const auto batch = [&](size_t i) {
    std::vector<Tensor> all;
    for (const json& x : one["batches"][i]) all.push_back(recorded.tensor(x));
    return all;
  };
  EXPECT_LE(largest_difference(model->forward(batch(0)), recorded.tensor(one["float"])), 1e-5);
  // Its parts are not quantized by themselves.
  prepare(*model, get_default_qconfig("onednn"));
  EXPECT_FALSE(model->named_modules().contains("layer.0.activation_post_process"));
  for (size_t i = 0; i < one["batches"].size(); ++i) model->forward(batch(i));
  convert(*model);
  const std::vector<std::string> keys = names_of(one["keys"]);
  EXPECT_EQ(keys_of(*model), std::set<std::string>(keys.begin(), keys.end()));
  auto* quantized = model->get_submodule("layer")->template as<Quantized>();
  ASSERT_NE(quantized, nullptr);
  EXPECT_EQ(quantized->name(), one["class"].get<std::string>());
  EXPECT_NEAR(quantized->scale, hex(one["scale"]), 1e-4 * hex(one["scale"]));
  EXPECT_EQ(quantized->zero_point, one["zero_point"].get<int64_t>());
  model->forward(batch(0));
  EXPECT_LE(largest_difference(at::int_repr(model->result), recorded.tensor(one["integers"])), 1);

  const auto copy = std::dynamic_pointer_cast<typename Quantized::ContainedType>(quantized->clone());
  EXPECT_TRUE(at::equal(copy->weight(), quantized->weight()));
  copy->load_state_dict(quantized->state_dict());
}

TEST(FusedLayers, AsPyTorchQuantizesThem) {
  const c10::NoGradGuard no_grad;
  namespace intrinsic = nn::intrinsic;
  const Recorded recorded;
  const nn::Conv2d conv(nn::Conv2dOptions(3, 4, 3).stride(2).padding(1));
  const int count = recorded.each("fused", [&](const json& one) {
    const json& name = one["name"];
    if (name == "conv_add") {
      check_fused<intrinsic::quantized::ConvAdd2d>(recorded, one, intrinsic::ConvAdd2d(conv));
    } else if (name == "conv_add_relu") {
      check_fused<intrinsic::quantized::ConvAddReLU2d>(recorded, one, intrinsic::ConvAddReLU2d(conv, nn::ReLU()));
    } else if (name == "linear_leaky_relu") {
      const nn::LeakyReLU leaky(nn::LeakyReLUOptions().negative_slope(0.2));
      check_fused<intrinsic::quantized::LinearLeakyReLU>(recorded, one,
                                                         intrinsic::LinearLeakyReLU(nn::Linear(6, 5), leaky));
    } else {
      const nn::Linear linear(nn::LinearOptions(6, 5).bias(false));
      check_fused<intrinsic::quantized::LinearTanh>(recorded, one, intrinsic::LinearTanh(linear, nn::Tanh()));
    }
  });
  EXPECT_EQ(count, 4);
}

TEST(FusedLayers, AreClonedAndNamed) {
  nn::Conv2d conv(nn::Conv2dOptions(2, 2, 1));
  nn::intrinsic::ConvAddReLU2d fused(conv, nn::ReLU());
  const auto copy = std::dynamic_pointer_cast<nn::intrinsic::ConvAddReLU2dImpl>(fused->clone());
  const Tensor x = sample({1, 2, 3, 3}), y = sample({1, 2, 3, 3}, at::kFloat, 5);
  EXPECT_TRUE(at::equal(copy->forward(x, y), fused->forward(x, y)));
  EXPECT_TRUE(at::equal(fused->forward(x, y), at::relu(at::add(conv->forward(x), y))));
  EXPECT_FALSE(copy->conv().weight.is_same(conv->weight));
  EXPECT_EQ(fused->state_dict().keys(), (std::vector<std::string>{"0.weight", "0.bias"}));
  EXPECT_EQ(object_type(*fused), "Conv2d");
  EXPECT_EQ(object_type(*nn::intrinsic::LinearTanh(nn::Linear(2, 2), nn::Tanh())), "Linear");
  EXPECT_EQ(nn::intrinsic::LinearLeakyReLU(nn::Linear(2, 2), nn::LeakyReLU())->name(), "LinearLeakyReLU");
}

TEST(FusedLayers, RefuseOtherArguments) {
  const auto bytes = [](const Tensor& x) { return at::quantize_per_tensor(x, 0.1, 0, at::kQUInt8); };
  const Tensor w = at::quantize_per_tensor(sample({2, 2, 1, 1}), 0.1, 0, at::kQInt8);
  nn::intrinsic::quantized::ConvAdd2d layer(nn::detail::ConvNdOptions<2>(2, 2, 1), w, Tensor());
  const Tensor x = bytes(sample({1, 2, 3, 3}));
  EXPECT_EQ(layer(x, x).sizes(), x.sizes());
  EXPECT_EQ(message_of<c10::ValueError>([&] { layer(x[0], x); }), "Input shape must be `(N, C, H, W)`!");
  EXPECT_THROW(layer(x, at::dequantize(x)), c10::Error);
  EXPECT_THROW(layer(x, bytes(sample({1, 2, 2, 3}))), c10::Error);
  EXPECT_THROW(nn::intrinsic::quantized::LinearTanh(w, Tensor()), c10::Error);
  EXPECT_THROW(nn::intrinsic::ConvAdd2dImpl(std::shared_ptr<nn::Conv2dImpl>()), c10::ValueError);
}

// --- modules of layers: LSTM and attention ---
std::vector<Tensor> results_of(const std::tuple<Tensor, Tensor>& two) {
  return {std::get<0>(two), std::get<1>(two)};
}
std::vector<Tensor> results_of(const std::tuple<Tensor, std::tuple<Tensor, Tensor>>& y) {
  return {std::get<0>(y), std::get<0>(std::get<1>(y)), std::get<1>(std::get<1>(y))};
}

// A layer whose result is a tuple, behind stubs.
template <class Layer>
struct BehindStubs : nn::Module {
  BehindStubs(Layer layer_, size_t arguments) : layer(std::move(layer_)) {
    quants.resize(arguments);
    for (size_t i = 0; i < arguments; ++i) register_module("quant" + std::to_string(i), quants[i]);
    register_module("layer", layer);
  }
  std::vector<Tensor> forward(const std::vector<Tensor>& x) {
    if constexpr (std::is_invocable_v<Layer&, Tensor, Tensor, Tensor>) {
      return results_of(layer(quants[0](x.at(0)), quants[1](x.at(1)), quants[2](x.at(2))));
    } else {
      return results_of(layer(quants[0](x.at(0))));
    }
  }
  std::vector<QuantStub> quants;
  Layer layer;
};

template <class Layer>
void check_parts(const Recorded& recorded, const json& one, Layer layer) {
  const auto model = std::make_shared<BehindStubs<Layer>>(layer, one["batches"][0].size());
  model->load_state_dict(recorded.state(one["state"]));
  model->eval();
  const auto run = [&](size_t i) {
    std::vector<Tensor> all;
    for (const json& x : one["batches"][i]) all.push_back(recorded.tensor(x));
    return model->forward(all);
  };
  const auto expect_floats = [&] {
    const std::vector<Tensor> got = run(0);
    ASSERT_EQ(got.size(), one["float"].size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_LE(largest_difference(got[i], recorded.tensor(one["float"][i])), 1e-5) << i;
    }
  };
  expect_floats();
  prepare(*model, get_default_qconfig("x86"));
  EXPECT_EQ(model->state_dict().keys(), names_of(one["prepared"]));
  for (size_t i = 0; i < one["batches"].size(); ++i) run(i);
  expect_floats();

  convert(*model);
  EXPECT_EQ(model->get_submodule("layer")->name(), one["class"].get<std::string>());
  const std::vector<std::string> keys = names_of(one["keys"]);
  EXPECT_EQ(keys_of(*model), std::set<std::string>(keys.begin(), keys.end()));
  for (const auto& [path, fact] : one["scales"].items()) {
    const auto* own = dynamic_cast<const nn::quantized::QuantizedLayer*>(model->get_submodule(path).get());
    ASSERT_NE(own, nullptr) << path;
    // Histograms turn last bits into other bins.
    EXPECT_NEAR(own->scale, hex(fact[0]), 1e-2 * hex(fact[0])) << path;
    EXPECT_LE(std::abs(own->zero_point - fact[1].get<int64_t>()), 1) << path;
  }
  const std::vector<Tensor> got = run(0);
  ASSERT_EQ(got.size(), one["results"].size());
  for (size_t i = 0; i < got.size(); ++i) {
    const json& want = one["results"][i];
    EXPECT_NEAR(at::q_scale(got[i]), hex(want["scale"]), 1e-2 * hex(want["scale"])) << i;
    // Steps of the layers before are passed on.
    EXPECT_LE(largest_difference(at::int_repr(got[i]), recorded.tensor(want["integers"])), 3) << i;
  }
}

TEST(Quantizable, AsPyTorchQuantizesThem) {
  const c10::NoGradGuard no_grad;
  const Recorded recorded;
  const int count = recorded.each("parts", [&](const json& one) {
    const json& name = one["name"];
    if (name == "lstm") {
      check_parts(recorded, one, nn::LSTM(3, 4));
    } else if (name == "lstm2") {
      check_parts(recorded, one, nn::LSTM(nn::LSTMOptions(3, 4).num_layers(2).batch_first(true).bidirectional(true)));
    } else if (name == "lstm_no_bias") {
      check_parts(recorded, one, nn::LSTM(nn::LSTMOptions(3, 4).bias(false)));
    } else if (name == "cell") {
      check_parts(recorded, one, nn::quantizable::LSTMCell(3, 4));
    } else if (name == "attention") {
      check_parts(recorded, one, nn::MultiheadAttention(8, 2));
    } else {
      const auto options = nn::MultiheadAttentionOptions(8, 2).add_zero_attn(true).kdim(3).vdim(5);
      check_parts(recorded, one, nn::MultiheadAttention(options));
    }
  });
  EXPECT_EQ(count, 6);
}

TEST(Quantizable, LSTMsAreCalledAsFloatOnes) {
  const c10::NoGradGuard no_grad;
  for (const bool batch_first : {false, true}) {
    nn::LSTM lstm(nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true).batch_first(batch_first));
    nn::quantizable::LSTM own(*lstm);
    const Tensor x = sample({5, 2, 3});
    const int64_t batch = batch_first ? 5 : 2;
    const std::tuple<Tensor, Tensor> states(sample({4, batch, 4}, at::kFloat, 2), sample({4, batch, 4}, at::kFloat, 3));
    const auto same = [&](const Tensor& in, const std::optional<std::tuple<Tensor, Tensor>>& s) {
      const auto got = results_of(own(in, s)), want = results_of(lstm(in, s));
      for (size_t i = 0; i < got.size(); ++i) EXPECT_LE(largest_difference(got[i], want[i]), 1e-5) << i;
    };
    same(x, std::nullopt);
    same(x, states);
    same(x[0], std::nullopt);
  }
  nn::LSTMCell cell(3, 4);
  nn::quantizable::LSTMCell own(*cell);
  const Tensor x = sample({2, 3}), h = sample({2, 4}), c = sample({2, 4}, at::kFloat, 5);
  EXPECT_LE(largest_difference(std::get<1>(own(x, std::tuple(h, c))), std::get<1>(cell(x, std::tuple(h, c)))), 1e-5);
  EXPECT_TRUE(own->parameters()[0].is_same(cell->weight_ih));
}

TEST(Quantizable, AttentionIsCalledAsTheFloatOne) {
  const c10::NoGradGuard no_grad;
  const Tensor q = sample({4, 2, 8}), k = sample({5, 2, 8}, at::kFloat, 2), v = sample({5, 2, 8}, at::kFloat, 3);
  const Tensor padding = torch::tensor({{0, 0, 0, 1, 1}, {0, 0, 0, 0, 0}}).to(at::kBool);
  const Tensor numbers = sample({4, 5}, at::kFloat, 7), flags = at::gt(sample({4, 4, 5}, at::kFloat, 8), 0.9);
  for (const bool more : {false, true}) {
    SCOPED_TRACE(more);
    nn::MultiheadAttention of(
        nn::MultiheadAttentionOptions(8, 2).add_bias_kv(more).add_zero_attn(more).batch_first(more).bias(!more));
    of->eval();
    nn::quantizable::MultiheadAttention own(*of);
    const auto in = [&](const Tensor& x) { return more ? at::transpose(x, 0, 1) : x; };
    const auto same = [&](const Tensor& key_padding_mask, const Tensor& attn_mask, bool average) {
      const auto got = own(in(q), in(k), in(v), key_padding_mask, true, attn_mask, average);
      const auto want = of(in(q), in(k), in(v), key_padding_mask, true, attn_mask, average);
      EXPECT_LE(largest_difference(std::get<0>(got), std::get<0>(want)), 1e-5);
      EXPECT_LE(largest_difference(std::get<1>(got), std::get<1>(want)), 1e-5);
    };
    same({}, {}, true);
    same(padding, {}, true);
    same({}, numbers, false);
    same(padding, flags, false);
    EXPECT_FALSE(std::get<1>(own(in(q), in(k), in(v), Tensor(), false)).defined());
  }
}

struct AttentiveImpl : nn::Module {
  AttentiveImpl() {
    register_module("quant", quant);
    register_module("att", att);
    register_module("rnn", rnn);
    register_module("dequant", dequant);
  }
  Tensor forward(const Tensor& input) {
    const Tensor x = quant(input);
    const auto [y, weights] = att(x, x, x, Tensor(), false);
    EXPECT_FALSE(weights.defined());
    return dequant(std::get<0>(rnn(y)));
  }
  QuantStub quant;
  nn::quantizable::MultiheadAttention att{8, 2};
  nn::LSTM rnn{8, 4};
  DeQuantStub dequant;
};
TORCH_MODULE(Attentive);

TEST(Quantizable, MembersAreConvertedClonedAndLoaded) {
  const c10::NoGradGuard no_grad;
  torch::manual_seed(2);
  Attentive model, other;
  const Tensor x = sample({4, 2, 8});
  for (auto* one : {&model, &other}) {
    (*one)->eval();
    const Tensor want = (*one)->forward(x);
    prepare(*one, get_default_qconfig());
    EXPECT_NE((*one)->get_submodule("rnn")->as<nn::quantizable::LSTM>(), nullptr);
    EXPECT_LE(largest_difference((*one)->forward(x), want), 1e-5);
    convert(*one);
    EXPECT_LE(largest_difference((*one)->forward(x), want), 0.05);
  }
  EXPECT_TRUE(model->parameters().empty());
  const auto* att = model->get_submodule("att")->as<nn::quantized::MultiheadAttention>();
  const auto* rnn = model->get_submodule("rnn")->as<nn::quantized::LSTM>();
  ASSERT_TRUE(att != nullptr && rnn != nullptr);
  other->load_state_dict(model->state_dict());
  EXPECT_TRUE(at::equal(other->forward(x), model->forward(x)));

  const Tensor q = at::quantize_per_tensor(x, 0.03, 100, at::kQUInt8);
  const auto att_copy = std::dynamic_pointer_cast<nn::quantized::MultiheadAttentionImpl>(att->clone());
  const auto rnn_copy = std::dynamic_pointer_cast<nn::quantized::LSTMImpl>(rnn->clone());
  auto& att_own = const_cast<nn::quantized::MultiheadAttentionImpl&>(*att);
  auto& rnn_own = const_cast<nn::quantized::LSTMImpl&>(*rnn);
  const Tensor y = std::get<0>(att_own.forward(q, q, q));
  EXPECT_TRUE(at::equal(std::get<0>(att_copy->forward(q, q, q)), y));
  EXPECT_TRUE(at::equal(std::get<0>(rnn_copy->forward(y)), std::get<0>(rnn_own.forward(y))));
  EXPECT_NE(att_copy->get_submodule("linear_Q"), att_own.get_submodule("linear_Q"));
  EXPECT_NE(rnn_copy->get_submodule("layers.0.layer_fw.cell.gates"),
            rnn_own.get_submodule("layers.0.layer_fw.cell.gates"));
}

TEST(Quantizable, AreClonedWithTheirObservers) {
  const c10::NoGradGuard no_grad;
  nn::Sequential model(nn::quantizable::LSTM(3, 4));
  prepare(model, get_default_qconfig());
  auto* lstm = model->ptr(0)->as<nn::quantizable::LSTM>();
  const Tensor x = sample({5, 2, 3});
  const Tensor y = std::get<0>(lstm->forward(x));
  const auto copy = std::dynamic_pointer_cast<nn::quantizable::LSTMImpl>(lstm->clone());
  EXPECT_TRUE(at::equal(std::get<0>(copy->forward(x)), y));
  EXPECT_EQ(copy->state_dict().keys(), lstm->state_dict().keys());
}

TEST(Quantizable, AreTrained) {
  torch::manual_seed(1);
  Attentive model;
  prepare_qat(model, get_default_qat_qconfig());
  EXPECT_NE(model->get_submodule("rnn.layers.0.layer_fw.cell.igates")->as<nn::qat::Linear>(), nullptr);
  const Tensor x = sample({4, 2, 8});
  model->forward(x).sum().backward();
  for (const Tensor& p : model->parameters()) EXPECT_TRUE(p.grad().defined());
  model->eval();
  const c10::NoGradGuard no_grad;
  const Tensor want = model->forward(x);
  convert(model);
  EXPECT_NE(model->get_submodule("rnn")->as<nn::quantized::LSTM>(), nullptr);
  EXPECT_LE(largest_difference(model->forward(x), want), 0.1);
}

TEST(Quantizable, MayStayFloat) {
  nn::Sequential model(nn::LSTM(3, 4));
  prepare(model, get_default_qconfig(), ModuleMapping());
  EXPECT_NE(model->ptr(0)->as<nn::LSTM>(), nullptr);
  nn::Sequential other(nn::LSTM(3, 4));
  prepare(other, QConfigMapping().set_global(get_default_qconfig()).set_object_type("LSTM", std::nullopt));
  EXPECT_NE(other->ptr(0)->as<nn::LSTM>(), nullptr);
}

TEST(Quantizable, RefuseOtherArguments) {
  EXPECT_THROW(nn::quantizable::LSTM(nn::LSTMOptions(3, 4).proj_size(2)), c10::NotImplementedError);
  nn::quantizable::LSTM lstm(3, 4);
  const Tensor x = sample({5, 2, 3}), h = sample({1, 3, 4});
  EXPECT_THROW(lstm(x, std::tuple(h, h)), c10::ValueError);
  EXPECT_THROW(lstm(sample({3})), c10::ValueError);
  EXPECT_THROW(lstm(at::empty({0, 2, 3})), c10::ValueError);
  EXPECT_THROW(nn::quantizable::LSTMCell(3, 4)(sample({3})), c10::ValueError);
  nn::quantizable::MultiheadAttention att(8, 2);
  const Tensor q = sample({4, 2, 8}), none;
  const auto message = [&](const Tensor& padding, const Tensor& mask) {
    return message_of<c10::ValueError>([&] { att(q, q, q, padding, true, mask); });
  };
  EXPECT_EQ(message(none, at::zeros({3, 4})), "The size of the 2D attn_mask is not correct.");
  EXPECT_EQ(message(none, at::zeros({3, 4, 4})), "The size of the 3D attn_mask is not correct.");
  EXPECT_EQ(message(none, at::zeros({4})), "attn_mask's dimension 1 is not supported");
  EXPECT_EQ(message(at::zeros({2, 3}), none), "MultiheadAttention: expected a key_padding_mask [2, 4]");
  EXPECT_EQ(message_of<c10::NotImplementedError>([&] { att(q, q, q, none, true, none, true, true); }),
            "causal mask not supported by AO MHA module");
  EXPECT_THROW(att(q[0], q[0], q[0]), c10::ValueError);
  EXPECT_THROW(att(q, sample({5, 2, 8}), q), c10::ValueError);
}

}  // namespace
}  // namespace torch::quantization
