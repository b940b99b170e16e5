#include "jit/api/module.h"

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "c10/testing/message_of.h"
#include "c10/value/future.h"
#include "gtest/gtest.h"
#include "jit/api/jit_exception.h"
#include "jit/frontend/source_range.h"

namespace torch::jit {
namespace {

using at::Tensor;
using c10::IValue;
using c10::testing::message_of;

// y = scale * x + (offset, if there is one), below it a module of the same kind.
Module affine(double scale) {
  Module module("__torch__.Affine");
  module.register_parameter("scale", at::full({2}, scale).set_requires_grad(true), false);
  module.register_buffer("offset", at::ones({2}));
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_attribute("steps", c10::IntType::get(), 0);
  module.define(R"(
    def forward(self, x):
      self.steps = self.steps + 1
      y = self.shifted(x * self.scale)
      if self.training:
        y = y * 2
      return y
    def shifted(self, x, by: float = 1.0):
      return x + self.offset * by
  )");
  return module;
}

TEST(Module, RunsMethodsThatWereDefined) {
  Module module = affine(3);
  EXPECT_TRUE(at::equal(module.forward({at::ones({2})}).toTensor(), at::full({2}, 8.0f)));
  module.eval();
  EXPECT_FALSE(module.is_training());
  EXPECT_TRUE(at::equal(module.forward({at::ones({2})}).toTensor(), at::full({2}, 4.0f)));
  EXPECT_EQ(module.attr("steps").toInt(), 2);
  EXPECT_TRUE(at::equal(module.run_method("shifted", at::zeros({2}), 2.0).toTensor(), at::full({2}, 2.0f)));
  EXPECT_TRUE(at::equal(module.get_method("shifted")({at::zeros({2})}, {{"by", 5.0}}).toTensor(), at::full({2}, 5.0f)));
  EXPECT_EQ(module.get_method("shifted").function().getSchema().str(),
            "shifted(__torch__.Affine self, Tensor x, float by=1.) -> Tensor");
  EXPECT_EQ(module.get_methods().size(), 2u);
  EXPECT_EQ(message_of<c10::Error>([&] { module.run_method("backward"); }), "Method 'backward' is not defined.");
  EXPECT_FALSE(module.find_method("backward").has_value());
  const auto future = module.get_method("forward").run_async({at::ones({2})});
  future->wait();
  EXPECT_TRUE(at::equal(future->value().toTensor(), at::full({2}, 4.0f)));
}

TEST(Module, ListsWhatItHolds) {
  Module outer = affine(1);
  outer.register_module("inner", affine(2));
  const auto names = [](const auto& list) {
    std::string all;
    for (const auto& one : list) all += one.name + " ";
    return all;
  };
  EXPECT_EQ(names(outer.named_parameters()), "scale inner.scale ");
  EXPECT_EQ(names(outer.named_parameters(false)), "scale ");
  EXPECT_EQ(names(outer.named_buffers()), "offset inner.offset ");
  EXPECT_EQ(names(outer.named_children()), "inner ");
  EXPECT_EQ(names(outer.named_modules()), " inner ");
  EXPECT_EQ(names(outer.named_attributes(false)), "scale offset training steps inner ");
  EXPECT_EQ(outer.parameters().size(), 2u);
  outer.train(false);
  EXPECT_FALSE(outer.children()[0].is_training());
  int visited = 0;
  outer.apply([&](Module& module) { visited = visited * 10 + (module == outer ? 1 : 2); });
  EXPECT_EQ(visited, 21);
  const std::string text = outer.dump_to_str(true, true, false);
  EXPECT_NE(text.find("module __torch__.Affine {"), std::string::npos) << text;
  EXPECT_NE(text.find("aten::mul"), std::string::npos) << text;
}

TEST(Module, AttributesAreTyped) {
  Module module = affine(1);
  EXPECT_EQ(message_of<c10::Error>([&] { module.attr("zz"); }), "Module has no attribute 'zz'");
  EXPECT_EQ(module.attr("zz", 7).toInt(), 7);
  module.setattr("steps", 5);
  EXPECT_EQ(module.attr("steps").toInt(), 5);
  EXPECT_EQ(message_of<c10::TypeError>([&] { module.setattr("steps", "five"); }),
            "Expected a value of type 'int' for field 'steps', but found 'str'");
  module.setattr("fresh", "text");
  EXPECT_TRUE(module.hasattr("fresh"));
  EXPECT_THROW(module.register_attribute("steps", c10::StringType::get(), "x"), c10::Error);
}

TEST(Module, Moves) {
  Module module = affine(1);
  module.register_buffer("count", at::ones({1}, at::kLong));
  const Tensor before = module.parameters()[0];
  module.to(at::kDouble);
  EXPECT_EQ(before.scalar_type(), at::kDouble) << "the parameter itself changes";
  EXPECT_EQ(module.attr("count").toTensor().scalar_type(), at::kLong);
  module.to(at::kCPU, at::kFloat);
  EXPECT_EQ(module.attr("offset").toTensor().scalar_type(), at::kFloat);
}

TEST(Module, Copies) {
  Module module = affine(1);
  module.register_module("inner", affine(2));
  const Module shallow = module.copy(), deep = module.deepcopy();
  Module clone = module.clone();
  EXPECT_TRUE(shallow.parameters()[0].is_same(module.parameters()[0]));
  EXPECT_FALSE(deep.parameters()[0].is_same(module.parameters()[0]));
  EXPECT_TRUE(at::equal(deep.parameters()[1], module.parameters()[1]));
  clone.register_attribute("own", c10::IntType::get(), 1);
  EXPECT_FALSE(module.hasattr("own"));
  EXPECT_TRUE(at::equal(clone.forward({at::ones({2})}).toTensor(), module.forward({at::ones({2})}).toTensor()));
  EXPECT_TRUE(module.clone(true).parameters()[0].is_same(module.parameters()[0]));
}

TEST(Module, Freezes) {
  Module module = affine(3);
  module.register_module("inner", affine(2));
  EXPECT_THROW(freeze(module), c10::Error);
  module.eval();
  const Tensor expected = module.forward({at::ones({2})}).toTensor();
  Module frozen = freeze(module);
  EXPECT_TRUE(frozen.parameters().empty());
  EXPECT_FALSE(frozen.has_method("shifted"));
  const Tensor result = frozen.forward({at::ones({2})}).toTensor();
  EXPECT_TRUE(at::equal(result, expected));
  EXPECT_FALSE(result.requires_grad());
  EXPECT_EQ(module.parameters().size(), 2u);
  EXPECT_TRUE(freeze(module, {"shifted"}).has_method("shifted"));
  EXPECT_THROW(freeze(module, {"nothing"}), c10::Error);
}

TEST(Module, Trains) {
  Module module = affine(3);
  module.forward({at::full({2}, 5.0f)}).toTensor().sum().backward();
  EXPECT_TRUE(at::equal(module.parameters()[0].grad(), at::full({2}, 10.0f)));
}

TEST(Module, WrongMethodsAreRefused) {
  Module module = affine(1);
  const size_t methods = module.get_methods().size();
  const auto error = [&](const std::string& body) {
    try {
      module.define("def f(self, x):\n  " + body + "\n");
    } catch (const ErrorReport& report) {
      return std::string(report.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error("return self.zz").substr(0, 62), "\n'__torch__.Affine' object has no attribute or method 'zz'.:\n ");
  EXPECT_EQ(error("self.steps = x").substr(0, 71),
            "\nWrong type for attribute assignment. Expected int but got Tensor:\n  Fi");
  EXPECT_NE(error("self.zz = x").find("Tried to set nonexistent attribute: zz"), std::string::npos);
  EXPECT_NE(error("return self.f(x)").find("called recursively"), std::string::npos);
  EXPECT_THROW(module.define("def forward(self, x):\n  return x\n"), c10::Error);
  EXPECT_THROW(module.define("def f():\n  return 1\n"), ErrorReport);
  EXPECT_EQ(module.get_methods().size(), methods);
}

// Statements that leave blocks early, in loops and branches of all kinds, against the same in C++.
TEST(Module, LeavesBlocksEarly) {
  const auto unit = compile(R"(
    def f(n: int, a: int, b: int, c: int):
      found = 0
      for i in range(n):
        if i % a == 1:
          if i > c:
            break
          continue
        j = 0
        while j < i:
          j += 1
          if j == b:
            continue
          if j > c:
            found += 100
            break
          if found > 500:
            return found * 2, i
          found += j
        else_ = found
        if else_ % 7 == 0 and i > 3:
          return found, -i
      return found, n
  )");
  const auto expected = [](int64_t n, int64_t a, int64_t b, int64_t c) -> std::pair<int64_t, int64_t> {
    int64_t found = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (i % a == 1) {
        if (i > c) break;
        continue;
      }
      int64_t j = 0;
      while (j < i) {
        ++j;
        if (j == b) continue;
        if (j > c) {
          found += 100;
          break;
        }
        if (found > 500) return {found * 2, i};
        found += j;
      }
      if (found % 7 == 0 && i > 3) return {found, -i};
    }
    return {found, n};
  };
  for (int64_t n : {0, 1, 5, 12, 40}) {
    for (int64_t a : {2, 3, 7}) {
      for (int64_t b : {1, 4}) {
        for (int64_t c : {2, 6, 30}) {
          const IValue got = unit->run_method("f", n, a, b, c);
          const auto [first, second] = expected(n, a, b, c);
          ASSERT_EQ(got.toTupleRef().elements()[0].toInt(), first) << n << " " << a << " " << b << " " << c;
          ASSERT_EQ(got.toTupleRef().elements()[1].toInt(), second) << n << " " << a << " " << b << " " << c;
        }
      }
    }
  }
}

}  // namespace
}  // namespace torch::jit
