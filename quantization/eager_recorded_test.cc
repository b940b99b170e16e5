// Models quantized layer by layer, against what PyTorch recorded (testdata/record_eager.py).
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <torch/torch.h>
#include "aten/testing/testing.h"
#include "gtest/gtest.h"
#include "quantization/eager/dynamic_layers.h"
#include "quantization/eager/fused.h"
#include "quantization/eager/quantize.h"
#include "quantization/eager/quantized_layers.h"
#include "quantization/eager/quantized_linear.h"
#include "utils/serialize/safetensors.h"

namespace torch::quantization {
namespace {

using at::Tensor;
using nlohmann::json;

struct Recorded {
  json cases;
  safetensors::File tensors{"quantization/testdata/eager.safetensors"};
  Recorded() { std::ifstream("quantization/testdata/eager.json") >> cases; }
  Tensor tensor(const json& name) const { return tensors.get(name.get<std::string>()); }
  nn::StateDict state(const json& names) const {
    nn::StateDict all;
    for (const auto& [name, tensor] : names.items()) all.insert(name, this->tensor(tensor));
    return all;
  }
};

double hex(const json& text) {
  return std::strtod(text.get<std::string>().c_str(), nullptr);
}

// --- the models of the script ---
template <class Holder, class Options>
nn::AnyModule convolution(const std::vector<int64_t>& a) {
  const auto or_else = [&](size_t i, int64_t otherwise) { return i < a.size() ? a[i] : otherwise; };
  return nn::AnyModule(Holder(Options(a[0], a[1], a[2])
                                  .stride(or_else(3, 1))
                                  .padding(or_else(4, 0))
                                  .groups(or_else(5, 1))
                                  .bias(or_else(6, 1) != 0)));
}

nn::AnyModule layer(const json& spec) {
  const std::string kind = spec.at(1);
  std::vector<int64_t> a;
  double number = 0;
  for (size_t i = 2; i < spec.size(); ++i) {
    number = spec[i].get<double>();
    a.push_back(static_cast<int64_t>(number));
  }
  using nn::AnyModule;
  if (kind == "quant") return AnyModule(QuantStub());
  if (kind == "dequant") return AnyModule(DeQuantStub());
  if (kind == "relu") return AnyModule(nn::ReLU());
  if (kind == "flatten") return AnyModule(nn::Flatten());
  if (kind == "maxpool") return AnyModule(nn::MaxPool2d(nn::MaxPool2dOptions(a[0])));
  if (kind == "linear") return AnyModule(nn::Linear(a[0], a[1]));
  if (kind == "elu") return AnyModule(nn::ELU(nn::ELUOptions().alpha(number)));
  if (kind == "hardswish") return AnyModule(nn::Hardswish());
  if (kind == "leaky") return AnyModule(nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(number)));
  if (kind == "prelu") return AnyModule(nn::PReLU());
  if (kind == "relu6") return AnyModule(nn::ReLU6());
  if (kind == "sigmoid") return AnyModule(nn::Sigmoid());
  if (kind == "dropout") return AnyModule(nn::Dropout(number));
  if (kind == "bn1d") return AnyModule(nn::BatchNorm1d(a[0]));
  if (kind == "bn2d") return AnyModule(nn::BatchNorm2d(a[0]));
  if (kind == "bn3d") return AnyModule(nn::BatchNorm3d(a[0]));
  if (kind == "layernorm") return AnyModule(nn::LayerNorm(nn::LayerNormOptions(a)));
  if (kind == "groupnorm") return AnyModule(nn::GroupNorm(a[0], a[1]));
  if (kind == "instancenorm") return AnyModule(nn::InstanceNorm2d(a[0]));
  if (kind == "embedding") return AnyModule(nn::Embedding(a[0], a[1]));
  if (kind == "bag") return AnyModule(nn::EmbeddingBag(nn::EmbeddingBagOptions(a[0], a[1]).mode(torch::kSum)));
  if (kind == "lstm") return AnyModule(nn::LSTM(nn::LSTMOptions(a[0], a[1]).num_layers(a[2]).bidirectional(a[3] != 0)));
  if (kind == "gru") return AnyModule(nn::GRU(nn::GRUOptions(a[0], a[1]).num_layers(a[2]).bidirectional(a[3] != 0)));
  if (kind == "lstmcell") return AnyModule(nn::LSTMCell(a[0], a[1]));
  if (kind == "grucell") return AnyModule(nn::GRUCell(a[0], a[1]));
  if (kind == "rnncell") return AnyModule(nn::RNNCell(a[0], a[1]));
  if (kind == "conv1d") return convolution<nn::Conv1d, nn::Conv1dOptions>(a);
  if (kind == "conv2d") return convolution<nn::Conv2d, nn::Conv2dOptions>(a);
  if (kind == "conv3d") return convolution<nn::Conv3d, nn::Conv3dOptions>(a);
  if (kind == "convt2d") return convolution<nn::ConvTranspose2d, nn::ConvTranspose2dOptions>(a);
  throw std::invalid_argument("no layer " + kind);
}

nn::Sequential model_of(const Recorded& recorded, const json& one) {
  nn::Sequential model;
  for (const json& spec : one["layers"]) model->push_back(spec.at(0).get<std::string>(), layer(spec));
  model->load_state_dict(recorded.state(one["state"]));
  return model;
}

std::vector<FuseList> lists(const json& fuse) {
  return fuse.get<std::vector<FuseList>>();
}

double largest_difference(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return INFINITY;
  return at::testing::values(at::max(at::abs(at::sub(at::to(a, at::kDouble), at::to(b, at::kDouble)))))[0];
}

// The quantized weight of a layer; undefined: it has none.
Tensor weight_of(const nn::Module& module) {
  if (const auto* packed = dynamic_cast<const nn::quantized::PackedLayer*>(&module)) return packed->weight();
  return {};
}

// Scales, zero points and weights are PyTorch's: scales to the last bits of sums, integers to one step.
void check_facts(const Recorded& recorded, const json& facts, const nn::Module& model) {
  for (const auto& [path, fact] : facts.items()) {
    SCOPED_TRACE(path + ": " + fact.dump());
    const auto module = model.get_submodule(path);
    if (const auto* own = dynamic_cast<const nn::quantized::QuantizedLayer*>(module.get())) {
      if (!fact.contains("scale")) continue;
      const double scale = hex(fact["scale"]);
      EXPECT_NEAR(own->scale, scale, 1e-4 * scale);
      EXPECT_LE(std::abs(own->zero_point - fact["zero_point"].get<int64_t>()), 1);
    } else {
      EXPECT_FALSE(fact.contains("scale"));
    }
    const Tensor weight = weight_of(*module);
    EXPECT_EQ(weight.defined(), fact.contains("weight"));
    if (!weight.defined() || !fact.contains("weight")) continue;
    EXPECT_LE(largest_difference(at::int_repr(weight), recorded.tensor(fact["weight"])), 1);
    const Tensor scale = recorded.tensor(fact["weight_scale"]);
    const bool channels = scale.dim() > 0;
    ASSERT_EQ(weight.qscheme() == c10::kPerChannelAffine, channels);
    const Tensor own = channels ? at::q_per_channel_scales(weight) : at::full({}, at::q_scale(weight), at::kDouble);
    EXPECT_TRUE(at::allclose(own, scale, 1e-6, 0)) << own << " but PyTorch has " << scale;
  }
}

template <class F>
int for_cases(const Recorded& recorded, const char* kind, const F& f) {
  int count = 0;
  for (const json& one : recorded.cases) {
    if (one["kind"] != kind) continue;
    SCOPED_TRACE(one["name"].get<std::string>());
    f(one);
    ++count;
  }
  return count;
}

TEST(EagerRecorded, StaticModels) {
  const c10::NoGradGuard no_grad;
  const Recorded recorded;
  const int count = for_cases(recorded, "static", [&](const json& one) {
    nn::Sequential model = model_of(recorded, one);
    model->eval();
    const Tensor x = recorded.tensor(one["batches"][0]);
    EXPECT_TRUE(at::allclose(model->forward(x), recorded.tensor(one["float"]), 1e-4, 1e-5));
    if (!one["fuse"].empty()) fuse_modules(model, lists(one["fuse"]));
    EXPECT_TRUE(at::allclose(model->forward(x), recorded.tensor(one["fused"]), 1e-4, 1e-5));
    QConfig qconfig = one["qconfig"] == "default" ? default_qconfig() : get_default_qconfig(one["qconfig"]);
    if (one.contains("embedding")) {
      qconfig = one["embedding"] == "float_qparams_weight_only_qconfig" ? float_qparams_weight_only_qconfig()
                                                                        : float_qparams_weight_only_qconfig_4bit();
    }
    prepare(model, qconfig);
    EXPECT_EQ(model->state_dict().keys(), one["prepared"].get<std::vector<std::string>>());
    for (const json& batch : one["batches"]) model->forward(recorded.tensor(batch));
    convert(model);
    check_facts(recorded, one["facts"], *model);
    // The names of the state, less what PyTorch leaves out of it.
    std::set<std::string> keys;
    for (const std::string& key : model->state_dict().keys()) keys.insert(key);
    for (const auto& item : model->state_dict().extra_state) keys.insert(item.key());
    for (const json& key : one["keys"]) EXPECT_TRUE(keys.contains(key.get<std::string>())) << key;
    const Tensor y = model->forward(x), want = recorded.tensor(one["result"]);
    if (one.contains("integers")) {
      Tensor q = x;
      for (auto& part : *model) {
        if (part.ptr()->as<nn::quantized::DeQuantize>() != nullptr) break;
        q = part.forward(q);
      }
      // Layers whose sums end in other last bits pass a step on.
      EXPECT_LE(largest_difference(at::int_repr(q), recorded.tensor(one["integers"])), one["name"] == "layers" ? 3 : 1);
    } else {
      EXPECT_TRUE(at::allclose(y, want, 1e-5, 1e-6));
    }
  });
  EXPECT_EQ(count, 12);
}

std::vector<Tensor> results(nn::Module& module, const Tensor& x) {
  namespace dynamic = nn::quantized::dynamic;
  if (auto* m = module.as<nn::LSTM>()) {
    auto [y, s] = (*m).forward(x);
    return {y, std::get<0>(s), std::get<1>(s)};
  }
  if (auto* m = module.as<dynamic::LSTM>()) {
    auto [y, s] = (*m).forward(x);
    return {y, std::get<0>(s), std::get<1>(s)};
  }
  if (auto* m = module.as<nn::GRU>()) {
    auto [y, s] = (*m).forward(x);
    return {y, s};
  }
  if (auto* m = module.as<dynamic::GRU>()) {
    auto [y, s] = (*m).forward(x);
    return {y, s};
  }
  if (auto* m = module.as<nn::LSTMCell>()) {
    auto [h, c] = (*m).forward(x);
    return {h, c};
  }
  if (auto* m = module.as<dynamic::LSTMCell>()) {
    auto [h, c] = (*m).forward(x);
    return {h, c};
  }
  if (auto* m = module.as<nn::GRUCell>()) return {m->forward(x)};
  if (auto* m = module.as<dynamic::GRUCell>()) return {m->forward(x)};
  if (auto* m = module.as<nn::RNNCell>()) return {m->forward(x)};
  if (auto* m = module.as<dynamic::RNNCell>()) return {m->forward(x)};
  return {module.as<nn::Sequential>()->forward(x)};
}

TEST(EagerRecorded, DynamicModels) {
  const c10::NoGradGuard no_grad;
  const Recorded recorded;
  const int count = for_cases(recorded, "dynamic", [&](const json& one) {
    nn::Sequential model = model_of(recorded, one);
    model->eval();
    const bool half = one["dtype"] == "torch.float16";
    const Tensor x = recorded.tensor(one["batches"][0]);
    const auto run = [&] { return results(model->size() == 1 ? *model->ptr(0) : *model, x); };
    const auto compare = [&](const json& want, double tolerance) {
      const auto got = run();
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_LE(largest_difference(got[i], recorded.tensor(want[i])), tolerance) << i;
      }
    };
    compare(one["float"], 1e-5);
    quantize_dynamic(model, half ? at::kHalf : at::kQInt8);
    compare(one["result"], half ? 1e-3 : 1e-5);
  });
  EXPECT_EQ(count, 9);
}

TEST(EagerRecorded, TrainedModels) {
  const Recorded recorded;
  const int count = for_cases(recorded, "qat", [&](const json& one) {
    nn::Sequential model = model_of(recorded, one);
    fuse_modules_qat(model, lists(one["fuse"]));
    prepare_qat(model, get_default_qat_qconfig("x86"));
    EXPECT_EQ(model->state_dict().keys(), one["prepared"].get<std::vector<std::string>>());
    for (size_t step = 0; step < one["steps"].size(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      if (step == 2) model->apply(nn::intrinsic::qat::freeze_bn_stats);
      if (step == 3) model->apply(disable_observer);
      model->zero_grad();
      Tensor loss = at::cross_entropy_loss(model->forward(recorded.tensor(one["batches"][step])),
                                           recorded.tensor(one["targets"][step]));
      loss.backward();
      {
        const c10::NoGradGuard no_grad;
        for (Tensor& p : model->parameters()) p.sub_(at::mul(p.grad(), 0.05));
      }
      EXPECT_NEAR(at::testing::values(at::detach(loss))[0], hex(one["steps"][step]["loss"]), 1e-3);
      // Weights and what observers saw, after the step.
      const auto state = model->state_dict();
      for (const auto& [name, tensor] : one["steps"][step]["state"].items()) {
        const Tensor want = at::to(recorded.tensor(tensor), at::kDouble), got = at::to(state[name], at::kDouble);
        EXPECT_LE(largest_difference(got, want), name.ends_with("zero_point") ? 1 : 2e-3) << name;
      }
    }
    model->eval();
    const c10::NoGradGuard no_grad;
    const Tensor x = recorded.tensor(one["batches"][0]);
    EXPECT_LE(largest_difference(model->forward(x), recorded.tensor(one["trained"])), 0.05);
    const auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(model->clone());
    copy->apply(enable_observer);
    convert(copy);
    convert(model);
    // Training's last bits differ, so that scales do a little.
    for (const auto& [facts, of] : {std::pair(one["facts"], model.ptr()), std::pair(one["enabled"], copy)}) {
      for (const auto& [path, fact] : facts.items()) {
        if (!fact.contains("scale")) continue;
        const auto* own = dynamic_cast<const nn::quantized::QuantizedLayer*>(of->get_submodule(path).get());
        ASSERT_NE(own, nullptr) << path;
        EXPECT_NEAR(own->scale, hex(fact["scale"]), 0.01 * hex(fact["scale"])) << path;
        const Tensor weight = weight_of(*of->get_submodule(path));
        if (!weight.defined()) continue;
        EXPECT_LE(largest_difference(at::int_repr(weight), recorded.tensor(fact["weight"])), 2) << path;
        const Tensor scale = recorded.tensor(fact["weight_scale"]);
        EXPECT_TRUE(at::allclose(at::q_per_channel_scales(weight), scale, 1e-2, 0)) << path;
      }
    }
    EXPECT_LE(largest_difference(model->forward(x), recorded.tensor(one["result"])), 0.1);
  });
  EXPECT_EQ(count, 2);
}

}  // namespace
}  // namespace torch::quantization
