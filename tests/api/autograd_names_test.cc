// Nodes built by hand, operators without derivatives, and older registration.
#include <ATen/core/op_registration/op_registration.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/library.h>
#include <torch/torch.h>

#include "c10/testing/message_of.h"

namespace {

using c10::testing::message_of;
using torch::Tensor;

TEST(BasicOps, ErrorsWaitForBackward) {
  const Tensor x = torch::ones({2}, torch::requires_grad());
  Tensor y = torch::autograd::DelayedError("not here", 1).apply({x * 2})[0];
  EXPECT_TRUE(torch::equal(y, torch::full({2}, 2.f)));
  EXPECT_THROW(
      {
        try {
          y.sum().backward();
        } catch (const std::runtime_error& error) {
          EXPECT_STREQ(error.what(), "not here");
          throw;
        }
      },
      std::runtime_error);
}

TEST(BasicOps, UndefinedGradientsReachTheNodesBefore) {
  struct Seen : torch::autograd::Function<Seen> {
    static Tensor forward(torch::autograd::AutogradContext* ctx, Tensor x) {
      ctx->set_materialize_grads(false);
      return x.clone();
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                   torch::autograd::variable_list grads) {
      EXPECT_FALSE(grads[0].defined());
      return grads;
    }
  };
  const Tensor x = torch::ones({1}, torch::requires_grad());
  torch::autograd::UndefinedGrad().apply({Seen::apply(x)})[0].backward();
  EXPECT_FALSE(x.grad().defined());
}

TEST(BasicOps, EdgesAreCollected) {
  const Tensor x = torch::ones({1}, torch::requires_grad());
  const auto edges = torch::autograd::collect_next_edges(x * 2, torch::ones({1}));
  ASSERT_EQ(edges.size(), 2u);
  EXPECT_EQ(edges[0].function->name(), "MulBackward1");
  EXPECT_FALSE(edges[1].is_valid());
  torch::autograd::GraphRoot root(edges, {torch::ones({1}), torch::ones({1})});
  EXPECT_EQ(root.num_outputs(), 2u);
}

Tensor add_twice(const Tensor& self, const Tensor& other) { return self + other + other; }
Tensor add_into(const Tensor& self, const Tensor& other) { return self.add_(other); }
Tensor same(const Tensor& self) { return self.alias(); }
std::tuple<Tensor, Tensor> both(const Tensor& self, const Tensor& other) { return {self, other}; }

TEST(NotImplementedFallback, RecordsWhatCannotBeDifferentiated) {
  auto m = MAKE_TORCH_LIBRARY(names_test);
  m.def("add_twice(Tensor self, Tensor other) -> Tensor");
  m.def("add_into(Tensor(a!) self, Tensor other) -> Tensor(a!)");
  m.def("same(Tensor(a) self) -> Tensor(a)");
  m.def("both(Tensor(a) self, Tensor(b) other) -> (Tensor(a), Tensor(b))");
  auto cpu = MAKE_TORCH_LIBRARY_IMPL(names_test, CPU);
  cpu.impl("add_twice", &add_twice);
  cpu.impl("add_into", &add_into);
  cpu.impl("same", &same);
  cpu.impl("both", &both);
  auto autograd = MAKE_TORCH_LIBRARY_IMPL(names_test, Autograd);
  auto views = MAKE_TORCH_LIBRARY_IMPL(names_test, ADInplaceOrView);
  for (const char* name : {"add_twice", "add_into", "same", "both"}) {
    autograd.impl(name, torch::autograd::autogradNotImplementedFallback());
    views.impl(name, torch::autograd::autogradNotImplementedInplaceOrViewFallback());
  }
  const auto handle = [](const std::string& name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(("names_test::" + name).c_str(), "");
  };
  const auto call = [&](const char* name, const Tensor& x, const Tensor& y) {
    return callOpUnboxed<Tensor, const Tensor&, const Tensor&>(handle(name), x, y);
  };
  const Tensor x = torch::ones({1}, torch::requires_grad()), y = torch::ones({1});
  Tensor sum = call("add_twice", x, y);
  EXPECT_EQ(sum.item<float>(), 3);
  try {
    sum.backward();
    ADD_FAILURE() << "there is no derivative";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "derivative for names_test::add_twice is not implemented");
  }
  EXPECT_FALSE(call("add_twice", y, y).requires_grad());

  EXPECT_NE(message_of([&] { call("add_into", x, y); }).find("a leaf Variable that requires grad"), std::string::npos);
  Tensor z = x.clone();
  const auto version = z._version();
  EXPECT_TRUE(call("add_into", z, y).is_same(z));
  EXPECT_EQ(z.grad_fn()->name().find("CloneBackward"), std::string::npos);
  EXPECT_NE(z._version(), version);

  Tensor base = x.clone();
  Tensor view = callOpUnboxed<Tensor, const Tensor&>(handle("same"), base);
  EXPECT_EQ(view._base().unsafeGetTensorImpl(), base.unsafeGetTensorImpl());
  EXPECT_NE(message_of([&] { view.add_(1); }).find("does not have a derivative implemented is forbidden"),
            std::string::npos);
  const auto call_both = [&] {
    callOpUnboxed<std::tuple<Tensor, Tensor>, const Tensor&, const Tensor&>(handle("both"), x, y);
  };
  EXPECT_NE(message_of(call_both).find("Expected only a single output"), std::string::npos);
}

TEST(RegisterOperators, KeepsThemAsLongAsItLives) {
  {
    auto registry = torch::RegisterOperators("older_test::add_twice", &add_twice)
                        .op("older_test::same(Tensor(a) self) -> Tensor(a)",
                            torch::RegisterOperators::options().kernel(c10::DispatchKey::CPU, &same));
    const auto found = c10::Dispatcher::singleton().findSchema({"older_test::add_twice", ""});
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ((callOpUnboxed<Tensor, const Tensor&, const Tensor&>(*found, torch::ones({1}), torch::ones({1}))).item<float>(), 3);
    EXPECT_THROW(torch::RegisterOperators().op("no_namespace", &same), c10::Error);
  }
  EXPECT_FALSE(c10::Dispatcher::singleton().findSchema({"older_test::add_twice", ""}).has_value());
}

TEST(Nodes, AreCalledAsPyTorchsAre) {
  namespace F = torch::nn::functional;
  const Tensor x = torch::rand({1, 2, 4, 4}, torch::requires_grad());
  const auto name = [](const Tensor& t) { return t.grad_fn()->name(); };
  EXPECT_EQ(name(x.log1p()), "Log1PBackward0");
  EXPECT_EQ(name(F::max_pool2d(x, F::MaxPool2dFuncOptions(2))), "MaxPool2DWithIndicesBackward0");
  EXPECT_EQ(name(F::layer_norm(x, F::LayerNormFuncOptions({4}))), "NativeLayerNormBackward0");
  EXPECT_EQ(name(F::prelu(x, torch::ones({1}))), "PreluKernelBackward0");
  EXPECT_EQ(name(F::nll_loss(x, torch::zeros({1, 4, 4}, torch::kLong))), "NllLoss2DBackward0");
  EXPECT_EQ(name(x.select(0, 0).select(0, 0).t()), "TBackward0");
}

TEST(OlderPrograms, HoldNodesInSharedPointersAndMakeVariables) {
  const Tensor x = torch::ones({1}, torch::requires_grad());
  std::shared_ptr<torch::autograd::Node> node = (x * 2).grad_fn();
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->name(), "MulBackward1");
  std::shared_ptr<torch::autograd::Node> none = x.grad_fn();
  EXPECT_EQ(none, nullptr);
  const Tensor y = torch::autograd::make_variable(x.tensor_data(), true);
  EXPECT_TRUE(y.requires_grad() && y.is_leaf());
  EXPECT_EQ(y.data_ptr(), x.data_ptr());
}

}  // namespace
