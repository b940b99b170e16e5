#include "nn/module/any_module.h"

#include <gtest/gtest.h>

#include <string>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "c10/testing/message_of.h"
#include "nn/module/sequential.h"

namespace torch::nn {

struct AddImpl : Cloneable<AddImpl> {
  explicit AddImpl(double by) : by(by) { reset(); }
  void reset() override { w = register_parameter("w", at::full({}, by), /*requires_grad=*/false); }
  at::Tensor forward(at::Tensor x) { return at::add(x, w); }
  double by;
  at::Tensor w;
};
TORCH_MODULE(Add);

struct Scale : Module {
  at::Tensor forward(const at::Tensor& x, double factor) { return at::mul(x, factor); }
};
struct Length : Module {
  int forward(const std::string& text) { return static_cast<int>(text.size()); }
};
struct Join : Module {
  std::string forward(std::string a, int n, double x) { return a + std::to_string(n) + (x > 1 ? "big" : "small"); }

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(7)}, {2, AnyValue(0.5)})
};

namespace {

using c10::testing::message_of;

double value(const at::Tensor& t) {
  return at::item(t).toDouble();
}

TEST(AnyValue, ExactTypes) {
  AnyValue v(5);
  EXPECT_EQ(v.get<int>(), 5);
  EXPECT_EQ(v.try_get<double>(), nullptr);
  AnyValue t(at::ones({2}));
  EXPECT_EQ(message_of([&] { t.get<int>(); }), "Attempted to cast AnyValue to int, but its actual type is at::Tensor");
  AnyValue copy = v;
  *copy.try_get<int>() = 6;
  EXPECT_EQ(v.get<int>(), 5);
}

TEST(AnyModule, Forward) {
  AnyModule add(Add(2.0));
  EXPECT_EQ(value(add.forward(at::full({}, 3.0))), 5.0);
  AnyModule length(Length{});
  EXPECT_EQ(length.forward<int>(std::string("four")), 4);
  AnyModule scale(std::make_shared<Scale>());
  EXPECT_EQ(value(scale.forward(at::full({}, 3.0), 2.0)), 6.0);
  EXPECT_EQ(scale.any_forward(at::full({}, 3.0), 2.0).type_info(), typeid(at::Tensor));
}

TEST(AnyModule, Errors) {
  AnyModule none;
  EXPECT_TRUE(none.is_empty());
  EXPECT_EQ(message_of([&] { none.forward(at::ones({1})); }), "Cannot call forward() on an empty AnyModule");
  EXPECT_EQ(message_of([&] { none.ptr(); }), "Cannot call ptr() on an empty AnyModule");
  EXPECT_EQ(message_of([&] { none.ptr<Scale>(); }), "Cannot call ptr() on an empty AnyModule");
  AnyModule add(Add(2.0));
  EXPECT_EQ(message_of([&] { add.forward(1); }),
            "Expected argument #0 to be of type at::Tensor, but received value of type int");
  EXPECT_EQ(message_of([&] { add.forward(at::ones({1}), 2); }),
            "torch::nn::AddImpl's forward() method expects 1 argument(s), but received 2.");
  EXPECT_EQ(
      message_of([&] { add.forward(); }),
      "torch::nn::AddImpl's forward() method expects 1 argument(s), but received 0. If torch::nn::AddImpl's "
      "forward() method has default arguments, please make sure the forward() method is declared with a corresponding "
      "`FORWARD_HAS_DEFAULT_ARGS` macro.");
  EXPECT_EQ(message_of([&] { add.get<Scale>(); }),
            "Attempted to cast module of type torch::nn::AddImpl to type torch::nn::Scale");
  EXPECT_EQ(message_of([&] { add.forward<int>(at::ones({1})); }),
            "Attempted to cast AnyValue to int, but its actual type is at::Tensor");
}

TEST(AnyModule, DefaultArguments) {
  AnyModule join(Join{});
  EXPECT_EQ(join.forward<std::string>(std::string("a")), "a7small");
  EXPECT_EQ(join.forward<std::string>(std::string("a"), 3), "a3small");
  EXPECT_EQ(join.forward<std::string>(std::string("a"), 3, 2.0), "a3big");
  EXPECT_EQ(
      message_of([&] { join.forward<std::string>(); }),
      "torch::nn::Join's forward() method expects at least 1 argument(s) and at most 3 argument(s), but received 0.");
}

TEST(AnyModule, AccessAndCopies) {
  Add add(2.0);
  AnyModule a(add);
  AnyModule b = a;
  EXPECT_EQ(&b.get<AddImpl>(), add.get());
  EXPECT_EQ(b.get<Add>().ptr(), add.ptr());
  EXPECT_EQ(b.ptr<AddImpl>(), add.ptr());
  EXPECT_EQ(a.type_info(), typeid(AddImpl));
  AnyModule c = a.clone();
  EXPECT_NE(c.ptr(), a.ptr());
  EXPECT_EQ(value(c.forward(at::full({}, 1.0))), 3.0);
  b = std::make_shared<Length>();
  EXPECT_EQ(b.forward<int>(std::string("ab")), 2);
}

TEST(Sequential, CallsInTurn) {
  Sequential net(Add(1.0), AddImpl(2.0), std::make_shared<AddImpl>(3.0));
  EXPECT_EQ(value(net->forward(at::full({}, 0.0))), 6.0);
  EXPECT_EQ(net->size(), 3u);
  EXPECT_EQ(net->named_parameters().keys(), (std::vector<std::string>{"0.w", "1.w", "2.w"}));
  EXPECT_EQ(net->at<AddImpl>(1).by, 2.0);
  EXPECT_EQ(net->ptr<AddImpl>(2)->by, 3.0);
  EXPECT_EQ(net[0]->as<Add>()->by, 1.0);
  double sum = 0;
  for (auto& m : *net) sum += m.get<AddImpl>().by;
  EXPECT_EQ(sum, 6.0);
}

TEST(Sequential, NamesAndMixedTypes) {
  Sequential net({{"scale", Scale()}, {"add", Add(1.0)}});
  EXPECT_EQ(net->named_children().keys(), (std::vector<std::string>{"scale", "add"}));
  EXPECT_EQ(value(net->forward(at::full({}, 3.0), 2.0)), 7.0);
  Sequential text{Length()};
  EXPECT_EQ(text->forward<int>(std::string("abc")), 3);
  EXPECT_EQ(message_of([&] { text->forward(std::string("abc")); }),
            "The type of the return value is int, but you asked for type at::Tensor");
  Sequential wrong{Add(1.0), Length()};
  EXPECT_EQ(message_of([&] { wrong->forward(at::ones({})); }).rfind("Expected argument #0 to be of type std::", 0), 0u);
}

TEST(Sequential, Errors) {
  Sequential net;
  EXPECT_TRUE(net->is_empty());
  EXPECT_EQ(message_of([&] { net->forward(at::ones({})); }), "Cannot call forward() on an empty Sequential");
  EXPECT_EQ(message_of([&] { net->ptr(0); }), "Index out of range");
  net->push_back("a", Add(1.0));
  EXPECT_EQ(message_of([&] { net->push_back("a", Add(2.0)); }), "Submodule 'a' already defined");
  EXPECT_EQ(net->size(), 1u);
  EXPECT_EQ(value(net->forward(at::full({}, 0.0))), 1.0);
}

TEST(Sequential, CloneKeepsNames) {
  Sequential net({{"x", Add(1.0)}, {"y", Add(2.0)}});
  {
    c10::NoGradGuard no_grad;
    at::fill_(net->at<AddImpl>(0).w, 10.0);
  }
  auto copy = std::dynamic_pointer_cast<SequentialImpl>(net->clone());
  EXPECT_EQ(copy->named_children().keys(), (std::vector<std::string>{"x", "y"}));
  EXPECT_NE(copy->ptr(0), net->ptr(0));
  EXPECT_EQ(value(copy->forward(at::full({}, 0.0))), 12.0);
  EXPECT_EQ(copy->named_parameters().size(), 2u);
}

TEST(Sequential, Extend) {
  Sequential a(Add(1.0));
  Sequential b(Add(2.0), Add(3.0));
  a->extend(*b);
  EXPECT_EQ(value(a->forward(at::full({}, 0.0))), 6.0);
  OrderedDict<std::string, AnyModule> named;
  named.insert("n", AnyModule(Add(4.0)));
  Sequential c(std::move(named));
  EXPECT_EQ(c->named_parameters().keys(), (std::vector<std::string>{"n.w"}));
}

}  // namespace
}  // namespace torch::nn
