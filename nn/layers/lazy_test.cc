// Lazy layers before and after their first forward, and batch norms made SyncBatchNorm.
#include "nn/layers/lazy.h"

#include <gtest/gtest.h>

#include <sstream>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/testing/message_of.h"
#include "nn/layers/layers.h"
#include "nn/module/module_list.h"
#include "nn/module/sequential.h"

namespace torch::nn {
namespace {

using c10::testing::message_of;

std::string text(const Module& m) {
  std::ostringstream s;
  s << m;
  return s.str();
}

TEST(Lazy, BecomesThePlainLayer) {
  LazyLinear lazy(3);
  EXPECT_EQ(text(*lazy), "torch::nn::LazyLinear(in_features=0, out_features=3, bias=true)");
  EXPECT_TRUE(lazy->has_uninitialized_params());
  EXPECT_FALSE(lazy->weight.defined());
  EXPECT_TRUE(lazy->state_dict().is_empty());
  const std::string message = message_of([&] { lazy->parameters(); });
  EXPECT_NE(message.find("the parameters of a LazyLinear, are not initialized"), std::string::npos) << message;
  lazy->zero_grad();
  at::manual_seed(1);
  lazy(at::ones({2, 5}));
  EXPECT_EQ(text(*lazy), "torch::nn::Linear(in_features=5, out_features=3, bias=true)");
  at::manual_seed(1);
  Linear plain(5, 3);
  EXPECT_TRUE(at::equal(lazy->weight, plain->weight) && at::equal(lazy->bias, plain->bias));
  EXPECT_EQ(lazy->named_parameters().keys(), plain->named_parameters().keys());
  EXPECT_TRUE(lazy->weight.requires_grad());
  // From now on the size is fixed.
  EXPECT_ANY_THROW(lazy(at::ones({2, 4})));
}

TEST(Lazy, InASequenceOnAnotherDtype) {
  Sequential net(LazyConv2d(LazyConv2dOptions(4, 3).padding(1)), LazyBatchNorm2d(), Flatten(), LazyLinear(2));
  EXPECT_ANY_THROW(net->parameters());
  net->to(at::kDouble);
  net->forward(at::ones({2, 3, 4, 4}, at::TensorOptions(at::kDouble)));
  EXPECT_EQ(net->parameters().size(), 6u);
  for (const at::Tensor& p : net->parameters()) EXPECT_EQ(p.scalar_type(), at::kDouble);
  EXPECT_EQ(net->ptr<LazyLinearImpl>(3)->options.in_features(), 64);
  EXPECT_EQ(net->ptr<LazyBatchNorm2dImpl>(1)->running_mean.sizes(), at::IntArrayRef({4}));
}

TEST(Lazy, ClonesBothWays) {
  Sequential net(LazyLinear(2), LazyInstanceNorm1d());
  const auto copy = std::dynamic_pointer_cast<SequentialImpl>(net->clone());
  net->forward(at::ones({1, 2, 3}));
  EXPECT_TRUE(copy->ptr<LazyLinearImpl>(0)->has_uninitialized_params());
  copy->forward(at::ones({1, 3, 7}));
  EXPECT_EQ(copy->ptr<LazyLinearImpl>(0)->options.in_features(), 7);
  EXPECT_EQ(net->ptr<LazyLinearImpl>(0)->options.in_features(), 3);
  const auto later = std::dynamic_pointer_cast<LinearImpl>(net->ptr<LazyLinearImpl>(0)->clone());
  EXPECT_TRUE(at::equal(later->weight, net->ptr<LazyLinearImpl>(0)->weight));
}

TEST(Lazy, TakesItsSizesFromAState) {
  const Sequential plain(Conv1d(Conv1dOptions(4, 6, 3).groups(2)), ConvTranspose1d(6, 2, 3), BatchNorm1d(2),
                         Linear(5, 2));
  Sequential lazy(LazyConv1d(LazyConv1dOptions(6, 3).groups(2)), LazyConvTranspose1d(2, 3), LazyBatchNorm1d(),
                  LazyLinear(2));
  lazy->load_state_dict(plain->state_dict());
  EXPECT_EQ(lazy->state_dict().keys(), plain->state_dict().keys());
  for (const auto& item : plain->state_dict()) EXPECT_TRUE(at::equal(lazy->state_dict()[item.key()], item.value()));
  // A state without them leaves them as they are.
  LazyLinear empty(2), other(2);
  empty->load_state_dict(other->state_dict());
  EXPECT_TRUE(empty->has_uninitialized_params());
  EXPECT_ANY_THROW(Linear(2, 2)->load_state_dict(other->state_dict()));
}

TEST(Lazy, RefusesInputsOfOtherRanks) {
  EXPECT_NE(message_of([] {
              LazyConv2d(2, 3)(at::ones({3, 3}));
            }).find("Expected 3D (unbatched) or 4D (batched) input to LazyConv2d, but got input of size: [3, 3]"),
            std::string::npos);
  EXPECT_ANY_THROW(LazyBatchNorm2d()(at::ones({3, 3})));
  EXPECT_ANY_THROW(LazyLinear(2)(at::ones({})));
}

TEST(SyncBatchNorm, TakesThePlaceOfBatchNorms) {
  Sequential net(Conv2d(1, 2, 1), BatchNorm2d(2));
  ModuleList list(net, BatchNorm1d(3));
  const at::Tensor weight = net->ptr<BatchNorm2dImpl>(1)->weight;
  const auto same = SyncBatchNorm::convert_sync_batchnorm(list);
  EXPECT_EQ(same, list.ptr());
  const auto sync = std::dynamic_pointer_cast<SyncBatchNormImpl>(net->ptr(1));
  ASSERT_NE(sync, nullptr);
  EXPECT_TRUE(sync->weight.is_same(weight));
  EXPECT_NE(list->ptr<SyncBatchNormImpl>(1), nullptr);
  EXPECT_EQ(text(*sync), "torch::nn::SyncBatchNorm(2, eps=1e-05, momentum=0.1, affine=true, track_running_stats=true)");
  net->forward(at::ones({2, 1, 2, 2}));
  EXPECT_NE(SyncBatchNorm::convert_sync_batchnorm(BatchNorm1d(2))->as<SyncBatchNormImpl>(), nullptr);
  EXPECT_EQ(message_of([] { SyncBatchNorm(2)(at::ones({2})); }), "expected at least 2D input (got 1D input)");
}

TEST(Sequence, InASequence) {
  Linear a(2, 3), b(3, 1);
  Sequential inner(b, ReLU());
  Sequential net(a, inner);
  const at::Tensor x = at::ones({4, 2});
  EXPECT_TRUE(at::equal(net->forward(x), inner->forward(a(x))));
  EXPECT_EQ(net->named_parameters().keys(), (std::vector<std::string>{"0.weight", "0.bias", "1.0.weight", "1.0.bias"}));
  EXPECT_EQ(std::dynamic_pointer_cast<SequentialImpl>(net->clone())->forward(x).sizes(), at::IntArrayRef({4, 1}));
}

}  // namespace
}  // namespace torch::nn
