#include "nn/module/state_dict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/testing/message_of.h"
#include "c10/util/warning.h"
#include "nn/module/module_dict.h"
#include "nn/module/module_list.h"
#include "nn/module/parameter_containers.h"
#include "nn/module/sequential.h"

namespace torch::nn {

// Like the layers of these names.
struct DenseImpl : Cloneable<DenseImpl> {
  DenseImpl(int64_t in, int64_t out) : in(in), out(out) { reset(); }
  void reset() override {
    weight = register_parameter("weight", at::zeros({out, in}));
    bias = register_parameter("bias", at::zeros({out}));
  }
  at::Tensor forward(const at::Tensor& x) { return x; }
  int64_t in, out;
  at::Tensor weight, bias;
};
TORCH_MODULE(Dense);

struct NormImpl : Cloneable<NormImpl> {
  NormImpl() { reset(); }
  void reset() override {
    none = register_parameter("none", at::Tensor(), false);
    mean = register_buffer("mean", at::zeros({2}));
    cache = register_buffer("cache", at::zeros({5}), /*persistent=*/false);
    count = register_buffer("count", at::zeros({}, at::TensorOptions(at::kLong)));
  }
  at::Tensor forward(const at::Tensor& x) { return x; }
  int64_t state_dict_version() const override { return 2; }
  void upgrade_state_dict(StateDict& state, const std::string& prefix, std::optional<int64_t> version) const override {
    if (version.value_or(1) < 2 && !state.contains(prefix + "count")) state.insert(prefix + "count", at::detach(count));
  }
  at::Tensor none, mean, cache, count;
};
TORCH_MODULE(Norm);

struct ClockImpl : Module {
  c10::IValue get_extra_state() const override { return ticks; }
  void set_extra_state(const c10::IValue& state) override { ticks = state.toInt(); }
  int64_t ticks = 0;
};
TORCH_MODULE(Clock);

// An output layer that uses the weights of the input layer.
struct TiedImpl : Cloneable<TiedImpl> {
  TiedImpl() { reset(); }
  void reset() override {
    first = register_module("first", Dense(3, 3));
    last = register_module("last", Dense(3, 3));
    last->weight = last->replace_parameter("weight", first->weight);
    again = register_module("again", first);
  }
  Dense first{nullptr}, last{nullptr}, again{nullptr};
};
TORCH_MODULE(Tied);

namespace {

using c10::testing::message_of;
using Keys = std::vector<std::string>;

std::string text(const IncompatibleKeys& keys) {
  std::ostringstream out;
  out << keys;
  return out.str();
}

Sequential small() {
  Sequential net;
  net->push_back(Dense(2, 3));
  net->push_back(Norm());
  return net;
}

void fill(const at::Tensor& t, double value) {
  c10::NoGradGuard no_grad;
  at::Tensor target = t;
  at::fill_(target, value);
}
double total(const at::Tensor& t) {
  return at::item(at::sum(at::detach(t))).toDouble();
}

TEST(StateDict, HoldsParametersAndPersistentBuffers) {
  Sequential net = small();
  const StateDict state = net->state_dict();
  EXPECT_EQ(state.keys(), (Keys{"0.weight", "0.bias", "1.mean", "1.count"}));
  EXPECT_EQ(net->state_dict("model.").keys(),
            (Keys{"model.0.weight", "model.0.bias", "model.1.mean", "model.1.count"}));
  EXPECT_FALSE(state["0.weight"].requires_grad());
  fill(net->at<DenseImpl>(0).weight, 2);
  EXPECT_EQ(total(state["0.weight"]), 12) << "the data is shared";
  EXPECT_TRUE(net->state_dict("", /*keep_vars=*/true)["0.weight"].is_same(net->at<DenseImpl>(0).weight));
  EXPECT_EQ(state.versions.keys(), (Keys{"", "0", "1"}));
  EXPECT_EQ(state.versions["1"], 2);
  EXPECT_EQ(net->named_buffers().keys(), (Keys{"1.mean", "1.cache", "1.count"}));
}

TEST(StateDict, LoadsInPlace) {
  Sequential from = small(), to = small();
  fill(from->at<DenseImpl>(0).weight, 2);
  fill(from->at<NormImpl>(1).cache, 9);
  const at::Tensor weight = to->at<DenseImpl>(0).weight;
  const void* data = weight.data_ptr();
  const IncompatibleKeys keys = to->load_state_dict(from->state_dict());
  EXPECT_EQ(text(keys), "<All keys matched successfully>");
  EXPECT_EQ(weight.data_ptr(), data);
  EXPECT_EQ(total(weight), 12);
  EXPECT_TRUE(weight.requires_grad() && weight.is_leaf());
  EXPECT_EQ(total(to->at<NormImpl>(1).cache), 0);
  to->load_state_dict(from->named_parameters(), /*strict=*/false);
}

TEST(StateDict, ReportsEverythingAtOnce) {
  Sequential m = small();
  StateDict state = m->state_dict();
  state.insert("extra", at::ones({1}));
  state.insert("1.cache", at::ones({5}));
  state.insert("0.more.deep", at::ones({1}));
  state.erase("0.bias");
  EXPECT_EQ(message_of([&] { m->load_state_dict(state); }),
            "Error(s) in loading state_dict for Sequential:\n\tMissing key(s) in state_dict: \"0.bias\". "
            "\n\tUnexpected key(s) in state_dict: \"extra\", \"0.more.deep\", \"1.cache\". ");
  EXPECT_EQ(text(m->load_state_dict(state, /*strict=*/false)),
            "_IncompatibleKeys(missing_keys=['0.bias'], unexpected_keys=['extra', '0.more.deep', '1.cache'])");
  state["0.weight"] = at::ones({2, 2});
  state["1.mean"] = at::ones({7});
  const std::string sizes =
      "size mismatch for 0.weight: copying a param with shape torch.Size([2, 2]) from checkpoint, the shape in current "
      "model is "
      "torch.Size([3, 2]).\n\tsize mismatch for 1.mean: copying a param with shape torch.Size([7]) from checkpoint, "
      "the shape "
      "in current model is torch.Size([2]).";
  state["1.count"] = at::full({}, 5);
  EXPECT_EQ(message_of([&] { m->load_state_dict(state, /*strict=*/false); }),
            "Error(s) in loading state_dict for Sequential:\n\t" + sizes);
  EXPECT_EQ(message_of([&] { m->load_state_dict(state); }),
            "Error(s) in loading state_dict for Sequential:\n\tMissing key(s) in state_dict: \"0.bias\". "
            "\n\tUnexpected key(s) "
            "in state_dict: \"extra\", \"0.more.deep\", \"1.cache\". \n\t" +
                sizes);
  EXPECT_EQ(total(m->at<NormImpl>(1).count), 0) << "nothing was copied";
}

TEST(StateDict, AssignTakesTheTensorsOver) {
  Dense m(2, 3);
  m->bias.set_requires_grad(false);
  m->to_empty(c10::Device(c10::kMeta));
  EXPECT_TRUE(m->weight.is_meta());
  StateDict state;
  state.insert("weight", at::ones({3, 2}, at::TensorOptions(at::kDouble)));
  state.insert("bias", at::ones({3}));
  const at::Tensor weight = m->weight;
  m->load_state_dict(state, true, /*assign=*/true);
  EXPECT_TRUE(m->weight.is_same(weight));
  EXPECT_EQ(weight.data_ptr(), state["weight"].data_ptr());
  EXPECT_EQ(weight.scalar_type(), at::kDouble);
  EXPECT_TRUE(weight.requires_grad());
  EXPECT_FALSE(m->bias.requires_grad());
  EXPECT_FALSE(state["weight"].requires_grad());
}

struct Collecting : c10::WarningHandler {
  void process(const c10::Warning& warning) override { messages.push_back(warning.msg()); }
  std::vector<std::string> messages;
};

TEST(StateDict, CopyingIntoAMetaModelWarns) {
  Dense m(2, 3);
  const StateDict state = Dense(2, 3)->state_dict();
  m->to_empty(c10::Device(c10::kMeta));
  Collecting warnings;
  {
    c10::WarningUtils::WarningHandlerGuard guard(&warnings);
    m->load_state_dict(state);
  }
  ASSERT_EQ(warnings.messages.size(), 2u);
  EXPECT_EQ(warnings.messages[0].rfind(
                "for weight: copying from a non-meta parameter in the checkpoint to a meta parameter", 0),
            0u);
  m->to_empty(c10::Device(c10::kCPU));
  m->load_state_dict(state);
  EXPECT_EQ(total(m->weight), 0);
}

TEST(StateDict, OlderVersionsAreBroughtUpToDate) {
  Sequential m = small();
  StateDict state = m->state_dict();
  state.erase("1.count");
  EXPECT_EQ(text(m->load_state_dict(state, false)), "_IncompatibleKeys(missing_keys=['1.count'], unexpected_keys=[])");
  state.versions.clear();
  EXPECT_EQ(text(m->load_state_dict(state)), "<All keys matched successfully>");
}

TEST(StateDict, NumbersOfOldAreListsOfOne) {
  Norm m;
  StateDict state = m->state_dict();
  state["count"] = at::full({1}, 4);
  m->load_state_dict(state);
  EXPECT_EQ(total(m->count), 4);
  EXPECT_EQ(m->count.dim(), 0);
}

TEST(StateDict, ExtraState) {
  ModuleDict m;
  Clock a, b;
  m->set_submodule("a", a);
  m->set_submodule("b", b);
  a->ticks = 3;
  StateDict state = m->state_dict();
  EXPECT_EQ(state.extra_state.keys(), (Keys{"a._extra_state", "b._extra_state"}));
  a->ticks = 0;
  m->load_state_dict(state);
  EXPECT_EQ(a->ticks, 3);
  state.extra_state.erase("a._extra_state");
  state.extra_state.insert("_extra_state", 1);
  EXPECT_EQ(text(m->load_state_dict(state, false)),
            "_IncompatibleKeys(missing_keys=['a._extra_state'], unexpected_keys=['_extra_state'])");
}

TEST(StateDict, Hooks) {
  Dense m(2, 1);
  Keys log;
  m->register_state_dict_pre_hook([&](Module&, const std::string& prefix, bool) { log.push_back("pre " + prefix); });
  m->register_state_dict_post_hook([&](Module&, StateDict& state, const std::string& prefix) {
    log.push_back("post " + std::to_string(state.size()));
    state.erase(prefix + "bias");
  });
  auto handle = m->register_load_state_dict_pre_hook(
      [&](Module&, StateDict& state, const std::string& prefix, bool strict, Keys&, Keys&, Keys& errors) {
        log.push_back("load pre " + std::to_string(state.size()) + (strict ? " strict" : ""));
        EXPECT_TRUE(errors.empty());
        state.insert(prefix + "bias", at::ones({1}));
      });
  m->register_load_state_dict_post_hook(
      [&](Module&, IncompatibleKeys& keys) { log.push_back("load post " + std::to_string(keys.missing_keys.size())); });
  Sequential net(m);
  const StateDict state = net->state_dict();
  EXPECT_EQ(state.keys(), (Keys{"0.weight"}));
  EXPECT_EQ(text(net->load_state_dict(state)), "<All keys matched successfully>");
  EXPECT_EQ(total(m->bias), 1);
  EXPECT_EQ(log, (Keys{"pre 0.", "post 2", "load pre 1 strict", "load post 0"}));
  handle.remove();
  EXPECT_THROW(net->load_state_dict(state), c10::Error);
  // A hook may accept what is missing.
  m->register_load_state_dict_post_hook([](Module&, IncompatibleKeys& keys) { keys.missing_keys.clear(); });
  fill(m->weight, 5);
  EXPECT_EQ(text(net->load_state_dict(Sequential(m)->state_dict())), "<All keys matched successfully>");
}

TEST(Sharing, CountsOnce) {
  Tied m;
  EXPECT_EQ(m->named_parameters().keys(), (Keys{"first.weight", "first.bias", "last.bias"}));
  EXPECT_EQ(m->named_parameters(true, /*remove_duplicate=*/false).size(), 6u);
  EXPECT_EQ(m->named_modules().keys(), (Keys{"", "first", "last"}));
  EXPECT_EQ(m->modules().size(), 3u);
  EXPECT_EQ(m->state_dict().size(), 6u);
}

TEST(Sharing, SurvivesConversionAndLoading) {
  Tied m;
  m->to(at::kDouble);
  EXPECT_TRUE(m->first->weight.is_same(m->last->weight));
  EXPECT_EQ(m->last->weight.scalar_type(), at::kDouble);
  m->to_empty(c10::Device(c10::kCPU));
  EXPECT_EQ(m->first->weight.data_ptr(), m->last->weight.data_ptr());
  Tied other;
  fill(other->first->weight, 2);
  m->load_state_dict(other->state_dict());
  EXPECT_EQ(total(m->last->weight), 18);
  m->load_state_dict(other->state_dict(), true, /*assign=*/true);
  EXPECT_EQ(m->first->weight.data_ptr(), m->last->weight.data_ptr());
}

TEST(Sharing, SurvivesClone) {
  Tied m;
  fill(m->first->weight, 4);
  auto copy = std::dynamic_pointer_cast<TiedImpl>(m->clone());
  EXPECT_TRUE(copy->first->weight.is_same(copy->last->weight));
  EXPECT_TRUE(copy->named_parameters(true, false)["last.weight"].is_same(copy->last->weight));
  EXPECT_FALSE(copy->first->weight.is_same(m->first->weight));
  EXPECT_EQ(copy->first.ptr(), copy->again.ptr());
  EXPECT_EQ(total(copy->last->weight), 36);
  EXPECT_TRUE(copy->last->weight.requires_grad() && copy->last->weight.is_leaf());
  EXPECT_EQ(copy->parameters().size(), 3u);

  Dense shared(2, 2);
  ModuleList list(shared, shared, Sequential(shared), Dense(2, 2));
  auto list_copy = std::dynamic_pointer_cast<ModuleListImpl>(list->clone());
  EXPECT_EQ(list_copy->ptr(0), list_copy->ptr(1));
  EXPECT_EQ(list_copy->ptr<SequentialImpl>(2)->ptr(0), list_copy->ptr(0));
  EXPECT_NE(list_copy->ptr(0), std::static_pointer_cast<Module>(shared.ptr()));
  EXPECT_NE(list_copy->ptr(3), list_copy->ptr(0));

  const at::Tensor t = at::ones({2});
  ParameterList parameters(t, t);
  auto parameters_copy = std::dynamic_pointer_cast<ParameterListImpl>(parameters->clone());
  EXPECT_TRUE((*parameters_copy)[0].is_same((*parameters_copy)[1]));
  EXPECT_NE(shared->clone(), shared->clone());
}

// Makes its children by cloning a given one, as encoders made of layers do.
struct StackImpl : Cloneable<StackImpl> {
  explicit StackImpl(Dense layer) : layer(std::move(layer)) { reset(); }
  void reset() override {
    a = register_module("a", std::dynamic_pointer_cast<DenseImpl>(layer->clone()));
    b = register_module("b", std::dynamic_pointer_cast<DenseImpl>(layer->clone()));
  }
  Dense layer;
  std::shared_ptr<DenseImpl> a, b;
};

TEST(Sharing, WhatResetClonesIsNotShared) {
  auto stack = std::make_shared<StackImpl>(Dense(2, 2));
  fill(stack->a->weight, 1);
  fill(stack->b->weight, 2);
  auto copy = std::dynamic_pointer_cast<StackImpl>(stack->clone());
  EXPECT_NE(copy->a, copy->b);
  EXPECT_EQ(total(copy->a->weight), 4);
  EXPECT_EQ(total(copy->b->weight), 8);
}

TEST(Clone, KeepsEachModulesMode) {
  Sequential net = small();
  net->ptr(0)->eval();
  auto copy = net->clone();
  EXPECT_TRUE(copy->is_training());
  EXPECT_FALSE(copy->children()[0]->is_training());
  EXPECT_EQ(copy->state_dict().size(), 4u) << "buffers that are not persistent stay so";
}

TEST(Paths, GetAndSet) {
  Sequential net = small();
  ModuleList outer(net);
  EXPECT_EQ(outer->get_submodule("0.1"), net->ptr(1));
  EXPECT_EQ(outer->get_submodule(""), std::static_pointer_cast<Module>(outer.ptr()));
  EXPECT_TRUE(outer->get_parameter("0.0.weight").is_same(net->at<DenseImpl>(0).weight));
  EXPECT_TRUE(outer->get_buffer("0.1.mean").is_same(net->at<NormImpl>(1).mean));
  EXPECT_EQ(message_of([&] { Module("m").get_submodule("x.y"); }), "m has no attribute `x`");
  EXPECT_EQ(message_of([&] { outer->get_submodule("0.7"); }), "Sequential has no attribute `7`");
  EXPECT_EQ(message_of([&] { outer->get_parameter("0.0.zz"); }), "Dense has no attribute `zz`");
  EXPECT_EQ(message_of([&] { outer->get_parameter("0.1.mean"); }), "`mean` is not an nn.Parameter");
  EXPECT_EQ(message_of([&] { outer->get_buffer("0.0.weight"); }), "`weight` is not a buffer");

  Dense other(2, 3);
  outer->set_submodule("0.0", other);
  EXPECT_EQ(outer->get_submodule("0.0"), std::static_pointer_cast<Module>(other.ptr()));
  EXPECT_EQ(net->ptr(0), std::static_pointer_cast<Module>(other.ptr())) << "the sequence calls it";
  EXPECT_NE(message_of([&] { outer->set_submodule("0.0", Norm()); }).find("another type"), std::string::npos);
  // Where the type is known, any module takes the place of any other.
  outer->set_submodule("0.0", AnyModule(Norm()));
  EXPECT_NE(net->ptr(0)->as<Norm>(), nullptr);
  EXPECT_NE(net->at<NormImpl>(0).named_buffers().size(), 0u);
  EXPECT_EQ(outer->get_submodule("0.0"), net->ptr(0));
  EXPECT_NE(message_of([&] { net->set_submodule("9", AnyModule(Norm())); }).find("push_back"), std::string::npos);
  EXPECT_EQ(message_of([&] { net->set_submodule("0", AnyModule()); }), "Cannot set the submodule `0` to nothing");
  EXPECT_EQ(message_of([&] { net->set_submodule("9", AnyModule(Norm()), /*strict=*/true); }),
            "Sequential has no attribute `9`");
  net->replace_module("0", Norm());
  EXPECT_NE(net->ptr(0)->as<Norm>(), nullptr);
  EXPECT_EQ(message_of([&] { outer->set_submodule("", other); }), "Cannot set the submodule without a target name!");
  EXPECT_EQ(message_of([&] { outer->set_submodule("0.7", other, /*strict=*/true); }),
            "Sequential has no attribute `7`");
  ModuleList list(Dense(1, 1));
  list->set_submodule("0", other);
  list->set_submodule("1", AnyModule(Norm()));
  EXPECT_EQ(list->ptr(0), std::static_pointer_cast<Module>(other.ptr()));
  EXPECT_EQ(list->size(), 2u);
  ModuleDict dict;
  dict->set_submodule("new", other);
  EXPECT_TRUE(dict->contains("new"));
}

TEST(Paths, RequiresGrad) {
  Sequential net = small();
  net->requires_grad_(false);
  for (const at::Tensor& p : net->parameters()) EXPECT_FALSE(p.requires_grad());
  EXPECT_TRUE(net->requires_grad_().parameters()[0].requires_grad());
}

}  // namespace
}  // namespace torch::nn
