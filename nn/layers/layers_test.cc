// Layers end to end: values, gradients, modes, errors, clones.
#include "nn/layers/layers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "c10/testing/message_of.h"
#include "c10/util/warning.h"
#include "nn/functional/loss.h"
#include "nn/functional/normalization.h"
#include "nn/module/sequential.h"
#include "nn/module/state_dict.h"

namespace torch::nn {
namespace {

using c10::testing::message_of;

at::Tensor iota(std::vector<int64_t> sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  at::Tensor flat = at::empty({n});
  for (int64_t i = 0; i < n; ++i) flat.data_ptr<float>()[i] = static_cast<float>(i);
  return at::view(flat, sizes);
}

std::vector<float> values_of(const at::Tensor& t) {
  const at::Tensor c = at::contiguous(t);
  return std::vector<float>(c.data_ptr<float>(), c.data_ptr<float>() + c.numel());
}

void expect_near(const at::Tensor& t, const std::vector<float>& wanted, float tolerance = 1e-5f) {
  const std::vector<float> got = values_of(t);
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << i;
}

void set(at::Tensor& t, std::vector<float> values) {
  c10::NoGradGuard no_grad;
  ASSERT_EQ(static_cast<size_t>(t.numel()), values.size());
  for (size_t i = 0; i < values.size(); ++i) t.data_ptr<float>()[i] = values[i];
}

TEST(Linear, ForwardAndBackward) {
  Linear m(2, 3);
  set(m->weight, {1, 2, 3, 4, 5, 6});
  set(m->bias, {0.5, -0.5, 1});
  const at::Tensor x = iota({2, 2});
  const at::Tensor y = m(x);
  expect_near(y, {2.5, 3.5, 7, 8.5, 17.5, 29});
  at::sum(y).backward();
  expect_near(m->weight.grad(), {2, 4, 2, 4, 2, 4});
  expect_near(m->bias.grad(), {2, 2, 2});
  Linear plain(LinearOptions(2, 3).bias(false));
  EXPECT_FALSE(plain->bias.defined());
  EXPECT_EQ(plain->parameters().size(), 1u);
  EXPECT_EQ(plain(at::ones({4, 5, 2})).sizes(), c10::IntArrayRef({4, 5, 3}));
  EXPECT_THROW(plain(at::ones({4, 5})), c10::Error);
  EXPECT_EQ(Linear(0, 3)->weight.numel(), 0);
}

TEST(Conv2d, ForwardPaddingAndErrors) {
  Conv2d m(Conv2dOptions(1, 1, 3).padding(1).bias(false));
  set(m->weight, {0, 0, 0, 0, 1, 0, 0, 0, 0});
  const at::Tensor x = iota({1, 1, 3, 3});
  expect_near(m(x), values_of(x));
  Conv2d same(Conv2dOptions(1, 2, 3).padding(torch::kSame));
  EXPECT_EQ(same(x).sizes(), c10::IntArrayRef({1, 2, 3, 3}));
  Conv2d valid(Conv2dOptions(1, 2, 2).padding(torch::kValid));
  EXPECT_EQ(valid(x).sizes(), c10::IntArrayRef({1, 2, 2, 2}));
  EXPECT_EQ(Conv2d(Conv2dOptions(4, 6, {2, 3}).groups(2))->weight.sizes(), c10::IntArrayRef({6, 2, 2, 3}));
  EXPECT_EQ(message_of([] { Conv2d(Conv2dOptions(3, 4, 3).groups(2)); }), "in_channels must be divisible by groups");
  EXPECT_EQ(message_of([] { Conv2d(Conv2dOptions(4, 3, 3).groups(2)); }), "out_channels must be divisible by groups");
  EXPECT_EQ(message_of([] { Conv2d(Conv2dOptions(4, 4, 3).groups(0)); }),
            "in_channels, groups and out_channels must be a positive integer.");
  EXPECT_EQ(message_of([] { Conv2d(Conv2dOptions(4, 4, 3).stride(2).padding(torch::kSame)); }),
            "padding='same' is not supported for strided convolutions");
}

TEST(Conv2d, CircularPaddingWrapsAround) {
  Conv2d m(Conv2dOptions(1, 1, {1, 3}).padding({0, 1}).bias(false).padding_mode(torch::kCircular));
  set(m->weight, {1, 0, 0});
  expect_near(m(iota({1, 1, 1, 4})), {3, 0, 1, 2});
}

TEST(LayerNorm, NormalizesTheLastDimensions) {
  LayerNorm m(LayerNormOptions({4}));
  const at::Tensor y = m(iota({2, 4}));
  expect_near(y, {-1.3416355f, -0.4472118f, 0.4472118f, 1.3416355f, -1.3416355f, -0.4472118f, 0.4472118f, 1.3416355f});
  EXPECT_TRUE(LayerNorm(LayerNormOptions({4}).elementwise_affine(false))->parameters().empty());
  EXPECT_THROW(m(at::ones({2, 3})), c10::Error);
}

TEST(Embedding, RowsAndPadding) {
  Embedding m(EmbeddingOptions(4, 2).padding_idx(-1));
  EXPECT_EQ(m->options.padding_idx(), 3);
  expect_near(at::select(m->weight, 0, 3), {0, 0});
  set(m->weight, {0, 1, 2, 3, 4, 5, 6, 7});
  at::Tensor indices = at::empty({3}, at::TensorOptions(at::kLong));
  indices.data_ptr<int64_t>()[0] = 2;
  indices.data_ptr<int64_t>()[1] = 2;
  indices.data_ptr<int64_t>()[2] = 3;
  const at::Tensor y = m(indices);
  expect_near(y, {4, 5, 4, 5, 6, 7});
  at::sum(y).backward();
  expect_near(m->weight.grad(), {0, 0, 0, 0, 2, 2, 0, 0});
  EXPECT_EQ(message_of([] { Embedding(EmbeddingOptions(4, 2).padding_idx(4)); }),
            "Padding_idx must be within num_embeddings");
  const Embedding table = Embedding::from_pretrained(at::ones({3, 2}));
  EXPECT_FALSE(table->weight.requires_grad());
  EXPECT_EQ(table->options.num_embeddings(), 3);
  EXPECT_TRUE(Embedding::from_pretrained(at::ones({3, 2}), EmbeddingFromPretrainedOptions().freeze(false))
                  ->weight.requires_grad());
  EXPECT_THROW(Embedding::from_pretrained(at::ones({3})), c10::Error);
}

TEST(Dropout, TrainsAndEvaluates) {
  Dropout m(0.3);
  at::manual_seed(42);
  const std::vector<float> y = values_of(m(at::ones({8})));
  // The draws of PyTorch for this seed.
  for (int i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(y[static_cast<size_t>(i)], i < 6 ? 1.4285715f : 0.0f) << i;
  m->eval();
  expect_near(m(at::ones({8})), std::vector<float>(8, 1.0f));
  EXPECT_EQ(message_of([] { Dropout(1.5); }), "dropout probability has to be between 0 and 1, but got 1.5");
  EXPECT_EQ(message_of([] { Dropout2d(-0.1); }), "dropout probability has to be between 0 and 1, but got -0.1");
}

TEST(Activations, Values) {
  at::Tensor x = at::empty({3});
  set(x, {-1, 0, 2});
  expect_near(ReLU()(x), {0, 0, 2});
  expect_near(GELU()(x), {-0.15865525f, 0, 1.9544997f});
  expect_near(GELU(GELUOptions().approximate("tanh"))(x), {-0.15880801f, 0, 1.9545977f});
  expect_near(Tanh()(x), {-0.7615942f, 0, 0.9640276f});
  expect_near(SiLU()(x), {-0.26894143f, 0, 1.7615942f});
  expect_near(Sigmoid()(x), {0.26894143f, 0.5f, 0.8807971f});
  expect_near(LeakyReLU(LeakyReLUOptions().negative_slope(0.1))(x), {-0.1f, 0, 2});
  expect_near(ELU()(x), {-0.63212055f, 0, 2});
  expect_near(Softplus()(x), {0.3132617f, 0.6931472f, 2.126928f});
  expect_near(Softmax(0)(x), {0.04201007f, 0.1141952f, 0.8437947f});
  expect_near(LogSoftmax(0)(x), {-3.169846f, -2.169846f, -0.169846f});
  expect_near(Softsign()(x), {-0.5f, 0, 0.6666667f});
  expect_near(Hardtanh()(x), {-1, 0, 1});
  expect_near(Threshold(0.5, 9)(x), {9, 9, 2});
  expect_near(PReLU()(x), {-0.25f, 0, 2});
  at::Tensor y = at::clone(x);
  const at::Tensor z = ReLU(ReLUOptions(true))(y);
  EXPECT_TRUE(z.is_same(y));
  expect_near(y, {0, 0, 2});
  expect_near(x, {-1, 0, 2});
}

TEST(Pooling, Values) {
  const at::Tensor x = iota({1, 1, 4, 4});
  expect_near(MaxPool2d(2)(x), {5, 7, 13, 15});
  expect_near(AvgPool2d(2)(x), {2.5, 4.5, 10.5, 12.5});
  expect_near(MaxPool2d(MaxPool2dOptions(3).stride(1))(x), {10, 11, 14, 15});
  const auto [y, indices] = MaxPool2d(2)->forward_with_indices(x);
  EXPECT_EQ(indices.scalar_type(), at::kLong);
  EXPECT_EQ(at::contiguous(indices).data_ptr<int64_t>()[3], 15);
  expect_near(AdaptiveAvgPool2d(AdaptiveAvgPool2dOptions({std::nullopt, 1}))(x), {1.5, 5.5, 9.5, 13.5});
}

TEST(Shapes, FlattenUnflattenIdentity) {
  const at::Tensor x = iota({2, 3, 4});
  EXPECT_EQ(Flatten()(x).sizes(), c10::IntArrayRef({2, 12}));
  EXPECT_EQ(Flatten(FlattenOptions().start_dim(0).end_dim(1))(x).sizes(), c10::IntArrayRef({6, 4}));
  EXPECT_EQ(Unflatten(2, std::vector<int64_t>{2, 2})(x).sizes(), c10::IntArrayRef({2, 3, 2, 2}));
  EXPECT_TRUE(Identity()(x).is_same(x));
}

TEST(BatchNorm2d, TrainsRunningStatistics) {
  BatchNorm2d m(1);
  const at::Tensor x = iota({2, 1, 1, 2});
  expect_near(m(x), {-1.3416355f, -0.4472118f, 0.4472118f, 1.3416355f});
  expect_near(m->running_mean, {0.15f});
  expect_near(m->running_var, {0.9f + 0.1f * 5.0f / 3.0f});
  EXPECT_EQ(at::item(m->num_batches_tracked).toLong(), 1);
  m->eval();
  expect_near(m(at::full({1, 1, 1, 1}, 0.15)), {0});
  EXPECT_EQ(message_of([&] { m(at::ones({1})); }), "expected 4D input (got 1D input)");
  m->train();
  EXPECT_EQ(message_of([&] {
              m(at::ones({1, 1, 1, 1}));
            }),
            "Expected more than 1 value per channel when training, got input size [1, 1, 1, 1]");
}

TEST(Losses, ValuesAndReductions) {
  at::Tensor x = at::empty({3});
  set(x, {1, 2, 4});
  const at::Tensor y = at::zeros({3});
  expect_near(MSELoss()(x, y), {7});
  expect_near(MSELoss(torch::kSum)(x, y), {21});
  expect_near(MSELoss(MSELossOptions().reduction(torch::kNone))(x, y), {1, 4, 16});
  expect_near(L1Loss()(x, y), {7.0f / 3});
  expect_near(SmoothL1Loss()(x, y), {(0.5f + 1.5f + 3.5f) / 3});
  expect_near(HuberLoss(HuberLossOptions().delta(2))(x, y), {(0.5f + 2 + 6) / 3});
  at::Tensor logits = at::empty({2, 3});
  set(logits, {1, 2, 3, 1, 2, 3});
  at::Tensor classes = at::empty({2}, at::TensorOptions(at::kLong));
  classes.data_ptr<int64_t>()[0] = 2;
  classes.data_ptr<int64_t>()[1] = 0;
  expect_near(CrossEntropyLoss()(logits, classes), {1.4076059f});
  expect_near(CrossEntropyLoss(CrossEntropyLossOptions().ignore_index(0))(logits, classes), {0.4076059f});
  expect_near(NLLLoss()(logits, classes), {-2});
  at::Tensor weight = at::empty({3});
  set(weight, {1, 1, 3});
  CrossEntropyLoss weighted(CrossEntropyLossOptions().weight(weight));
  EXPECT_EQ(weighted->named_buffers().keys(), (std::vector<std::string>{"weight"}));
  expect_near(weighted(logits, classes), {(3 * 0.4076059f + 2.4076059f) / 4});
  expect_near(BCEWithLogitsLoss()(x, y), {(1.3132617f + 2.126928f + 4.01815f) / 3});
}

TEST(Losses, BetaOfSmoothL1IsOptional) {
  at::Tensor x = at::empty({2});
  set(x, {1, 4});
  const at::Tensor y = at::zeros({2});
  EXPECT_FALSE(SmoothL1Loss()->options.beta().has_value());
  expect_near(SmoothL1Loss(SmoothL1LossOptions().beta(2))(x, y), {(0.25f + 3) / 2});
  expect_near(functional::smooth_l1_loss(x, y, SmoothL1LossOptions(torch::kSum), 2.0), {3.25f});
  EXPECT_NE(message_of([&] { functional::smooth_l1_loss(x, y, SmoothL1LossOptions().beta(0.5), 2.0); })
                .find("expected beta not to be provided in 'options', but got 0.5"),
            std::string::npos);
}

TEST(Layers, OptionsInEveryForm) {
  static_assert(std::is_default_constructible_v<ReLUImpl> && !std::is_default_constructible_v<SoftmaxImpl>);
  static_assert(std::is_constructible_v<SoftmaxImpl, int> && std::is_constructible_v<ThresholdImpl, double, double>);
  static_assert(!std::is_convertible_v<double, HardshrinkImpl>);
  EXPECT_EQ(Hardshrink(0.25)->options.lambda(), 0.25);
  EXPECT_EQ(MaxPool2d(MaxPool2dOptions({3, 2}).stride({2, 1}))->options.kernel_size()->at(1), 2);
  Conv2dOptions conv(3, 4, 3);
  EXPECT_EQ(conv.stride(2).padding({1, 2}).dilation(1).groups(1).bias(false).in_channels(), 3);
  EXPECT_EQ(std::get<ExpandingArray<2>>(conv.padding())->at(1), 2);
  static_assert(std::is_same_v<decltype(functional::BatchNormFuncOptions().momentum()), double&>);
}

TEST(BatchNorm1d, LoadsStatesFromBeforeItCountedBatches) {
  BatchNorm1d m(2);
  const at::Tensor x = iota({3, 2});
  m(x), m(x);
  StateDict state = m->state_dict();
  EXPECT_EQ(state.keys(),
            (std::vector<std::string>{"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}));
  state.erase("num_batches_tracked");
  EXPECT_THROW(m->load_state_dict(state), c10::Error);
  state.versions.clear();
  EXPECT_TRUE(m->load_state_dict(state).missing_keys.empty());
  EXPECT_EQ(at::item(m->num_batches_tracked).toLong(), 2);
}

struct Collecting : c10::WarningHandler {
  void process(const c10::Warning& warning) override { messages.push_back(warning.msg()); }
  std::vector<std::string> messages;
};

TEST(Losses, WarnOfBroadcasting) {
  Collecting warnings;
  c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  MSELoss()(at::ones({2, 1}), at::ones({2}));
  ASSERT_EQ(warnings.messages.size(), 1u);
  EXPECT_EQ(
      warnings.messages[0],
      "Using a target size ([2]) that is different to the input size ([2, 1]). This will likely lead to incorrect "
      "results due to broadcasting. Please ensure they have the same size.");
}

TEST(Layers, ClonesKeepOptionsAndValues) {
  Sequential net(Conv2d(Conv2dOptions(1, 2, 3).padding(1)), BatchNorm2d(2), ReLU(), MaxPool2d(2), Flatten(),
                 Linear(8, 3), Dropout(0.2));
  net->eval();
  auto copy = std::dynamic_pointer_cast<SequentialImpl>(net->clone());
  const at::Tensor x = iota({2, 1, 4, 4});
  expect_near(copy->forward(x), values_of(net->forward(x)), 0);
  EXPECT_EQ(copy->parameters().size(), net->parameters().size());
  EXPECT_EQ(copy->buffers().size(), 3u);
}

}  // namespace
}  // namespace torch::nn
