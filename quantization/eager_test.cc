// Modules quantized layer by layer: containers, members, state, what is refused. What PyTorch computes is in
// eager_recorded_test.cc.
#include <sstream>

#include <torch/torch.h>
#include "aten/testing/testing.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"
#include "quantization/eager/dynamic_layers.h"
#include "quantization/eager/fused.h"
#include "quantization/eager/quantize.h"
#include "quantization/eager/quantized_layers.h"
#include "quantization/eager/quantized_linear.h"
#include "quantization/testing/programs.h"

namespace torch::quantization {
namespace {

using at::Tensor;
using at::testing::sample;
using c10::testing::message_of;
using testing::relative_error;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Layers as members, called by their holders.
struct NetImpl : nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    register_module("quant", quant = QuantStub());
    register_module("conv", conv = nn::Conv2d(nn::Conv2dOptions(3, 6, 3).padding(1).bias(false)));
    register_module("bn", bn = nn::BatchNorm2d(6));
    register_module("relu", relu = nn::ReLU());
    register_module("skip", skip = nn::quantized::FloatFunctional());
    register_module("fc", fc = nn::Linear(6 * 4 * 4, 5));
    register_module("dequant", dequant = DeQuantStub());
  }
  Tensor forward(const Tensor& input) {
    const Tensor x = quant(input);
    const Tensor y = relu(bn(conv(x)));
    return dequant(fc(at::flatten(skip->add_relu(y, y), 1)));
  }
  QuantStub quant{nullptr};
  nn::Conv2d conv{nullptr};
  nn::BatchNorm2d bn{nullptr};
  nn::ReLU relu{nullptr};
  nn::quantized::FloatFunctional skip{nullptr};
  nn::Linear fc{nullptr};
  DeQuantStub dequant{nullptr};
};
TORCH_MODULE(Net);

Net trained_net() {
  Net net;
  for (int i = 0; i < 3; ++i) net->forward(sample({4, 3, 4, 4}, at::kFloat, 20 + i));
  net->eval();
  return net;
}

TEST(Eager, MembersCallTheirReplacements) {
  const c10::NoGradGuard no_grad;
  for (const char* backend : {"x86", "qnnpack", "onednn"}) {
    SCOPED_TRACE(backend);
    Net net = trained_net();
    const Tensor x = sample({4, 3, 4, 4}, at::kFloat, 3), want = net->forward(x);
    int calls = 0;
    net->fc->register_forward_hook([&](nn::Module&, const std::vector<Tensor>&, const Tensor&) { ++calls; });
    fuse_modules(net, {{"conv", "bn", "relu"}});
    EXPECT_LT(relative_error(net->forward(x), want), 1e-5);
    EXPECT_NE(net->get_submodule("conv")->as<nn::intrinsic::ConvReLU2d>(), nullptr);
    EXPECT_NE(net->get_submodule("bn")->as<nn::Identity>(), nullptr);
    prepare(net, get_default_qconfig(backend));
    EXPECT_LT(relative_error(net->forward(x), want), 1e-5);
    net->forward(sample({4, 3, 4, 4}, at::kFloat, 4));
    calls = 0;
    convert(net);
    EXPECT_NE(net->get_submodule("conv")->as<nn::intrinsic::quantized::ConvReLU2d>(), nullptr);
    EXPECT_NE(net->get_submodule("fc")->as<nn::quantized::Linear>(), nullptr);
    EXPECT_NE(net->get_submodule("skip")->as<nn::quantized::QFunctional>(), nullptr);
    EXPECT_LT(relative_error(net->forward(x), want), 0.08);
    EXPECT_EQ(calls, 1) << "hooks of the layers stay";
    EXPECT_TRUE(net->parameters().empty());
    EXPECT_EQ(
        net->state_dict().keys(),
        (std::vector<std::string>{"quant.scale", "quant.zero_point", "conv.weight", "conv.bias", "conv.scale",
                                  "conv.zero_point", "skip.scale", "skip.zero_point", "fc.scale", "fc.zero_point"}));
    // Where forward itself is called there is nothing left to compute with.
    EXPECT_THROW(net->fc->forward(sample({1, 96})), c10::Error);
  }
}

nn::Sequential convnet() {
  nn::Sequential model(QuantStub(), nn::Conv2d(nn::Conv2dOptions(3, 6, 3).padding(1).bias(false)), nn::BatchNorm2d(6),
                       nn::ReLU(), nn::Conv2d(nn::Conv2dOptions(6, 4, 3).stride(2)), nn::Flatten(),
                       nn::Linear(4 * 3 * 3, 5), DeQuantStub());
  for (int i = 0; i < 3; ++i) model->forward(sample({2, 3, 8, 8}, at::kFloat, 10 + i));
  model->eval();
  return model;
}

TEST(Eager, SequentialsAreQuantizedAndCloned) {
  const c10::NoGradGuard no_grad;
  nn::Sequential model = convnet();
  const Tensor x = sample({2, 3, 8, 8}, at::kFloat, 3), want = model->forward(x);
  fuse_modules(model, {{"1", "2", "3"}});
  prepare(model, get_default_qconfig());
  model->forward(x);
  // A clone has observers of its own.
  const auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(model->clone());
  copy->forward(at::mul(x, 100));
  convert(model);
  convert(copy);
  EXPECT_LT(relative_error(model->forward(x), want), 0.08);
  EXPECT_GT(relative_error(copy->forward(x), want), 0.2);
  const auto again = std::dynamic_pointer_cast<nn::SequentialImpl>(model->clone());
  EXPECT_TRUE(at::equal(again->forward(x), model->forward(x)));
}

TEST(Eager, ObserversAreLoadedByOthers) {
  const c10::NoGradGuard no_grad;
  nn::Sequential model = convnet(), other = convnet();
  other->load_state_dict(model->state_dict());
  const Tensor x = sample({2, 3, 8, 8}, at::kFloat, 3);
  for (auto* m : {&model, &other}) prepare(*m, get_default_qconfig());
  model->forward(x);
  const nn::StateDict seen = get_observer_state_dict(model);
  EXPECT_TRUE(seen.contains("1.activation_post_process.histogram"));
  EXPECT_FALSE(seen.contains("1.weight"));
  load_observer_state_dict(other, seen);
  nn::StateDict less = seen;
  less.erase("1.activation_post_process.histogram");
  EXPECT_TRUE(has(message_of<c10::ValueError>([&] { load_observer_state_dict(other, less); }), "the state has no"));
  EXPECT_TRUE(has(message_of<c10::ValueError>([&] { load_observer_state_dict(other, model->state_dict()); }),
                  "no observer for '1.weight'"));
  convert(model);
  convert(other);
  EXPECT_TRUE(at::equal(other->forward(x), model->forward(x)));
}

TEST(Eager, QuantizeDoesAllSteps) {
  const c10::NoGradGuard no_grad;
  nn::Sequential model = convnet();
  const Tensor x = sample({2, 3, 8, 8}, at::kFloat, 3), want = model->forward(x);
  model->train();
  quantize(model, default_qconfig(), [&] { model->forward(x); });
  EXPECT_FALSE(model->is_training());
  EXPECT_LT(relative_error(model->forward(x), want), 0.1);

  nn::Sequential trained(QuantStub(), nn::Linear(4, 4), nn::ReLU(), nn::Linear(4, 2), DeQuantStub());
  quantize_qat(trained, get_default_qat_qconfig(), [&] {
    const c10::AutoGradMode grad(true);
    for (int i = 0; i < 3; ++i) at::sum(trained->forward(sample({3, 4}))).backward();
  });
  EXPECT_NE(trained->get_submodule("3")->as<nn::quantized::Linear>(), nullptr);
}

TEST(Eager, LayersMayStayFloat) {
  const c10::NoGradGuard no_grad;
  const Tensor x = sample({3, 4});
  for (const bool by_mapping : {true, false}) {
    nn::Sequential model(QuantStub(), nn::Linear(4, 4), DeQuantStub(), nn::Sequential(nn::Linear(4, 2)));
    const Tensor want = model->forward(x);
    QConfigMapping mapping;
    mapping.set_global(default_qconfig());
    if (by_mapping) {
      mapping.set_module_name("3", std::nullopt);
      prepare(model, mapping);
    } else {
      set_qconfig(*model, default_qconfig());
      set_qconfig(*model->ptr(3), std::nullopt);
      prepare(model);
    }
    model->forward(x);
    EXPECT_TRUE(has(message_of<c10::ValueError>([&] { prepare(model, mapping); }), "observers already, at '0'"));
    convert(model);
    EXPECT_NE(model->get_submodule("1")->as<nn::quantized::Linear>(), nullptr);
    EXPECT_NE(model->get_submodule("3.0")->as<nn::Linear>(), nullptr);
    EXPECT_EQ(qconfig_of(*model->ptr(3)), nullptr);
    EXPECT_LT(relative_error(model->forward(x), want), 0.1);
  }
  // By class, whatever it is written as.
  nn::Sequential model(QuantStub(), nn::Linear(4, 4), DeQuantStub());
  prepare(model, QConfigMapping().set_object_type("torch::nn::Linear", default_qconfig()));
  EXPECT_EQ(model->named_buffers().keys(),
            (std::vector<std::string>{"1.activation_post_process.eps", "1.activation_post_process.min_val",
                                      "1.activation_post_process.max_val"}));
}

struct DynamicNetImpl : nn::Module {
  DynamicNetImpl() {
    register_module("lstm", lstm);
    register_module("fc", fc);
    register_module("attention", attention);
  }
  Tensor forward(const Tensor& x) {
    auto [y, states] = lstm(x);
    auto [z, more] = lstm(x, states);
    auto [w, weights] = attention(z, z, z);
    return fc(at::add(at::add(y, w), std::get<0>(more)[0]));
  }
  nn::LSTM lstm{nn::LSTMOptions(6, 8)};
  nn::Linear fc{8, 3};
  nn::MultiheadAttention attention{8, 2};
};
TORCH_MODULE(DynamicNet);

TEST(Eager, DynamicMembers) {
  const c10::NoGradGuard no_grad;
  DynamicNet net;
  net->eval();
  const Tensor x = sample({3, 4, 6}), want = net->forward(x);
  quantize_dynamic(net);
  EXPECT_NE(net->get_submodule("lstm")->as<nn::quantized::dynamic::LSTM>(), nullptr);
  EXPECT_NE(net->get_submodule("attention.out_proj")->as<nn::Linear>(), nullptr) << "its weights are used directly";
  EXPECT_LT(relative_error(net->forward(x), want), 0.08);
  EXPECT_TRUE(has(message_of<c10::ValueError>([&] { quantize_dynamic(net, at::kFloat); }), "QInt8, Half"));

  // Models need no shared_ptr; lists and dictionaries have their modules replaced in them.
  DynamicNetImpl local;
  quantize_dynamic(local);
  EXPECT_NE(local.get_submodule("fc")->as<nn::quantized::dynamic::Linear>(), nullptr);
  nn::ModuleList list(nn::Linear(2, 2));
  quantize_dynamic(list);
  EXPECT_NE(list[0]->as<nn::quantized::dynamic::Linear>(), nullptr);

  // Only what is named.
  nn::Sequential model(nn::Linear(2, 2), nn::Linear(2, 2), nn::Embedding(4, 2));
  quantize_dynamic(model, {"1"});
  EXPECT_NE(model->ptr(0)->as<nn::Linear>(), nullptr);
  EXPECT_NE(model->ptr(1)->as<nn::quantized::dynamic::Linear>(), nullptr);
  quantize_dynamic(model, at::kQUInt8);
  EXPECT_NE(model->ptr(2)->as<nn::quantized::Embedding>(), nullptr);
  EXPECT_NE(model->ptr(0)->as<nn::Linear>(), nullptr);
  // What cannot be done leaves all as it was.
  nn::Sequential other(nn::Linear(2, 2), nn::LSTM(nn::LSTMOptions(2, 4).proj_size(2)));
  EXPECT_TRUE(has(message_of<c10::NotImplementedError>([&] { quantize_dynamic(other); }), "projections"));
  EXPECT_NE(other->ptr(0)->as<nn::Linear>(), nullptr);
  EXPECT_EQ(qconfig_of(*other->ptr(0)), nullptr);
}

TEST(Eager, RecurrentLayersTakeWhatFloatOnesTake) {
  const c10::NoGradGuard no_grad;
  for (const bool first : {false, true}) {
    nn::GRU gru(nn::GRUOptions(5, 6).num_layers(2).bidirectional(true).batch_first(first));
    nn::Sequential model;
    model->push_back("m", gru);
    const Tensor x = sample({3, 2, 5}), one = sample({3, 5}), h = sample({4, first ? 3 : 2, 6});
    const auto [y, s] = gru(x, h);
    const auto [y1, s1] = gru(one);
    quantize_dynamic(model);
    const auto [z, t] = gru(x, h);
    const auto [z1, t1] = gru(one);
    for (const auto& [got, want] : {std::pair(z, y), {t, s}, {z1, y1}, {t1, s1}}) {
      EXPECT_EQ(got.sizes(), want.sizes());
      EXPECT_LT(relative_error(got, want), 0.08);
    }
    EXPECT_THROW(gru(sample({3, 2, 4})), c10::Error);
    EXPECT_THROW(gru(x, sample({1, 2, 6})), c10::Error);
  }
}

TEST(Eager, FusionRefusesOtherModules) {
  nn::Sequential model = convnet();
  const auto refusal = [&](std::vector<FuseList> names) {
    return message_of<c10::ValueError>([&] { fuse_modules(model, names); });
  };
  EXPECT_TRUE(has(refusal({{"1"}}), "two or three modules"));
  EXPECT_TRUE(has(refusal({{"2", "5"}}), "did not find fuser method for: (BatchNorm2d, Flatten)"));
  EXPECT_TRUE(has(refusal({{"1", "4"}}), "(Conv2d, Conv2d)"));
  EXPECT_TRUE(has(refusal({{"1", "2", "4"}}), "(Conv2d, BatchNorm2d, Conv2d)"));
  EXPECT_TRUE(has(refusal({{"1", "2"}, {"2", "3"}}), "'2' is named twice"));
  EXPECT_TRUE(has(message_of<c10::ValueError>([&] { fuse_modules_qat(model, {{"1", "2"}}); }), "call train() first"));
  model->train();
  EXPECT_TRUE(has(refusal({{"1", "2", "3"}}), "call eval() first"));
  EXPECT_NE(model->ptr(1)->as<nn::Conv2d>(), nullptr);
}

TEST(Eager, FusedLayersAreClonedAndTrained) {
  nn::Sequential model(nn::Conv2d(3, 4, 3), nn::BatchNorm2d(4), nn::ReLU());
  const Tensor x = sample({2, 3, 6, 6});
  fuse_modules_qat(model, {{"0", "1", "2"}});
  std::ostringstream text;
  text << model;
  EXPECT_TRUE(has(text.str(), "ConvBnReLU2d")) << text.str();
  model->eval();
  const auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(model->clone());
  EXPECT_TRUE(at::equal(copy->forward(x), model->forward(x)));
  EXPECT_FALSE(copy->parameters()[0].is_same(model->parameters()[0]));
  EXPECT_TRUE(
      has(message_of<c10::ValueError>([&] { prepare_qat(model, get_default_qat_qconfig()); }), "training mode"));
  model->train();
  const Tensor weight = model->named_parameters()["0.0.weight"];
  prepare_qat(model, get_default_qat_qconfig());
  EXPECT_TRUE(model->named_parameters()["0.weight"].is_same(weight)) << "optimizers keep their parameters";
  auto* trained = model->ptr(0)->as<nn::intrinsic::qat::ConvBnReLU2d>();
  ASSERT_NE(trained, nullptr);
  trained->freeze_bn_stats();
  model->train();
  EXPECT_FALSE(trained->bn->is_training());
  trained->update_bn_stats();
  EXPECT_TRUE(trained->bn->is_training());
  model->forward(x);
  model->eval();
  const auto prepared = std::dynamic_pointer_cast<nn::SequentialImpl>(model->clone());
  model->apply(disable_observer);
  prepared->apply(disable_observer);
  EXPECT_TRUE(at::equal(prepared->forward(x), model->forward(x)));
  EXPECT_TRUE(has(message_of<c10::ValueError>([&] { nn::qat::Linear l(*nn::Linear(2, 2), nullptr, QConfig{}); }),
                  "no fake quantizer"));
}

TEST(Eager, FunctionsAreObservedAndQuantized) {
  const c10::NoGradGuard no_grad;
  nn::ModuleDict model;
  nn::quantized::FloatFunctional f;
  model->update({std::pair<std::string, std::shared_ptr<nn::Module>>("f", f.ptr())});
  const Tensor a = at::abs(sample({3, 4}, at::kFloat, 1)), b = at::abs(sample({3, 4}, at::kFloat, 2));
  const auto all = [&](const Tensor& x, const Tensor& y) {
    return std::vector<Tensor>{f->add(x, y),          f->mul(x, y),        f->cat({x, y}, 1),     f->add_relu(x, y),
                               f->add_scalar(x, 1.5), f->mul_scalar(x, 2), f->matmul(x, at::t(y))};
  };
  const auto want = all(a, b);
  prepare(model, QConfig{with_args<MinMaxObserver>(ObserverOptions()), default_weight_observer()});
  all(a, b);
  convert(model);
  const auto q = [](const Tensor& t) { return at::quantize_per_tensor(t, 2.0 / 128, 0, at::kQUInt8); };
  const auto got = all(q(a), q(b));
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_LT(relative_error(at::dequantize(got[i]), want[i]), 0.05) << i;
  }
  EXPECT_TRUE(has(message_of([&] { f->forward(a); }), "not intended to use the 'forward'"));
  EXPECT_EQ(model->state_dict().keys(), (std::vector<std::string>{"f.scale", "f.zero_point"}));
}

template <class M>
void expect_state_round_trip(M one, M other, const std::vector<std::string>& keys) {
  const auto state = one->state_dict();
  std::vector<std::string> names = state.keys();
  for (const auto& item : state.extra_state) names.push_back(item.key());
  EXPECT_EQ(names, keys);
  other->load_state_dict(state);
  const auto again = other->state_dict();
  for (const auto& item : state) {
    const Tensor &a = item.value(), &b = again[item.key()];
    EXPECT_TRUE(at::equal(a.is_quantized() ? at::dequantize(a) : a, b.is_quantized() ? at::dequantize(b) : b))
        << item.key();
  }
}

Tensor bytes(const Tensor& x, double scale = 0.02) {
  return at::quantize_per_tensor(x, scale, 0, at::kQInt8);
}

TEST(QuantizedModules, KeepTheirState) {
  const c10::NoGradGuard no_grad;
  const Tensor x = at::quantize_per_tensor(sample({2, 4}), 0.05, 60, at::kQUInt8);
  nn::quantized::Linear one(bytes(sample({3, 4})), sample({3}), 0.1, 5),
      other(bytes(sample({3, 4}, at::kFloat, 9), 0.1), at::zeros({3}));
  expect_state_round_trip(one, other, {"scale", "zero_point", "_packed_params.dtype", "_packed_params._packed_params"});
  EXPECT_TRUE(at::equal(at::int_repr(other->forward(x)), at::int_repr(one->forward(x))));
  EXPECT_EQ(other->zero_point, 5);

  const auto options = nn::Conv2d(nn::Conv2dOptions(4, 2, 1))->options;
  nn::quantized::Conv2d conv(options, bytes(sample({2, 4, 1, 1})), sample({2}), 0.1, 5),
      conv2(options, bytes(sample({2, 4, 1, 1}, at::kFloat, 9), 0.1), at::zeros({2}));
  expect_state_round_trip(conv, conv2, {"weight", "bias", "scale", "zero_point"});

  nn::quantized::LayerNorm norm(nn::LayerNormOptions({4}), 0.1, 5), norm2(nn::LayerNormOptions({4}));
  norm->weight.fill_(2);
  expect_state_round_trip(norm, norm2, {"weight", "bias", "scale", "zero_point"});
  nn::quantized::BatchNorm2d bn(nn::BatchNormOptions(4), 0.1, 5), bn2(nn::BatchNormOptions(4));
  bn->running_mean.fill_(2);
  expect_state_round_trip(
      bn, bn2, {"weight", "bias", "running_mean", "running_var", "num_batches_tracked", "scale", "zero_point"});

  nn::Sequential lstm(nn::LSTM(3, 4)), lstm2(nn::LSTM(3, 4));
  quantize_dynamic(lstm);
  quantize_dynamic(lstm2);
  expect_state_round_trip(lstm, lstm2, {"0.weight_ih_l0", "0.weight_hh_l0", "0.bias_ih_l0", "0.bias_hh_l0"});
  const Tensor steps = sample({2, 1, 3});
  EXPECT_TRUE(at::equal(std::get<0>(lstm2->at<nn::quantized::dynamic::LSTMImpl>(0).forward(steps)),
                        std::get<0>(lstm->at<nn::quantized::dynamic::LSTMImpl>(0).forward(steps))));
  nn::Sequential table(nn::Embedding(6, 8)), table2(nn::Embedding(6, 8));
  quantize_dynamic(table, at::kQUInt4x2);
  quantize_dynamic(table2, at::kQUInt4x2);
  expect_state_round_trip(table, table2, {"0._packed_params._packed_weight", "0._packed_params.dtype"});
}

TEST(QuantizedModules, RefuseOtherStates) {
  const c10::NoGradGuard no_grad;
  nn::quantized::Linear one(bytes(sample({3, 4})), sample({3}), 0.1, 5),
      larger(bytes(sample({5, 4})), sample({5}), 0.2, 7), without(bytes(sample({3, 4})), Tensor(), 0.2, 7);
  const Tensor before = one->weight();
  const auto refused = message_of([&] { one->load_state_dict(larger->state_dict()); });
  EXPECT_TRUE(has(refused, "size mismatch for _packed_params._packed_params")) << refused;
  EXPECT_TRUE(has(message_of([&] { one->load_state_dict(without->state_dict()); }), "expected a tensor"));
  auto floats = one->state_dict();
  const auto linear = nn::Linear(4, 3);
  floats.extra_state["_packed_params._packed_params"] =
      c10::ivalue::Tuple::create({c10::IValue(linear->weight), c10::IValue(linear->bias)});
  EXPECT_TRUE(has(message_of([&] { one->load_state_dict(floats); }), "expected a tensor of dtype QInt8"));
  EXPECT_TRUE(has(message_of<c10::ValueError>([&] { one->set_extra_state(c10::IValue(int64_t{3})); }),
                  "the state that get_extra_state() gives"));
  auto state = one->state_dict();
  state["scale"].fill_(-1);
  EXPECT_TRUE(has(message_of<c10::ValueError>([&] { one->load_state_dict(state); }), "positive scale"));
  state.erase("scale");
  EXPECT_TRUE(has(message_of([&] { one->load_state_dict(state); }), "Missing key(s) in state_dict: \"scale\""));
  state.insert("more", at::ones({}));
  EXPECT_TRUE(has(message_of([&] { one->load_state_dict(state); }), "Unexpected key(s) in state_dict: \"more\""));
  EXPECT_EQ(one->scale, 0.1);
  EXPECT_EQ(one->zero_point, 5);
  EXPECT_TRUE(at::equal(at::int_repr(one->weight()), at::int_repr(before)));
}

TEST(QuantizedModules, RefuseWhatTheyCannotDo) {
  const auto refuses = [](const auto& make, const std::string& text) {
    const std::string message = message_of<c10::Error>(make);
    EXPECT_TRUE(has(message, text)) << message;
  };
  const Tensor w = bytes(at::ones({1, 1, 1, 1}), 0.1);
  refuses(
      [&] {
        nn::quantized::Conv2d c(nn::Conv2d(nn::Conv2dOptions(1, 1, 1).padding_mode(torch::kReflect))->options, w,
                                Tensor());
      },
      "padding mode 'zeros'");
  refuses(
      [&] {
        nn::quantized::Conv2d c(nn::Conv2d(nn::Conv2dOptions(1, 1, 2).padding(torch::kSame))->options,
                                bytes(at::ones({1, 1, 2, 2})), Tensor());
      },
      "differs by side");
  refuses([&] { nn::quantized::Linear l(at::ones({2, 2}), Tensor()); }, "weight of dtype QInt8");
  refuses([&] { nn::quantized::Linear l(bytes(at::ones({2, 2})), Tensor(), 0.0, 0); }, "positive scale");
  refuses([&] { nn::quantized::Quantize s(1.0, 0, at::kFloat); }, "dtype of quantized tensors");
  refuses([&] { nn::quantized::Embedding e(at::ones({2, 2})); }, "float zero points");
  refuses([&] { nn::quantized::dynamic::Linear l(at::ones({2}), Tensor()); }, "2 dimensions");
  refuses([&] { QuantWrapper q{nn::AnyModule()}; }, "expected a module");

  nn::Sequential table(nn::Embedding(3, 4));
  prepare(table, default_qconfig());
  refuses([&] { convert(table); }, "float_qparams_weight_only_qconfig");
  nn::Sequential transposed(nn::ConvTranspose2d(1, 1, 1));
  prepare(transposed, get_default_qconfig("x86"));
  refuses([&] { convert(transposed); }, "Per channel weight observer is not supported yet for ConvTranspose2d");
  nn::Sequential linear(nn::Linear(2, 2));
  set_qconfig(*linear->ptr(0), default_qconfig());
  refuses([&] { convert(linear); }, "call prepare() first");
  refuses([&] { prepare(nn::Sequential(nn::Linear(2, 2)), QConfig{default_observer(), nullptr}); }, "");
  EXPECT_NE(linear->ptr(0)->as<nn::Linear>(), nullptr);
}

TEST(QuantizedModules, PrintAsPythonDoes) {
  std::ostringstream text;
  text << nn::quantized::Linear(bytes(at::ones({3, 4})), Tensor(), 0.5, 7) << "\n"
       << nn::intrinsic::quantized::ConvReLU2d(nn::Conv2d(nn::Conv2dOptions(4, 2, 3).padding(1).bias(false))->options,
                                               bytes(at::ones({2, 4, 3, 3})), Tensor(), 0.5, 7);
  EXPECT_EQ(text.str(),
            "QuantizedLinear(in_features=4, out_features=3, scale=0.5, zero_point=7, qscheme=torch.per_tensor_affine)\n"
            "QuantizedConvReLU2d(4, 2, kernel_size=(3, 3), stride=(1, 1), scale=0.5, zero_point=7, padding=(1, 1), "
            "bias=False)");
}

TEST(Eager, WrappersQuantizeOneLayer) {
  const c10::NoGradGuard no_grad;
  nn::Linear linear(4, 3);
  const Tensor x = sample({5, 4}), want = linear(x);
  QuantWrapper wrapper(linear);
  EXPECT_EQ(wrapper->named_parameters().keys(), (std::vector<std::string>{"module.weight", "module.bias"}));
  prepare(wrapper, default_qconfig());
  wrapper(x);
  convert(wrapper);
  EXPECT_LT(relative_error(wrapper(x), want), 0.05);
  const auto copy = std::dynamic_pointer_cast<QuantWrapperImpl>(wrapper->clone());
  EXPECT_TRUE(at::equal(copy->forward(x), wrapper(x)));

  nn::Linear a(4, 4), b(4, 3);
  nn::Sequential model(a, nn::Softmax(1), b);
  const Tensor all = model->forward(x);
  set_qconfig(*b, default_qconfig());
  add_quant_dequant(model);
  EXPECT_TRUE(at::allclose(model->forward(x), all));
  EXPECT_TRUE(at::allclose(b(x), model->at<QuantWrapperImpl>(2).forward(x)));
  prepare(model);
  model->forward(x);
  convert(model);
  EXPECT_NE(model->get_submodule("2.module")->as<nn::quantized::Linear>(), nullptr);
  EXPECT_NE(model->ptr(0)->as<nn::Linear>(), nullptr);
  EXPECT_LT(relative_error(model->forward(x), all), 0.05);
}

// A layer of one's own, and what it becomes.
struct DoubleImpl : nn::Cloneable<DoubleImpl> {
  Tensor forward(const Tensor& x) { return at::mul(x, 2); }
  void reset() override {}
};
TORCH_MODULE(Double);

TEST(Eager, MappingsTakeOtherLayers) {
  const c10::NoGradGuard no_grad;
  Double layer;
  nn::Sequential model(layer);
  set_qconfig(*layer, default_qconfig());
  EXPECT_TRUE(swap_module(*layer, get_default_static_quant_module_mappings()).module.is_empty());
  auto mapping = get_default_static_quant_module_mappings();
  mapping.set<DoubleImpl>([](DoubleImpl&) { return Replacement{nn::AnyModule(nn::ReLU())}; });
  convert(model, mapping);
  EXPECT_NE(model->ptr(0)->as<nn::ReLU>(), nullptr);
  EXPECT_EQ(at::testing::values(layer(at::full({1}, -3.0))), std::vector<double>{0});
}

}  // namespace
}  // namespace torch::quantization
