#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "c10/testing/message_of.h"
#include "nn/module/functional_module.h"
#include "nn/module/module_dict.h"
#include "nn/module/module_list.h"
#include "nn/module/parameter_containers.h"
#include "nn/module/replacement.h"
#include "nn/module/sequential.h"

namespace torch::nn {
namespace {

using c10::testing::message_of;

struct Unit : Cloneable<Unit> {
  explicit Unit(int n) : n(n) { reset(); }
  void reset() override { w = register_parameter("w", at::ones({n})); }
  int n;
  at::Tensor w;
};

TEST(ModuleDict, Behaviour) {
  ModuleDict dict(std::vector<std::pair<std::string, std::shared_ptr<Module>>>{{"a", std::make_shared<Unit>(1)},
                                                                               {"b", std::make_shared<Unit>(2)}});
  EXPECT_EQ(dict->keys(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(dict->at<Unit>("b").n, 2);
  EXPECT_EQ(dict["a"]->as<Unit>()->n, 1);
  EXPECT_EQ(message_of([&] { dict["zz"]; }), "Key 'zz' is not defined");
  EXPECT_EQ(message_of([&] { dict->pop("zz"); }), "Key 'zz' is not defined");
  EXPECT_THROW(dict->at<ModuleDictImpl>("a"), c10::Error);
  OrderedDict<std::string, std::shared_ptr<Module>> more;
  more.insert("b", std::make_shared<Unit>(5));
  more.insert("c", std::make_shared<Unit>(3));
  dict->update(more);
  EXPECT_EQ(dict->size(), 3u);
  EXPECT_EQ(dict->named_parameters()["b.w"].numel(), 5);
  auto copy = std::dynamic_pointer_cast<ModuleDictImpl>(dict->clone());
  EXPECT_EQ(copy->keys(), dict->keys());
  EXPECT_NE((*copy)["a"], dict["a"]);
  EXPECT_EQ(dict->pop("a")->as<Unit>()->n, 1);
  EXPECT_FALSE(dict->contains("a"));
  dict->clear();
  EXPECT_TRUE(dict->empty());
}

TEST(ParameterList, Behaviour) {
  at::Tensor trained = at::ones({2});
  trained.set_requires_grad(true);
  ParameterList list(trained, at::zeros({3}));
  EXPECT_EQ(list->named_parameters().keys(), (std::vector<std::string>{"0", "1"}));
  EXPECT_TRUE(list[0].requires_grad());
  EXPECT_FALSE(list[1].requires_grad());
  EXPECT_EQ(message_of([&] { list->at(2); }), "Index out of range");
  *list += *list;
  EXPECT_EQ(list->size(), 4u);
  auto copy = std::dynamic_pointer_cast<ParameterListImpl>(list->clone());
  EXPECT_TRUE(copy->at(0).requires_grad());
  EXPECT_FALSE(copy->at(0).is_same(list[0]));
  std::ostringstream out;
  out << ParameterList(at::ones({2}));
  EXPECT_EQ(out.str(), "torch::nn::ParameterList(\n(0): Parameter containing: [Float of size [2]]\n)");
}

TEST(ParameterDict, Behaviour) {
  ParameterDict dict;
  dict->insert("a", at::ones({2}));
  dict->insert("b", at::zeros({3}));
  EXPECT_EQ(message_of([&] { dict->insert("a", at::ones({1})); }), "Parameter 'a' already defined");
  EXPECT_EQ(message_of([&] { dict->get("zz"); }), "Parameter 'zz' is not defined");
  EXPECT_EQ(dict["b"].numel(), 3);
  OrderedDict<std::string, at::Tensor> more;
  more.insert("b", at::ones({7}));
  more.insert("c", at::ones({1}));
  EXPECT_EQ(message_of([&] { dict->update(more); }), "Parameter 'c' is not defined");
  EXPECT_EQ(dict["b"].numel(), 3);
  dict->insert("c", at::zeros({1}));
  dict->update(more);
  EXPECT_EQ(dict->keys(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(dict["b"].numel(), 7);
  EXPECT_EQ(dict->pop("a").numel(), 2);
  auto copy = std::dynamic_pointer_cast<ParameterDictImpl>(dict->clone());
  EXPECT_EQ(copy->keys(), dict->keys());
}

at::Tensor twice(at::Tensor x) {
  return at::mul(x, 2);
}
at::Tensor times(at::Tensor x, double factor, int offset) {
  return at::add(at::mul(x, factor), offset);
}

TEST(Functional, BindsArguments) {
  Sequential net{Functional(twice), Functional(times, 3.0, 1)};
  EXPECT_EQ(at::item(net->forward(at::full({}, 2.0))).toDouble(), 13.0);
  Functional f(twice);
  EXPECT_FALSE(f->is_serializable());
  EXPECT_EQ(at::item(f(at::full({}, 4.0))).toDouble(), 8.0);
  std::ostringstream out;
  out << f;
  EXPECT_EQ(out.str(), "torch::nn::Functional()");
}

struct AddImpl : Cloneable<AddImpl> {
  explicit AddImpl(double value) : value_(value) {}
  void reset() override {}
  at::Tensor forward(const at::Tensor& x) { return at::add(x, value_); }
  double value_;
};
TORCH_MODULE(Add);

struct NetImpl : Module {
  NetImpl() : first(register_module("first", Add(1))), pair(register_module("pair", std::make_shared<Two>())) {}
  at::Tensor forward(const at::Tensor& x) {
    auto [a, b] = call_module(*pair, first(x), std::optional<at::Tensor>());
    return at::add(a, b);
  }
  struct Two : Cloneable<Two> {
    void reset() override {}
    std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const std::optional<at::Tensor>&) { return {x, x}; }
  };
  Add first{nullptr};
  std::shared_ptr<Two> pair;
};

TEST(Replacement, MembersCallWhatTookTheirPlace) {
  const auto value = [](const at::Tensor& t) { return at::item(t).toDouble(); };
  NetImpl net;
  int before = 0, after = 0;
  net.first->register_forward_pre_hook([&](Module&, const std::vector<at::Tensor>&) { ++before; });
  Add other(10);
  other->register_forward_hook([&](Module&, const std::vector<at::Tensor>&, const at::Tensor&) { ++after; });
  EXPECT_FALSE(is_replaced(*net.first));
  call_instead(*net.first, AnyModule(other));
  EXPECT_TRUE(is_replaced(*net.first));
  EXPECT_EQ(value(net.forward(at::zeros({}))), 20);
  EXPECT_EQ(before, 1);
  EXPECT_EQ(after, 1);
  // forward itself is what it was.
  EXPECT_EQ(value(net.first->forward(at::zeros({}))), 1);
  // Any arguments and results, as hooks see them.
  call_instead(*net.pair, [](const std::vector<at::Tensor>& arguments) {
    EXPECT_EQ(arguments.size(), 2u);
    EXPECT_FALSE(arguments[1].defined());
    return std::vector<at::Tensor>{at::mul(arguments[0], 2), at::mul(arguments[0], 3)};
  });
  EXPECT_EQ(value(net.forward(at::zeros({}))), 50);
  call_instead(*net.pair,
               [](const std::vector<at::Tensor>& arguments) { return std::vector<at::Tensor>{arguments[0]}; });
  EXPECT_NE(message_of([&] { net.forward(at::zeros({})); }).find("gave 1 result(s), but 2 were expected"),
            std::string::npos);
  call_instead(*net.pair, AnyModule(other));
  EXPECT_NE(message_of([&] { net.forward(at::zeros({})); }).find("Add: expected one tensor"), std::string::npos);
  EXPECT_NE(message_of([&] { call_instead(*net.first, AnyModule(net.first)); }).find("another module"),
            std::string::npos);
  call_instead(*net.pair, TensorsCall());
  call_instead(*net.first, TensorsCall());
  EXPECT_EQ(value(net.forward(at::zeros({}))), 2);
}

struct Note {
  int number;
};
struct Marked : Cloneable<Marked> {
  void reset() override {}
  at::Tensor forward(const at::Tensor& x) { return x; }
};

TEST(Replacement, ValuesStayWithModules) {
  auto module = std::make_shared<Marked>();
  EXPECT_EQ(attached<Note>(*module), nullptr);
  module->register_module("added", Add(1));
  EXPECT_THROW(module->clone(), c10::Error) << "reset() does not make it";
  attach(*module, std::make_shared<const Note>(Note{7}));
  const auto copy = module->clone();
  ASSERT_NE(attached<Note>(*copy), nullptr);
  EXPECT_EQ(attached<Note>(*copy)->number, 7);
  EXPECT_NE(copy->children()[0], module->children()[0]);
  attach<Note>(*module, nullptr);
  EXPECT_EQ(attached<Note>(*module), nullptr);
  EXPECT_NE(attached<Note>(*copy), nullptr);
}

TEST(Containers, TakeAndGiveModulesAnywhere) {
  ModuleList list(Add(1), Add(2), Add(3));
  EXPECT_EQ(list->pop(0)->as<AddImpl>()->value_, 1);
  EXPECT_EQ(list->pop()->as<AddImpl>()->value_, 3);
  list->append(Add(4));
  EXPECT_EQ(list->named_children().keys(), (std::vector<std::string>{"0", "1"}));
  EXPECT_THROW(list->pop(2), c10::IndexError);

  Sequential net({{"first", Add(1)}, {"1", Add(2)}});
  net->append(Add(3));
  net->insert(1, Add(10)).insert(-1, Add(20));
  EXPECT_EQ(net->named_children().keys(), (std::vector<std::string>{"first", "1", "2", "3", "4"}));
  EXPECT_EQ(at::item(net->forward(at::zeros({}))).to<double>(), 36);
  EXPECT_EQ(net->pop(1)->as<AddImpl>()->value_, 10);
  EXPECT_EQ(net->named_children().keys(), (std::vector<std::string>{"first", "1", "2", "3"}));
  EXPECT_THROW(net->insert(9, Add(0)), c10::IndexError);

  ParameterDict dict;
  const at::Tensor a = at::ones({1});
  dict->setdefault("a", a);
  EXPECT_TRUE(dict->setdefault("a", at::zeros({1})).is_same(a));
  const auto copy = dict->copy();
  EXPECT_EQ(dict->popitem().first, "a");
  EXPECT_TRUE(dict->empty() && copy->contains("a"));
  EXPECT_THROW(dict->popitem(), c10::IndexError);
}

TEST(Modules, NamesWithAPrefixAndOtherDtypes) {
  ParameterDict dict;
  dict->insert("w", at::ones({1}));
  EXPECT_EQ(dict->named_parameters("net").keys(), std::vector<std::string>{"net.w"});
  dict->register_buffer("steps", at::zeros({1}, at::TensorOptions(at::kLong)));
  EXPECT_EQ(dict->named_buffers("net").keys(), std::vector<std::string>{"net.steps"});
  dict->half();
  EXPECT_EQ(dict->get("w").scalar_type(), at::kHalf);
  dict->type(at::kDouble);
  EXPECT_EQ(dict->get_buffer("steps").scalar_type(), at::kDouble);
  dict->bfloat16().cpu();
  EXPECT_EQ(dict->get("w").scalar_type(), at::kBFloat16);
  struct Plain : Module {
    std::string extra_repr() const override { return "size=3"; }
  };
  std::string text;
  to_text(text, Plain());
  EXPECT_TRUE(text.ends_with("Plain(size=3)")) << text;
}

}  // namespace
}  // namespace torch::nn
