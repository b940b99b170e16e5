// What operators of other programs record themselves with, and small names of ATen and c10.
#include <ATen/DeviceGuard.h>
#include <ATen/NumericUtils.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/div_rtn.h>
#include <c10/util/TypeCast.h>
#include <c10/util/bit_cast.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/library.h>
#include <torch/torch.h>

#include <limits>

#include "c10/testing/message_of.h"

namespace {

using c10::testing::message_of;
using torch::Tensor;

struct TripleBackward : torch::autograd::Node {
  torch::autograd::variable_list apply(torch::autograd::variable_list&& grads) override { return {grads[0] * 3}; }
};

Tensor triple(const Tensor& x) {
  const bool record = torch::autograd::compute_requires_grad(x);
  Tensor y;
  {
    at::AutoDispatchBelowADInplaceOrView below;
    y = x * 3;
  }
  if (record) {
    auto node = c10::make_intrusive<TripleBackward>();
    node->set_next_edges(torch::autograd::collect_next_edges(x));
    torch::autograd::set_history(y, node);
  }
  return y;
}

TEST(GraphBuilding, AnOperatorRecordsItself) {
  const Tensor x = torch::ones({2}, torch::requires_grad());
  const Tensor y = triple(x);
  EXPECT_EQ(torch::autograd::impl::gradient_edge(y).function, y.grad_fn());
  EXPECT_EQ(torch::autograd::impl::gradient_edge(y).input_nr, 0u);
  (y * y).sum().backward();
  EXPECT_TRUE(torch::equal(x.grad(), torch::full({2}, 18.f)));
  EXPECT_FALSE(triple(torch::ones({2})).requires_grad());
  torch::NoGradGuard off;
  EXPECT_FALSE(triple(x).requires_grad());
}

TEST(GraphBuilding, TakesNodesInSharedPointers) {
  static int alive = 0;
  struct Counted : TripleBackward {
    Counted() { ++alive; }
    ~Counted() override { --alive; }
  };
  const Tensor x = torch::ones({2}, torch::requires_grad());
  { std::shared_ptr<Counted> unused(new Counted(), torch::autograd::deleteNode); }
  EXPECT_EQ(alive, 0);
  for (const bool pointer_first : {true, false}) {
    Tensor y = torch::full({2}, 3.f);
    std::shared_ptr<Counted> node(new Counted(), torch::autograd::deleteNode);
    node->set_next_edges(torch::autograd::collect_next_edges(x));
    torch::autograd::set_history(y, node);
    if (pointer_first) node.reset();
    x.mutable_grad() = Tensor();
    y.sum().backward();
    EXPECT_TRUE(torch::equal(x.grad(), torch::full({2}, 3.f)));
    y = Tensor();
    EXPECT_EQ(alive, pointer_first ? 0 : 1);
  }
  EXPECT_EQ(alive, 0);
  Tensor y = torch::ones({2});
  EXPECT_EQ(message_of([&] { torch::autograd::set_history(y, std::make_shared<TripleBackward>()); }),
            "set_history: a node in a std::shared_ptr needs torch::autograd::deleteNode as its deleter");
  EXPECT_THROW(torch::autograd::set_history(y, std::shared_ptr<TripleBackward>()), c10::Error);
}

TEST(GraphBuilding, AsksAllArguments) {
  using torch::autograd::compute_requires_grad;
  const Tensor x = torch::ones({1}), leaf = torch::ones({1}, torch::requires_grad());
  EXPECT_FALSE(compute_requires_grad(x, std::optional<Tensor>(), std::vector<Tensor>{x, Tensor()}));
  EXPECT_TRUE(compute_requires_grad(x, std::optional<Tensor>(leaf)));
  EXPECT_TRUE(compute_requires_grad(std::vector<Tensor>{x, leaf}, x));
  EXPECT_TRUE(compute_requires_grad(at::TensorList({x, leaf})));
  EXPECT_TRUE(torch::autograd::any_variable_requires_grad({x, leaf}));
  EXPECT_FALSE(torch::autograd::any_variable_requires_grad({x, Tensor()}));
  const auto list = torch::autograd::flatten_tensor_args(x, std::vector<Tensor>{leaf, x}, std::optional<Tensor>(leaf));
  ASSERT_EQ(list.size(), 4u);
  EXPECT_TRUE(list[1].is_same(leaf) && list[3].is_same(leaf));
}

TEST(GraphBuilding, EdgesAndVersionsAreSetByHand) {
  Tensor y = torch::ones({2});
  auto node = c10::make_intrusive<TripleBackward>();
  torch::autograd::create_gradient_edge(y, node);
  EXPECT_TRUE(y.requires_grad() && !y.is_leaf());
  EXPECT_EQ(node->num_inputs(), 1u);
  EXPECT_THROW(torch::autograd::set_history(y, {}), c10::Error);

  const Tensor x = torch::ones({2}, torch::requires_grad()), saved = x * 2;
  const Tensor z = (saved * saved).sum();
  const auto before = saved._version();
  torch::autograd::increment_version(saved);
  EXPECT_EQ(saved._version(), before + 1);
  EXPECT_NE(message_of([&] { z.backward(); }).find("modified by an inplace operation"), std::string::npos);
  EXPECT_EQ(torch::autograd::impl::try_get_grad_accumulator(x), torch::autograd::impl::grad_accumulator(x));
  EXPECT_EQ(torch::autograd::impl::get_autograd_meta(torch::ones({1})), nullptr);
  EXPECT_NE(torch::autograd::impl::materialize_autograd_meta(y), nullptr);
}

TEST(Schema, MadeBeforeItIsDefined) {
  auto m = MAKE_TORCH_LIBRARY(schema_names_test);
  m.def(torch::schema("twice(Tensor x) -> Tensor", c10::AliasAnalysisKind::CONSERVATIVE),
        [](const Tensor& x) { return x * 2; });
  m.def(torch::schema("empty(Tensor x) -> Tensor"));
  const auto twice = c10::Dispatcher::singleton().findSchemaOrThrow("schema_names_test::twice", "");
  EXPECT_EQ(twice.typed<Tensor(const Tensor&)>().call(torch::ones({1})).item<float>(), 2);
  EXPECT_TRUE(c10::Dispatcher::singleton().findSchema({"schema_names_test::empty", ""}).has_value());
  EXPECT_THROW(torch::schema("no schema"), c10::Error);
}

TEST(TensorRefs, LendAndAsk) {
  const Tensor x = torch::ones({2, 3});
  const c10::MaybeOwned<Tensor> lent = at::borrow_from_optional_tensor(std::optional<Tensor>(x));
  EXPECT_FALSE(at::borrow_from_optional_tensor(std::nullopt)->defined());
  const std::optional<Tensor> some = x;
  EXPECT_TRUE(at::borrow_from_optional_tensor(some).unsafeIsBorrowed());
  EXPECT_TRUE(at::borrow_from_optional_tensor(some)->is_same(x));
  EXPECT_EQ(at::numel(x), 6);
  EXPECT_EQ(at::device_of(x), torch::Device(torch::kCPU));
  EXPECT_FALSE(at::device_of(Tensor()).has_value() || at::device_of(at::TensorList()).has_value());
  EXPECT_EQ(at::device_of(at::TensorList({x})), torch::Device(torch::kCPU));
  const at::OptionalTensorRef none, one(x);
  EXPECT_FALSE(none.has_value());
  EXPECT_TRUE(one && one->is_same(x) && (*one).is_same(x));
  const at::IntList sizes = x.sizes();
  EXPECT_EQ(sizes.size(), 2u);
}

TEST(WrapDims, ListsOfDimensions) {
  std::vector<int64_t> dims = {-1, 0, -2};
  at::maybe_wrap_dims(dims, 3);
  EXPECT_EQ(dims, (std::vector<int64_t>{2, 0, 1}));
  EXPECT_THROW(at::maybe_wrap_dims(dims, 2), c10::IndexError);
  EXPECT_EQ(at::dim_list_to_bitset(at::IntArrayRef({0, -1}), 3).to_ulong(), 0b101u);
  EXPECT_EQ(at::dim_list_to_bitset(std::nullopt, 2).to_ulong(), 0b11u);
  EXPECT_EQ(at::dim_list_to_bitset(at::IntArrayRef(), 2).to_ulong(), 0b11u);
  EXPECT_EQ(at::dim_list_to_bitset(at::IntArrayRef(), 2, true).to_ulong(), 0u);
  EXPECT_EQ(message_of([] { at::dim_list_to_bitset(at::IntArrayRef({1, -1}), 2); }),
            "dim 1 appears multiple times in the list of dims");
  EXPECT_EQ(message_of([] { at::dim_list_to_bitset(std::nullopt, 65); }), "only tensors with up to 64 dims are supported");
  EXPECT_EQ(at::legacy_cat_wrap_dim(-1, std::vector<Tensor>{torch::empty({0}), torch::empty({2, 3})}), 1);
}

TEST(Numbers, CastsAndQuotients) {
  EXPECT_EQ(c10::bit_cast<uint32_t>(1.f), 0x3f800000u);
  EXPECT_TRUE(at::_isnan(c10::Half(std::numeric_limits<float>::quiet_NaN())) && !at::_isnan(3) && !at::_isnan(1.0));
  EXPECT_TRUE(at::_isnan(c10::complex<float>(0, NAN)) && at::_isinf(-INFINITY) && !at::_isinf(7));
  EXPECT_EQ(at::exp(0.f), 1.f);
  EXPECT_EQ(div_rtn(7, 2), 3);
  EXPECT_EQ(div_rtn(-7, 2), -4);
  EXPECT_EQ(div_rtn(7, -2), -4);
  EXPECT_EQ(div_rtn(-6, 2), -3);
}

TEST(OtherDevices, AreNotThere) {
  EXPECT_FALSE(torch::mps::is_available() || torch::xpu::is_available());
  EXPECT_EQ(torch::xpu::device_count(), 0u);
  torch::mps::manual_seed(1);
  torch::xpu::manual_seed_all(1);
  EXPECT_THROW(torch::mps::synchronize(), c10::Error);
  EXPECT_THROW(torch::xpu::synchronize(0), c10::Error);
}

}  // namespace
