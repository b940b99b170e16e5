// Tables of training, against what PyTorch recorded (testdata/record_modules.py), and what they refuse.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <torch/torch.h>
#include "aten/testing/testing.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"
#include "quantization/eager/quantize.h"
#include "quantization/eager/quantized_layers.h"
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

}  // namespace
}  // namespace torch::quantization
