// Small things that programs use beside tensors and layers: templates of source text, lists of sizes, printed keys.
#include <torch/torch.h>

// What follows here takes nothing but torch.h.
namespace {
std::string padded(int number) {
  std::ostringstream out;
  out << std::setw(4) << std::setfill('0') << number << std::setprecision(3) << 1.23456;
  return out.str();
}
const size_t kHash = c10::get_hash(1, std::string("a"));
}  // namespace

#include <ATen/code_template.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/utils.h>

#include "c10/testing/message_of.h"

namespace {

using at::jit::CodeTemplate;
using at::jit::TemplateEnv;
using c10::testing::message_of;

TEST(SmallNames, TorchHeaderAlone) {
  EXPECT_EQ(padded(7), "00071.23");
  EXPECT_EQ(kHash, c10::get_hash(1, std::string("a")));
}

TEST(SmallNames, CodeTemplates) {
  TemplateEnv env;
  env.s("name", "x");
  env.d("n", 3);
  env.d("f", 2.5);
  env.v("list", {"a", "b", "c"});
  env.v("empty", std::vector<std::string>());
  const auto text = [&](const std::string& text) { return CodeTemplate(text).format(env); };
  EXPECT_EQ(text("int ${name} = $n; f(${list}); g(1${,list}); h(${list,}2)"),
            "int x = 3; f(a, b, c); g(1, a, b, c); h(a, b, c, 2)");
  EXPECT_EQ(text("k(${empty}) l(0${,empty}) m(${empty,}1) $f ${name}y"), "k() l(0) m(1) 2.500000 xy");
  EXPECT_EQ(text("{\n  ${list}\n    $list\n  ${name}\n  ${empty}\n}\n"),
            "{\n  a\n  b\n  c\n    a\n    b\n    c\n  x\n  \n}\n");
  env.v("code", {"if {\n  a\n}", "b"});
  EXPECT_EQ(text("  ${code}\nend"), "  if {\n    a\n  }\n  b\nend");
  EXPECT_EQ(at::jit::format("a ${name}", env), "a x");

  TemplateEnv inner(env);
  inner.s("name", "1\n2");
  inner.s("list", "shadow");
  EXPECT_EQ(CodeTemplate("  ${name}\nq ${name} ${list} ${n}\n").format(inner), "  1\n  2\nq 1\n2 shadow 3\n");
  EXPECT_TRUE(inner.keyIsString("n") && inner.keyIsString("list") && !env.keyIsString("list"));
  EXPECT_EQ(env.v("list").size(), 3u);
  env.v("name", {"q"});
  EXPECT_FALSE(env.keyIsString("name"));

  EXPECT_EQ(message_of([&] { text("$zip"); }), "key not found: zip");
  EXPECT_EQ(message_of([&] { text("${n"); }), "EOS found in key");
  EXPECT_EQ(message_of([&] { text("${n;}"); }), "missing } after key n");
  EXPECT_EQ(message_of([&] { env.s("list"); }), "key not found: list");
  EXPECT_EQ(message_of([&] { env.v("n"); }), "key not found: n");
}

TEST(SmallNames, ListsOfSizes) {
  using namespace torch::nn::modules::utils;
  EXPECT_EQ(_reverse_repeat_vector({1, 2, 3}, 2), (std::vector<int64_t>{3, 3, 2, 2, 1, 1}));
  EXPECT_TRUE(_reverse_repeat_vector({}, 2).empty());
  const std::vector<std::optional<int64_t>> sizes{7, std::nullopt};
  EXPECT_EQ(_list_with_default(sizes, {1, 2, 3, 4}), (std::vector<int64_t>{7, 4}));
  EXPECT_EQ(message_of([&] { _list_with_default(sizes, {1, 2}); }), "Input dimension should be at least 3");
}

TEST(SmallNames, DispatchKeySetsPrint) {
  std::ostringstream out;
  out << c10::DispatchKeySet() << " " << c10::DispatchKeySet({c10::DispatchKey::CUDA, c10::DispatchKey::CPU});
  EXPECT_EQ(out.str(), "DispatchKeySet() DispatchKeySet(CPU, CUDA)");
  EXPECT_EQ(c10::toString(torch::ones({1}, torch::requires_grad()).key_set()), "DispatchKeySet(CPU, Autograd)");
}

TEST(SmallNames, IndexingBesideUsingNamespaceTorch) {
  using namespace torch;
  const Tensor x = torch::arange(6);
  EXPECT_EQ(x.index({indexing::Slice(1, indexing::None, 2)}).sum().item<int64_t>(), 9);
  EXPECT_EQ(x.index({torch::indexing::TensorIndex(4)}).item<int64_t>(), 4);
  EXPECT_EQ(x.index({at::indexing::TensorIndex(5)}).item<int64_t>(), 5);
}

TEST(SmallNames, PseudoInversesAreToldApart) {
  // Which of the overloads is meant is decided when this is compiled.
  using Of = torch::Tensor (*)(const torch::Tensor&);
  const Of call = [](const torch::Tensor& x) { return torch::linalg_pinv(x); };
  EXPECT_NE(call, nullptr);
}

TEST(SmallNames, ModuleDictTakesBraces) {
  torch::nn::ModuleDict dict;
  dict->update({{"a", torch::nn::ReLU().ptr()}, {"b", torch::nn::Tanh().ptr()}});
  dict->update({{"a", torch::nn::Sigmoid().ptr()}});
  EXPECT_EQ(dict->keys(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(dict["a"]->name(), "torch::nn::SigmoidImpl");
}

TEST(SmallNames, OptimizersCountTheParametersOfAllGroups) {
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<torch::Tensor>{torch::ones({1})});
  groups.emplace_back(std::vector<torch::Tensor>{torch::ones({2}), torch::ones({3})});
  EXPECT_EQ(torch::optim::SGD(groups, 0.1).size(), 3u);
}

}  // namespace
