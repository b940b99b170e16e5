// Modules and their state dictionaries in files.
#include "utils/serialize/module_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "aten/core/empty.h"

namespace torch::serialize {
namespace {

at::Tensor floats(std::initializer_list<float> values) {
  at::Tensor t = at::empty_contiguous({static_cast<int64_t>(values.size())}, c10::ScalarType::Float);
  std::copy(values.begin(), values.end(), t.data_ptr<float>());
  return t;
}

struct Inner : nn::Module {
  Inner() {
    weight = register_parameter("weight", floats({1, 2, 3}));
    mean = register_buffer("mean", floats({4}));
  }
  c10::IValue get_extra_state() const override { return c10::IValue(extra); }
  void set_extra_state(const c10::IValue& state) override { extra = state.toStringRef(); }
  at::Tensor weight, mean;
  std::string extra = "some";
};

struct Outer : nn::Module {
  Outer() {
    inner = register_module("inner", std::make_shared<Inner>());
    tied = register_parameter("tied", inner->weight);
  }
  std::shared_ptr<Inner> inner;
  at::Tensor tied;
};

TEST(StateDictFile, ThereAndBack) {
  auto net = std::make_shared<Outer>();
  std::stringstream file, whole;
  torch::save(net->state_dict(), file);
  torch::save(net, whole);
  nn::StateDict state;
  torch::load(state, file);
  EXPECT_THAT(state.keys(), ::testing::ElementsAre("tied", "inner.weight", "inner.mean"));
  EXPECT_EQ(state["inner.weight"].data_ptr<float>()[2], 3);
  EXPECT_FALSE(state["inner.weight"].requires_grad());
  EXPECT_EQ(state["tied"].data_ptr(), state["inner.weight"].data_ptr());
  ASSERT_EQ(state.extra_state.size(), 1u);
  EXPECT_EQ(state.extra_state["inner._extra_state"].toStringRef(), "some");

  auto other = std::make_shared<Outer>();
  other->inner->extra = "";
  other->inner->mean.data_ptr<float>()[0] = 0;
  other->load_state_dict(state);
  EXPECT_EQ(other->inner->mean.data_ptr<float>()[0], 4);
  EXPECT_EQ(other->inner->extra, "some");
  // A module's own file is a state dictionary, too, and the other way round.
  nn::StateDict of_module;
  torch::load(of_module, whole);
  EXPECT_EQ(of_module.keys(), state.keys());
  file.seekg(0);
  other->inner->mean.data_ptr<float>()[0] = 0;
  torch::load(other, file);
  EXPECT_EQ(other->inner->mean.data_ptr<float>()[0], 4);
}

}  // namespace
}  // namespace torch::serialize
