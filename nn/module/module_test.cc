#include "nn/module/module.h"

#include <gtest/gtest.h>

#include <sstream>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/testing/message_of.h"
#include "c10/util/warning.h"
#include "nn/module/cloneable.h"
#include "nn/module/module_list.h"

namespace torch::nn {
namespace {

using c10::testing::message_of;

bool same(const at::Tensor& a, const at::Tensor& b) {
  return at::equal(a, b);
}

struct LeafImpl : Cloneable<LeafImpl> {
  explicit LeafImpl(int64_t n = 2) : n(n) { reset(); }
  void reset() override {
    w = register_parameter("w", at::ones({n}));
    count = register_buffer("count", at::zeros({}, at::TensorOptions(at::kLong)));
    scale = register_buffer("scale", at::ones({n}));
  }
  at::Tensor forward(const at::Tensor& x) { return at::mul(x, w); }
  int64_t n;
  at::Tensor w, count, scale;
};
TORCH_MODULE(Leaf);

struct NetImpl : Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    own = register_parameter("own", at::full({3}, 2.0));
    first = register_module("first", Leaf(2));
    second = register_module("second", Leaf(4));
  }
  at::Tensor own;
  Leaf first{nullptr}, second{nullptr};
};
TORCH_MODULE(Net);

struct Plain : Module {};

TEST(Module, Names) {
  EXPECT_EQ(Module("given").name(), "given");
  EXPECT_EQ(Plain().name(), "torch::nn::(anonymous namespace)::Plain");
  EXPECT_EQ(ModuleList()->name(), "torch::nn::ModuleListImpl");
}

TEST(Module, ParametersAndBuffersInOrder) {
  Net net;
  EXPECT_EQ(net->named_parameters().keys(), (std::vector<std::string>{"own", "first.w", "second.w"}));
  EXPECT_EQ(net->named_parameters(false).keys(), (std::vector<std::string>{"own"}));
  EXPECT_EQ(net->named_buffers().keys(),
            (std::vector<std::string>{"first.count", "first.scale", "second.count", "second.scale"}));
  EXPECT_EQ(net->parameters().size(), 3u);
  EXPECT_EQ(net->buffers(false).size(), 0u);
  for (const at::Tensor& p : net->parameters()) EXPECT_TRUE(p.requires_grad());
  for (const at::Tensor& b : net->buffers()) EXPECT_FALSE(b.requires_grad());
  EXPECT_TRUE(net->parameters()[0].is_same(net->own));
}

TEST(Module, ModulesAndChildren) {
  Net net;
  EXPECT_EQ(net->named_modules().keys(), (std::vector<std::string>{"", "first", "second"}));
  EXPECT_EQ(net->named_modules("net").keys(), (std::vector<std::string>{"net", "net.first", "net.second"}));
  EXPECT_EQ(net->modules(false).size(), 2u);
  EXPECT_EQ(net->children()[1], std::static_pointer_cast<Module>(net->second.ptr()));
  EXPECT_EQ(net->named_children().keys(), (std::vector<std::string>{"first", "second"}));
  NetImpl on_the_stack;
  EXPECT_EQ(
      message_of([&] { on_the_stack.modules(); }).rfind("It looks like you attempted to retrieve your top-level", 0),
      0u);
  EXPECT_EQ(on_the_stack.modules(false).size(), 2u);
}

TEST(Module, Apply) {
  Net net;
  std::vector<std::string> seen;
  net->apply([&](Module& m) { seen.push_back(m.name().substr(m.name().rfind(':') + 1)); });
  EXPECT_EQ(seen, (std::vector<std::string>{"NetImpl", "LeafImpl", "LeafImpl"}));
  seen.clear();
  net->apply([&](const std::string& name, Module&) { seen.push_back(name); }, "top");
  EXPECT_EQ(seen, (std::vector<std::string>{"top", "top.first", "top.second"}));
  seen.clear();
  net->apply([&](const std::string& name, const std::shared_ptr<Module>& m) { seen.push_back(name + (m ? "+" : "")); });
  EXPECT_EQ(seen, (std::vector<std::string>{"+", "first+", "second+"}));
  int count = 0;
  static_cast<const NetImpl&>(*net).apply([&](const Module&) { ++count; });
  EXPECT_EQ(count, 3);
}

TEST(Module, RegistrationErrors) {
  Module m("m");
  m.register_parameter("w", at::ones({1}));
  m.register_buffer("w", at::ones({1}));
  m.register_module("w", std::make_shared<Plain>());
  EXPECT_EQ(message_of([&] { m.register_parameter("w", at::ones({1})); }), "Parameter 'w' already defined");
  EXPECT_EQ(message_of([&] { m.register_buffer("w", at::ones({1})); }), "Buffer 'w' already defined");
  EXPECT_EQ(message_of([&] { m.register_module("w", std::make_shared<Plain>()); }), "Submodule 'w' already defined");
  EXPECT_EQ(message_of([&] { m.register_parameter("a.b", at::ones({1})); }),
            "Parameter name must not contain a dot (got 'a.b')");
  EXPECT_EQ(message_of([&] { m.register_buffer("", at::ones({1})); }), "Buffer name must not be empty");
  EXPECT_EQ(message_of([&] { m.replace_module("zz", std::make_shared<Plain>()); }), "Submodule 'zz' is not defined");
  EXPECT_EQ(message_of([&] { m.unregister_module("zz"); }), "No Module with name `zz` is registered");
  m.unregister_module("w");
  EXPECT_TRUE(m.children().empty());
}

struct Collecting : c10::WarningHandler {
  void process(const c10::Warning& warning) override { messages.push_back(warning.msg()); }
  std::vector<std::string> messages;
};

TEST(Module, UndefinedParametersAreReservedNames) {
  Collecting warnings;
  Module m("m");
  {
    c10::WarningUtils::WarningHandlerGuard guard(&warnings);
    m.register_parameter("bias", at::Tensor());
  }
  ASSERT_EQ(warnings.messages.size(), 1u);
  EXPECT_EQ(warnings.messages[0],
            "An undefined tensor cannot require grad. Ignoring the `requires_grad=true` function parameter.");
  EXPECT_TRUE(m.parameters().empty());
  EXPECT_THROW(m.register_parameter("bias", at::ones({1})), c10::Error);
}

TEST(Module, TrainAndEval) {
  Net net;
  EXPECT_TRUE(net->is_training());
  net->eval();
  EXPECT_FALSE(net->is_training());
  EXPECT_FALSE(net->second->is_training());
  net->train();
  EXPECT_TRUE(net->first->is_training());
}

TEST(Module, ToConvertsParametersAndBuffersOfAnyDtype) {
  Net net;
  const at::Tensor handle = net->own;
  net->to(at::kDouble);
  EXPECT_EQ(net->own.scalar_type(), at::kDouble);
  EXPECT_EQ(handle.scalar_type(), at::kDouble);
  EXPECT_TRUE(handle.requires_grad());
  EXPECT_EQ(net->first->scale.scalar_type(), at::kDouble);
  EXPECT_EQ(net->first->count.scalar_type(), at::kDouble);
  EXPECT_EQ(message_of([&] { net->to(at::kInt); }),
            "data set to a tensor that requires gradients must be floating point or complex dtype");
  net->to(c10::Device(c10::kCPU), at::kFloat);
  EXPECT_EQ(net->own.scalar_type(), at::kFloat);
}

struct NestImpl : Module {};

TEST(Module, NestedDeeplyItIsDroppedWithoutRecursion) {
  std::shared_ptr<Module> outer = std::make_shared<NestImpl>();
  for (int i = 0; i < 200000; ++i) {
    auto next = std::make_shared<NestImpl>();
    next->register_module("first", std::make_shared<NestImpl>());
    next->register_module("inner", std::move(outer));
    outer = std::move(next);
  }
  // A part that somebody else holds lives on.
  std::shared_ptr<Module> part = outer;
  for (int i = 0; i < 1000; ++i) part = part->children()[1];
  const std::weak_ptr<Module> whole = outer;
  outer.reset();
  EXPECT_TRUE(whole.expired());
  EXPECT_EQ(part->children().size(), 2u);

  ModuleList list;
  for (int i = 0; i < 50000; ++i) {
    ModuleList next;
    next->push_back(std::move(list));
    list = std::move(next);
  }
}

struct NotedImpl : Module {
  NotedImpl(std::string* order, char name) : order(order), name(name) {}
  ~NotedImpl() override { *order += name; }
  std::string* order;
  char name;
};

TEST(Module, ChildrenGoInTheirOrderAfterTheParent) {
  std::string order;
  {
    NotedImpl parent(&order, 'p');
    const auto a = parent.register_module("a", std::make_shared<NotedImpl>(&order, 'a'));
    a->register_module("b", std::make_shared<NotedImpl>(&order, 'b'));
    parent.register_module("c", std::make_shared<NotedImpl>(&order, 'c'));
  }
  EXPECT_EQ(order, "pabc");
}

TEST(Module, CloneIsDeep) {
  Net net;
  {
    c10::NoGradGuard no_grad;
    at::fill_(net->own, 7);
    at::fill_(net->second->w, 8);
    at::fill_(net->first->count, 3);
  }
  net->second->w.set_requires_grad(false);
  net->eval();
  auto copy = std::dynamic_pointer_cast<NetImpl>(net->clone());
  ASSERT_NE(copy, nullptr);
  EXPECT_TRUE(same(copy->own, net->own));
  EXPECT_FALSE(copy->own.is_same(net->own));
  EXPECT_NE(copy->own.data_ptr(), net->own.data_ptr());
  EXPECT_NE(copy->second.ptr(), net->second.ptr());
  EXPECT_TRUE(same(copy->second->w, net->second->w));
  EXPECT_FALSE(copy->second->w.requires_grad());
  EXPECT_TRUE(copy->own.requires_grad() && copy->own.is_leaf());
  EXPECT_EQ(at::item(copy->first->count).toLong(), 3);
  EXPECT_FALSE(copy->is_training());
  // The members are the registered tensors.
  EXPECT_TRUE(copy->named_parameters()["second.w"].is_same(copy->second->w));
  c10::NoGradGuard no_grad;
  at::fill_(copy->own, 1);
  EXPECT_EQ(at::item(at::sum(net->own)).toDouble(), 21.0);
}

struct LateImpl : Cloneable<LateImpl> {
  LateImpl() { late = register_parameter("late", at::ones({1})); }
  void reset() override {}
  at::Tensor late;
};

TEST(Module, CloneErrors) {
  EXPECT_EQ(message_of([] { Plain().clone(); }),
            "clone() has not been implemented for torch::nn::(anonymous namespace)::Plain. Subclass "
            "torch::nn::Cloneable<torch::nn::(anonymous namespace)::Plain> instead of torch::nn::Module to inherit the "
            "ability to clone.");
  LateImpl late;
  EXPECT_EQ(message_of([&] {
              late.clone();
            }).rfind("The cloned module does not have the same number of parameters as the original module", 0),
            0u);
}

TEST(Module, As) {
  Net net;
  std::shared_ptr<Module> m = net.ptr();
  EXPECT_EQ(m->as<NetImpl>(), net.get());
  EXPECT_EQ(m->as<Net>(), net.get());
  EXPECT_EQ(m->as<Leaf>(), nullptr);
}

TEST(Module, ZeroGrad) {
  Net net;
  net->own.mutable_grad() = at::ones({3});
  net->zero_grad(/*set_to_none=*/false);
  EXPECT_TRUE(same(net->own.grad(), at::zeros({3})));
  EXPECT_FALSE(net->first->w.grad().defined());
  net->zero_grad();
  EXPECT_FALSE(net->own.grad().defined());
}

TEST(Module, Text) {
  Net net;
  std::ostringstream out;
  out << *net << "\n" << net->first;
  EXPECT_EQ(out.str(),
            "torch::nn::(anonymous namespace)::NetImpl(\n"
            "  (first): torch::nn::(anonymous namespace)::LeafImpl\n"
            "  (second): torch::nn::(anonymous namespace)::LeafImpl\n"
            ")\n"
            "torch::nn::(anonymous namespace)::LeafImpl");
  EXPECT_EQ(c10::str(*net, "\n", net->first), out.str());
}

TEST(Module, ArchivesAreNamedWhereTheyAreMissing) {
  Net net;
  alignas(64) char unused[1];
  auto& archive = reinterpret_cast<serialize::OutputArchive&>(unused);
  EXPECT_NE(message_of([&] { net->save(archive); }).find("//utils/serialize"), std::string::npos);
}

TEST(ModuleHolder, Behaviour) {
  c10::NoGradGuard no_grad;
  Leaf a(2);
  Leaf b = a;
  EXPECT_EQ(a.ptr(), b.ptr());
  Leaf empty(nullptr);
  EXPECT_TRUE(empty.is_empty());
  EXPECT_FALSE(empty);
  EXPECT_EQ(message_of([&] { empty->reset(); }), "Accessing empty ModuleHolder");
  EXPECT_EQ(message_of([&] { empty(at::ones({2})); }), "Accessing empty ModuleHolder");
  EXPECT_EQ(message_of([&] { empty.ptr(); }), "Accessing empty ModuleHolder");
  Leaf from(std::make_shared<LeafImpl>(5));
  EXPECT_EQ(from->n, 5);
  EXPECT_TRUE(same(a(at::ones({2})), at::ones({2})));
  static_assert(!std::is_convertible_v<Leaf, std::shared_ptr<Module>>);
  static_assert(std::is_same_v<Leaf::ContainedType, LeafImpl> && std::is_same_v<Leaf::Impl, LeafImpl>);
}

TEST(ModuleList, NumbersItsChildren) {
  ModuleList list(Leaf(1), LeafImpl(2));
  list->push_back(std::make_shared<LeafImpl>(3));
  list->insert(1, Leaf(9));
  EXPECT_EQ(list->size(), 4u);
  EXPECT_EQ(list->named_children().keys(), (std::vector<std::string>{"0", "1", "2", "3"}));
  EXPECT_EQ(list->at<LeafImpl>(1).n, 9);
  EXPECT_EQ(list->named_parameters()["1.w"].numel(), 9);
  EXPECT_EQ(list->ptr<LeafImpl>(3)->n, 3);
  EXPECT_EQ(list[0]->as<Leaf>()->n, 1);
  EXPECT_EQ(message_of([&] { list->ptr(4); }), "Index out of range");
  EXPECT_THROW(list->at<NetImpl>(0), c10::Error);
  int64_t total = 0;
  for (const auto& m : *list) total += m->as<Leaf>()->n;
  EXPECT_EQ(total, 15);
  auto copy = std::dynamic_pointer_cast<ModuleListImpl>(list->clone());
  EXPECT_EQ(copy->size(), 4u);
  EXPECT_NE(copy->ptr(0), list->ptr(0));
  ModuleList more;
  more->extend(*list);
  EXPECT_EQ(more->size(), 4u);
}

}  // namespace
}  // namespace torch::nn
