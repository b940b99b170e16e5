// Floating-point operations and modules; numbers are those of torch.utils.flop_counter (2.15) for the same programs.
#include "utils/profiler/flop_counter.h"

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "nn/layers/layers.h"
#include "nn/module/sequential.h"
#include "nn/utils/module_tracker.h"
#include "nn/utils/summary.h"

namespace torch::utils {
namespace {

using at::Tensor;

struct NetImpl : nn::Module {
  NetImpl() {
    a = register_module("a", nn::Linear(4, 8));
    b = register_module("b", nn::Sequential(nn::Linear(8, 8), nn::Linear(8, 2)));
  }
  Tensor forward(const Tensor& x) { return b(at::relu(a(x))); }
  nn::Linear a{nullptr};
  nn::Sequential b{nullptr};
};
TORCH_MODULE(Net);

int64_t flops_of(const std::function<void()>& program) {
  FlopCounterMode counter({.display = false});
  program();
  counter.stop();
  return counter.get_total_flops();
}

TEST(FlopCounter, ProductsConvolutionsAndAttention) {
  EXPECT_EQ(flops_of([] { at::mm(at::ones({4, 5}), at::ones({5, 6})); }), 240);
  EXPECT_EQ(flops_of([] { at::addmm(at::ones({6}), at::ones({4, 5}), at::ones({5, 6})); }), 240);
  EXPECT_EQ(flops_of([] { at::bmm(at::ones({2, 3, 4}), at::ones({2, 4, 5})); }), 240);
  EXPECT_EQ(flops_of([] { at::baddbmm(at::ones({2, 3, 5}), at::ones({2, 3, 4}), at::ones({2, 4, 5})); }), 240);
  EXPECT_EQ(flops_of([] { at::matmul(at::ones({2, 3, 4}), at::ones({4, 5})); }), 240);
  EXPECT_EQ(flops_of([] { at::conv_transpose2d(at::ones({1, 2, 3, 3}), at::ones({2, 4, 3, 3})); }), 1296);
  EXPECT_EQ(flops_of([] { at::conv2d(at::ones({1, 2, 5, 5}), at::ones({4, 1, 3, 3}), {}, 2, 1, 1, 2); }), 648);
  const Tensor q = at::randn({2, 4, 8, 16}).requires_grad_();
  EXPECT_EQ(flops_of([&] { at::scaled_dot_product_attention(q, q, q).sum().backward(); }), 32768 + 81920);
}

TEST(FlopCounter, ByModuleForwardAndBackward) {
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(3, 8, 3)), nn::ReLU(), nn::Flatten(), nn::Linear(8 * 6 * 6, 4));
  const Tensor x = at::randn({2, 3, 8, 8}).requires_grad_();
  FlopCounterMode counter({.display = false});
  nn::call_module(*net, x).sum().backward();
  counter.stop();
  EXPECT_EQ(counter.get_total_flops(), 107136);
  auto counts = counter.get_flop_counts();
  EXPECT_EQ(counts["Sequential.0"]["aten::convolution"], 31104);
  EXPECT_EQ(counts["Sequential.0"]["aten::convolution_backward"], 62208);
  int64_t linear = 0;
  for (const auto& [name, flops] : counts["Sequential.3"]) linear += flops;
  EXPECT_EQ(linear, 4608 + 9216);
  EXPECT_EQ(counts["Sequential"], counts["Global"]);
  at::mm(at::ones({4, 5}), at::ones({5, 6}));
  EXPECT_EQ(counter.get_total_flops(), 107136) << "stopped";
}

TEST(FlopCounter, WithoutGradientsOfArguments) {
  Net net;
  FlopCounterMode counter({.display = false});
  net(at::randn({3, 4})).sum().backward();
  counter.stop();
  const auto total = [&](const char* module) {
    const auto counts = counter.get_flop_counts();
    int64_t sum = 0;
    for (const auto& [name, flops] : counts.at(module)) sum += flops;
    return sum;
  };
  EXPECT_EQ(total("Net"), 672 + 1152);
  EXPECT_EQ(total("Net.a"), 192 + 192);
  EXPECT_EQ(total("Net.b"), 480 + 960);
  EXPECT_EQ(total("Net.b.0"), 384 + 768);
  EXPECT_EQ(total("Net.b.1"), 96 + 192);
  const std::string table = counter.get_table(1);
  EXPECT_NE(table.find("Net              1824.000    100.00%\n - aten::linear   672.000     36.84%"), std::string::npos)
      << table;
  EXPECT_EQ(table.find("Net.a"), std::string::npos) << table;
  EXPECT_NE(counter.get_table().find(" Net.a"), std::string::npos) << counter.get_table();
}

TEST(FlopCounter, FormulasOfProgramsAndTables) {
  std::ostringstream shown;
  std::streambuf* const before = std::cout.rdbuf(shown.rdbuf());
  {
    FlopCounterMode counter({.custom_mapping = {{"aten::exp", [](const auto& inputs, const auto&) {
                                                   return 10 * inputs[0].toTensor().numel();
                                                 }}}});
    at::exp(at::ones({1000}));
    at::neg(at::ones({3}));
    EXPECT_EQ(counter.get_unsupported_ops().at("aten::neg"), 1);
    EXPECT_EQ(counter.get_total_flops(), 10000);
  }
  std::cout.rdbuf(before);
  EXPECT_EQ(shown.str(),
            "Module           FLOP    % Total\n------------  -------  ---------\nGlobal        10.000K    100.00%\n"
            " - aten::exp  10.000K    100.00%\n");
  register_flop_formula("aten::neg", [](const auto&, const auto& outputs) { return outputs[0].toTensor().numel(); });
  EXPECT_EQ(flops_of([] { at::neg(at::ones({3})); }), 3);
  EXPECT_EQ(flops_of([] { at::exp(at::ones({3})); }), 0);
}

TEST(ModuleTracker, NamesWhatRuns) {
  Net net;
  std::vector<std::set<std::string>> seen;
  std::vector<bool> backward;
  ModuleTracker tracker;
  auto handle = net->b->ptr(0)->register_forward_pre_hook([&](nn::Module&, const std::vector<Tensor>&) {
    seen.push_back(tracker.parents());
    backward.push_back(tracker.is_bw());
  });
  const Tensor y = net(at::randn({3, 4}));
  y.register_hook([&](const Tensor& g) {
    seen.push_back(tracker.parents());
    return g;
  });
  EXPECT_EQ(tracker.parents(), (std::set<std::string>{"Global"}));
  y.sum().backward();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0], (std::set<std::string>{"Global", "Net", "Net.b", "Net.b.0"}));
  EXPECT_FALSE(backward[0]);
  EXPECT_TRUE(seen[1].contains("Net")) << "its backward pass has begun";
  EXPECT_EQ(tracker.parents(), (std::set<std::string>{"Global"}));
  EXPECT_TRUE(tracker.is_bw()) << "until a module runs";
  handle.remove();
  net->a(at::randn({3, 4}));
  EXPECT_FALSE(tracker.is_bw());
  EXPECT_THROW(net(at::randn({3, 5})), c10::Error);
  EXPECT_EQ(tracker.parents(), (std::set<std::string>{"Global"})) << "an exception leaves modules, too";
}

TEST(Summary, CountsParametersOnce) {
  Net net;
  net->a->weight.requires_grad_(false);
  net->register_module("again", net->a);
  net->register_buffer("steps", at::zeros({4}));
  const nn::ModuleSummary summary = nn::summary(*net);
  EXPECT_EQ(summary.total_parameters, 40 + 72 + 18);
  EXPECT_EQ(summary.trainable_parameters, 8 + 72 + 18);
  EXPECT_EQ(summary.buffers, 4);
  EXPECT_EQ(summary.parameter_bytes, 130 * 4);
  std::ostringstream text;
  text << summary;
  EXPECT_NE(text.str().find("(root)   Net                130\n"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("    1    Linear              18\n"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("Total parameters: 130\nTrainable parameters: 98\n"), std::string::npos) << text.str();
  EXPECT_EQ(summary.table(1).find("    1    Linear"), std::string::npos);
}

}  // namespace
}  // namespace torch::utils
