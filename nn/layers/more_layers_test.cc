// Transposed convolutions, attention, transformers and others: options, errors, clones, AnyModule, devices of use.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "aten/core/tensor_literal.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/testing/message_of.h"
#include "nn/functional/functional.h"
#include "nn/layers/layers.h"
#include "nn/module/sequential.h"

namespace torch::nn {
namespace {

namespace F = torch::nn::functional;
using at::Tensor;
using c10::testing::message_of;

std::vector<float> values_of(const Tensor& t) {
  const Tensor c = at::contiguous(at::detach(t));
  return std::vector<float>(c.data_ptr<float>(), c.data_ptr<float>() + c.numel());
}

void expect_same(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  const auto x = values_of(a), y = values_of(b);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-5f) << i;
}

Tensor counted(std::vector<int64_t> sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return at::reshape(at::arange(0, n, 1, at::TensorOptions(at::kFloat)), sizes);
}

TEST(ConvTranspose, SizesAndErrors) {
  ConvTranspose2d m(ConvTranspose2dOptions(2, 4, 3).stride(2).padding(1).groups(2));
  EXPECT_EQ(m->weight.sizes(), c10::IntArrayRef({2, 2, 3, 3}));
  const Tensor x = at::ones({1, 2, 4, 5});
  EXPECT_EQ(m(x).sizes(), c10::IntArrayRef({1, 4, 7, 9}));
  const std::vector<int64_t> size{8, 9}, full{1, 4, 8, 10}, bad{9, 9}, three{1, 2, 3};
  EXPECT_EQ(m(x, c10::IntArrayRef(size)).sizes(), c10::IntArrayRef({1, 4, 8, 9}));
  EXPECT_EQ(m(x, c10::IntArrayRef(full)).sizes(), c10::IntArrayRef({1, 4, 8, 10}));
  EXPECT_EQ(
      message_of([&] { m(x, c10::IntArrayRef(bad)); }),
      "requested an output size of [9, 9], but valid sizes range from [7, 9] to [8, 10] (for an input of [4, 5])");
  EXPECT_EQ(message_of([&] { m(x, c10::IntArrayRef(three)); }), "output_size must have 2 or 4 elements (got 3)");
  ConvTranspose1d circular(ConvTranspose1dOptions(1, 1, 2).padding_mode(torch::kCircular));
  EXPECT_EQ(message_of([&] {
              circular(at::ones({1, 1, 3}));
            }),
            "Only `zeros` padding mode is supported for ConvTranspose1d");
  EXPECT_EQ(Sequential(ConvTranspose1d(1, 2, 3), ReLU())->forward(at::ones({1, 1, 4})).sizes(),
            c10::IntArrayRef({1, 2, 6}));
  const auto copy = std::dynamic_pointer_cast<ConvTranspose2dImpl>(m->clone());
  expect_same(copy->forward(x), m(x));
}

TEST(MaxUnpool, UndoesMaxPool) {
  const Tensor x = counted({1, 1, 4, 5});
  const auto [y, indices] = MaxPool2d(2)->forward_with_indices(x);
  MaxUnpool2d m(2);
  const auto [even, at_even] = MaxPool2d(2)->forward_with_indices(counted({1, 1, 4, 4}));
  EXPECT_EQ(m(even, at_even).sizes(), c10::IntArrayRef({1, 1, 4, 4}));
  EXPECT_EQ(m(y, indices, std::vector<int64_t>{4, 5}).sizes(), c10::IntArrayRef({1, 1, 4, 5}));
  EXPECT_EQ(message_of([&, &y = y, &indices = indices] {
              m(y, indices, std::vector<int64_t>{4, 9});
            }),
            "invalid output_size [4, 9] (dim 1 must be between 2 and 6)");
  const auto [z, places] = MaxPool1d(2)->forward_with_indices(counted({3, 6}));
  EXPECT_EQ(MaxUnpool1d(2)(z, places).sizes(), c10::IntArrayRef({3, 6}));
}

TEST(FractionalMaxPool, OptionsAndSamples) {
  EXPECT_EQ(message_of([] { FractionalMaxPool2d(2); }),
            "FractionalMaxPool2d requires specifying either an output size, or a pooling ratio");
  EXPECT_EQ(message_of([] { FractionalMaxPool2d(FractionalMaxPool2dOptions(2).output_size(2).output_ratio(0.5)); }),
            "only one of output_size and output_ratio may be specified");
  EXPECT_EQ(message_of([] { FractionalMaxPool3d(FractionalMaxPool3dOptions(2).output_ratio(1.5)); }),
            "output_ratio must be between 0 and 1 (got [1.5, 1.5, 1.5])");
  FractionalMaxPool2d m(
      FractionalMaxPool2dOptions(2).output_size(ExpandingArray<2>({2, 3}))._random_samples(at::zeros({1, 1, 2})));
  EXPECT_EQ(m->named_buffers().keys(), (std::vector<std::string>{"_random_samples"}));
  expect_same(m(counted({1, 1, 4, 6})),
              at::reshape(torch::tensor({7.0f, 9.0f, 11.0f, 19.0f, 21.0f, 23.0f}), {1, 1, 2, 3}));
}

TEST(InstanceNorm, BatchedAndNot) {
  InstanceNorm2d m(InstanceNorm2dOptions(2).affine(true).track_running_stats(true));
  const Tensor x = counted({2, 2, 2, 3});
  const Tensor y = m(x);
  expect_same(at::select(y, 0, 1), m(at::select(x, 0, 1)));
  EXPECT_EQ(message_of([&] { m(at::ones({2, 2})); }), "expected 3D or 4D input (got 2D input)");
  EXPECT_EQ(message_of([&] {
              m(at::ones({2, 3, 2, 2}));
            }),
            "expected input's size at dim=1 to match num_features (2), but got: 3.");
  EXPECT_EQ(message_of([&] {
              m(at::ones({2, 2, 1, 1}));
            }),
            "Expected more than 1 spatial element when training, got input size [2, 2, 1, 1]");
  m->reset_running_stats();
  expect_same(m->running_var, at::ones({2}));
  m->eval();
  expect_same(m(x), at::div(x, std::sqrt(1 + 1e-5)));
}

TEST(Norms, WithoutABias) {
  BatchNorm1d m(BatchNorm1dOptions(2).bias(false));
  EXPECT_FALSE(m->bias.defined());
  EXPECT_EQ(m->named_parameters().keys(), std::vector<std::string>{"weight"});
  const Tensor x = counted({3, 2});
  expect_same(m(x), BatchNorm1d(2)(x));
  EXPECT_FALSE(std::dynamic_pointer_cast<BatchNorm1dImpl>(m->clone())->bias.defined());
  EXPECT_FALSE(SyncBatchNorm::convert_sync_batchnorm(m)->as<SyncBatchNormImpl>()->bias.defined());
  InstanceNorm1d instance(InstanceNorm1dOptions(2).affine(true).bias(false));
  EXPECT_TRUE(instance->weight.defined() && !instance->bias.defined());
  LazyBatchNorm1d lazy(BatchNormOptions(0).bias(false));
  lazy(x);
  EXPECT_TRUE(lazy->weight.defined() && !lazy->bias.defined());
}

TEST(Activations, SiLUAndMishInPlace) {
  const Tensor x = torch::tensor({-1.0f, 2.0f});
  for (AnyModule m : {AnyModule(SiLU(SiLUOptions(true))), AnyModule(Mish(MishOptions().inplace(true)))}) {
    Tensor y = at::clone(x);
    EXPECT_TRUE(m.forward<Tensor>(y).is_same(y));
    EXPECT_FALSE(at::equal(x, y));
  }
  Tensor y = at::clone(x);
  EXPECT_FALSE(SiLU()(y).is_same(y) || Mish()(y).is_same(y));
  expect_same(y, x);
}

TEST(EmbeddingBag, ArgumentsAndPretrained) {
  EmbeddingBag m =
      EmbeddingBag::from_pretrained(counted({4, 2}), EmbeddingBagFromPretrainedOptions().mode(torch::kSum));
  EXPECT_FALSE(m->weight.requires_grad());
  const Tensor indices = torch::tensor({0, 1, 3}, at::TensorOptions(at::kLong));
  const Tensor offsets = torch::tensor({0, 2}, at::TensorOptions(at::kLong));
  expect_same(m(indices, offsets), at::reshape(torch::tensor({2.0f, 4.0f, 6.0f, 7.0f}), {2, 2}));
  EXPECT_EQ(message_of([&] { m(indices); }), "offsets has to be a 1D Tensor but got null");
  EXPECT_EQ(
      message_of([&] {
        m(at::reshape(indices, {1, 3}), offsets);
      }),
      "If input is 2D, then offsets has to be null, as input is treated is a mini-batch of fixed length sequences. "
      "However, found offsets of type Tensor");
  EmbeddingBag mean(4, 2);
  EXPECT_EQ(message_of([&] { mean(indices, offsets, at::ones({3})); }),
            "embedding_bag: per_sample_weights was not null. per_sample_weights is only supported for mode='kSum' (got "
            "mode='kMean').");
  EXPECT_EQ(message_of([] { EmbeddingBag(EmbeddingBagOptions(4, 2).padding_idx(4)); }),
            "Padding_idx must be within num_embeddings");
}

TEST(MultiheadAttention, MasksAndErrors) {
  at::manual_seed(1);
  MultiheadAttention m(MultiheadAttentionOptions(4, 2));
  const Tensor x = counted({3, 2, 4});
  const Tensor causal = Transformer::Impl::generate_square_subsequent_mask(3);
  const auto [y, weights] = m(x, x, x, Tensor(), true, causal);
  EXPECT_EQ(y.sizes(), c10::IntArrayRef({3, 2, 4}));
  EXPECT_EQ(weights.sizes(), c10::IntArrayRef({2, 3, 3}));
  expect_same(at::sum(weights, {2}), at::ones({2, 3}));
  EXPECT_FLOAT_EQ(values_of(weights)[1], 0.0f);
  expect_same(std::get<0>(m(x, x, x, Tensor(), false, at::eq(causal, -std::numeric_limits<double>::infinity()))), y);
  EXPECT_FALSE(std::get<1>(m(x, x, x, Tensor(), false)).defined());
  EXPECT_EQ(std::get<1>(m(x, x, x, Tensor(), true, Tensor(), false)).sizes(), c10::IntArrayRef({2, 2, 3, 3}));
  EXPECT_EQ(message_of([] { MultiheadAttention(5, 2); }), "embed_dim must be divisible by num_heads");
  EXPECT_EQ(message_of([&] { m(at::ones({3, 2, 5}), x, x); }), "was expecting embedding dimension of 4, but got 5");
  EXPECT_EQ(message_of([&] {
              m(x, x, x, Tensor(), true, at::zeros({2, 3}));
            }),
            "The shape of the 2D attn_mask is [2, 3], but should be [3, 3].");
  EXPECT_EQ(message_of([&] {
              m(x, x, x, at::zeros({3, 3}));
            }),
            "Expected key_padding_mask.size(0) to be 2, but got 3");
  AnyModule any(m);
  using Result = std::tuple<Tensor, Tensor>;
  expect_same(std::get<0>(any.forward<Result>(x, x, x)), std::get<0>(m(x, x, x)));
}

TEST(MultiheadAttention, HintOfACausalMask) {
  at::manual_seed(1);
  MultiheadAttention m(MultiheadAttentionOptions(4, 2));
  const Tensor x = at::sin(counted({3, 2, 4})), open = at::zeros({3, 3}), padding = at::zeros({2, 3});
  const Tensor causal = Transformer::Impl::generate_square_subsequent_mask(3);
  const auto out = [&](const Tensor& pad, bool weights, const Tensor& mask, bool hint) {
    return std::get<0>(m(x, x, x, pad, weights, mask, true, hint));
  };
  const Tensor y = out({}, false, causal, false), seeing_all = out({}, false, open, false);
  expect_same(out({}, false, causal, true), y);
  expect_same(out({}, true, causal, true), y);
  // The hint stands for the mask, except beside padding and where the weights are wanted.
  expect_same(out({}, false, open, true), y);
  expect_same(out({}, true, open, true), seeing_all);
  expect_same(out(padding, false, open, true), seeing_all);
  EXPECT_EQ(message_of([&] { out({}, false, {}, true); }),
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask.");
}

TEST(Transformer, HintsOfCausalMasks) {
  at::manual_seed(1);
  const Tensor x = at::sin(counted({3, 2, 4})), open = at::zeros({3, 3}), no;
  const Tensor causal = Transformer::Impl::generate_square_subsequent_mask(3);
  const auto layers = TransformerEncoderLayerOptions(4, 2).dim_feedforward(8).dropout(0);
  TransformerEncoderLayer layer(layers);
  expect_same(layer(x, open, no, true), layer(x, causal));
  EXPECT_THROW(layer(x, no, no, true), c10::Error);
  TransformerEncoder encoder(TransformerEncoderOptions(layers, 2).enable_nested_tensor(false).mask_check(false));
  EXPECT_FALSE(encoder->options.enable_nested_tensor() || encoder->options.mask_check());
  expect_same(encoder(x, open, no, true), encoder(x, causal));
  TransformerDecoder decoder(
      TransformerDecoderOptions(TransformerDecoderLayerOptions(4, 2).dim_feedforward(8).dropout(0), 2));
  expect_same(decoder(x, x, open, no, no, no, true), decoder(x, x, causal));
  expect_same(decoder(x, x, no, open, no, no, false, true), decoder(x, x, no, causal));
  EXPECT_THROW(decoder(x, x, no, no, no, no, false, true), c10::Error);
  Transformer m(TransformerOptions(4, 2, 1, 1).dim_feedforward(8).dropout(0));
  expect_same(m(x, x, open, open, open, no, no, no, true, true, true), m(x, x, causal, causal, causal));
  expect_same(m(x, x, open, open, open, no, no, no, false, true), m(x, x, open, causal, open));
  EXPECT_THROW(m(x, x, no, no, no, no, no, no, true), c10::Error);
}

TEST(Transformer, CustomPartsAndClones) {
  at::manual_seed(1);
  Transformer m(TransformerOptions(4, 2).dim_feedforward(8).num_encoder_layers(1).num_decoder_layers(1).dropout(0));
  const Tensor src = counted({3, 2, 4});
  const Tensor tgt = counted({2, 2, 4});
  const Tensor y = m(src, tgt);
  EXPECT_EQ(y.sizes(), c10::IntArrayRef({2, 2, 4}));
  const auto copy = std::dynamic_pointer_cast<TransformerImpl>(m->clone());
  expect_same(copy->forward(src, tgt), y);
  Transformer custom(TransformerOptions(4, 2).dim_feedforward(8).num_decoder_layers(1).dropout(0).custom_encoder(
      AnyModule(TransformerEncoder(TransformerEncoderOptions(TransformerEncoderLayerOptions(4, 1).dropout(0), 1)))));
  EXPECT_EQ(custom(src, tgt).sizes(), c10::IntArrayRef({2, 2, 4}));
  EXPECT_EQ(message_of([&] {
              m(src, at::ones({2, 3, 4}));
            }),
            "src and tgt should have equal batch size (at dim 1), but got 2 and 3");
  TransformerEncoderLayer layer(TransformerEncoderLayerOptions(4, 2).dim_feedforward(8).dropout(0).activation(
      std::function<Tensor(const Tensor&)>([](const Tensor& x) { return at::mul(x, 0); })));
  EXPECT_EQ(layer(src).sizes(), src.sizes());
}

TEST(AdaptiveLogSoftmaxWithLoss, ProbabilitiesAndErrors) {
  at::manual_seed(1);
  AdaptiveLogSoftmaxWithLoss m(AdaptiveLogSoftmaxWithLossOptions(8, 10, {4, 8}).div_value(2.));
  const Tensor x = counted({3, 8});
  const Tensor log_probs = m->log_prob(x);
  EXPECT_EQ(log_probs.sizes(), c10::IntArrayRef({3, 10}));
  const Tensor target = torch::tensor({0, 5, 9}, at::TensorOptions(at::kLong));
  const ASMoutput result = m(x, target);
  const auto all = values_of(log_probs), own = values_of(result.output);
  EXPECT_NEAR(own[1], all[15], 1e-4f);
  EXPECT_NEAR(result.loss, -(own[0] + own[1] + own[2]) / 3, 1e-4);
  EXPECT_EQ(m->predict(x).sizes(), c10::IntArrayRef({3}));
  EXPECT_EQ(message_of([&] {
              m(x, torch::tensor({0, 5, 10}, at::TensorOptions(at::kLong)));
            }),
            "Target values should be in [0, 9], but values in range [0, 10] were found. ");
  EXPECT_THROW(AdaptiveLogSoftmaxWithLoss(AdaptiveLogSoftmaxWithLossOptions(8, 10, {8, 4})), c10::Error);
}

TEST(Unfold, WantsABatch) {
  Unfold m(UnfoldOptions({2, 3}));
  EXPECT_EQ(message_of([&] { m(at::ones({1, 5, 2})); }), "Input Error: Only 4D input Tensors are supported (got 3D)");
  EXPECT_EQ(message_of([&] { m(at::ones({1, 2, 2, 2})); }),
            "Given input with spatial size (2, 2), kernel_size=(2, 3), dilation=(1, 1), padding=(0, 0), calculated shape of "
            "the array of sliding blocks as (1, 0), but its components must be at least one.");
}

TEST(Losses, WithADistanceOrAVariance) {
  const Tensor a = at::zeros({2, 3}), p = at::ones({2, 3}), n = at::full({2, 3}, 3.0);
  const auto manhattan = [](const Tensor& x, const Tensor& y) { return at::sum(at::abs(at::sub(x, y)), {1}); };
  TripletMarginWithDistanceLoss m(TripletMarginWithDistanceLossOptions().distance_function(manhattan).margin(7));
  expect_same(m(a, p, n), torch::tensor(1.0f));
  EXPECT_EQ(message_of([&] {
              F::gaussian_nll_loss(a, p, at::full({2, 3}, -1.0));
            }),
            "gaussian_nll_loss: var has negative entry/entries");
  expect_same(F::gaussian_nll_loss(a, p, at::ones({2, 1})), torch::tensor(0.5f));
  EXPECT_THROW(F::gaussian_nll_loss(a, p, at::ones({3})), c10::ValueError);
  // One size of 1 anywhere, or a number.
  const auto one_each = F::GaussianNLLLossFuncOptions().reduction(torch::kNone);
  const Tensor by_column = torch::tensor({1.0f, 2.0f, 4.0f});
  expect_same(F::gaussian_nll_loss(a, p, at::unsqueeze(by_column, 0), one_each),
              F::gaussian_nll_loss(a, p, at::contiguous(at::expand(by_column, {2, 3})), one_each));
  expect_same(F::gaussian_nll_loss(a, p, 2.0, one_each), at::full({2, 3}, (std::log(2.0) + 0.5) / 2));
  GaussianNLLLoss likely(GaussianNLLLossOptions().full(true));
  expect_same(likely(a, p, 2.0), likely(a, p, at::full({2, 3}, 2.0)));
  AnyModule any(likely);
  expect_same(any.forward<Tensor>(a, p, at::ones({2, 1})), likely(a, p, 1.0));
  EXPECT_THROW(F::gaussian_nll_loss(a, p, at::ones({1, 1})), c10::ValueError);
  EXPECT_THROW(F::gaussian_nll_loss(a, p, -1.0), c10::ValueError);
  // A margin of nothing tells nothing apart.
  EXPECT_EQ(message_of([&] { F::triplet_margin_loss(a, p, n, F::TripletMarginLossFuncOptions().margin(0)); }),
            "triplet_margin_loss: margin must be greater than 0, got 0");
  EXPECT_THROW(F::triplet_margin_loss(a, p, n, F::TripletMarginLossFuncOptions().margin(-1)), c10::ValueError);
  EXPECT_EQ(message_of([] { TripletMarginLoss(TripletMarginLossOptions().margin(0)); }),
            "TripletMarginLoss: expected margin to be greater than 0, got 0 instead");
  EXPECT_THROW(TripletMarginWithDistanceLoss(TripletMarginWithDistanceLossOptions().margin(-1)), c10::ValueError);
}

TEST(Losses, WeightsOfElements) {
  const Tensor x = torch::tensor({1.0f, 2.0f, 5.0f}), y = torch::tensor({0.0f, 4.0f, 1.0f});
  const Tensor w = torch::tensor({1.0f, 2.0f, 0.5f});
  const auto l1 = F::L1LossFuncOptions().weight(w);
  const auto huber = F::HuberLossFuncOptions().weight(w).delta(1.5);
  expect_same(F::l1_loss(x, y, l1), torch::tensor(2.0f));
  expect_same(F::l1_loss(x, y, F::L1LossFuncOptions(l1).reduction(torch::kSum)), torch::tensor(7.0f));
  expect_same(L1Loss(L1LossOptions(l1).reduction(torch::kNone))(x, y), torch::tensor({1.0f, 4.0f, 2.0f}));
  expect_same(F::mse_loss(x, y, F::MSELossFuncOptions().weight(w)), torch::tensor(17.0f / 3.5f));
  const Tensor whole = torch::tensor({1, 2, 5}), other = torch::tensor({0, 4, 1});
  expect_same(F::mse_loss(whole, other, F::MSELossFuncOptions().weight(w)), torch::tensor(17.0f / 3.5f));
  expect_same(F::l1_loss(whole, other, l1), torch::tensor(2.0f));
  expect_same(F::huber_loss(x, y, huber), torch::tensor(6.6875f / 3));
  expect_same(F::huber_loss(x, y, F::HuberLossFuncOptions(huber).reduction(torch::kSum)), torch::tensor(6.6875f));
  expect_same(HuberLoss(HuberLossOptions(huber).reduction(torch::kNone))(x, y), torch::tensor({0.5f, 3.75f, 2.4375f}));
  EXPECT_THROW(F::l1_loss(x, y, F::L1LossFuncOptions().weight(at::ones({1}))), c10::ValueError);
  EXPECT_EQ(message_of([&] { F::huber_loss(x, y, F::HuberLossFuncOptions().weight(at::ones({1}))); }),
            "huber_loss: Weights and input must have the same size, but got [1] and [3]");
}

TEST(LinearCrossEntropyLoss, OfSeveralClassesAnInput) {
  LinearCrossEntropyLoss m(LinearCrossEntropyLossOptions(4, 3).out_features({2}).bias(true));
  EXPECT_EQ(m->linear->weight.sizes(), c10::IntArrayRef({6, 4}));
  const Tensor x = counted({2, 4});
  const Tensor target = at::reshape(torch::tensor({0, 1, 2, 0}, at::TensorOptions(at::kLong)), {2, 2});
  const Tensor expected = F::cross_entropy(at::reshape(m->linear(x), {2, 3, 2}), target);
  expect_same(m(x, target), expected);
  const auto options = F::LinearCrossEntropyFuncOptions().linear_bias(at::reshape(m->linear->bias, {3, 2}));
  expect_same(F::linear_cross_entropy(x, at::reshape(m->linear->weight, {3, 2, 4}), target, options), expected);
  EXPECT_THROW(F::linear_cross_entropy(x, at::ones({4}), target), c10::Error);
}

TEST(Padding, Kinds) {
  const Tensor x = counted({1, 1, 3});
  expect_same(ReflectionPad1d(2)(x), at::reshape(torch::tensor({2.0f, 1.0f, 0.0f, 1.0f, 2.0f, 1.0f, 0.0f}), {1, 1, 7}));
  expect_same(ReplicationPad1d(ReplicationPad1dOptions({1, 0}))(x),
              at::reshape(torch::tensor({0.0f, 0.0f, 1.0f, 2.0f}), {1, 1, 4}));
  expect_same(CircularPad1d(1)(x), at::reshape(torch::tensor({2.0f, 0.0f, 1.0f, 2.0f, 0.0f}), {1, 1, 5}));
  expect_same(ConstantPad1d(1, 3.5)(x), at::reshape(torch::tensor({3.5f, 0.0f, 1.0f, 2.0f, 3.5f}), {1, 1, 5}));
  EXPECT_EQ(ZeroPad3d(1)(at::ones({1, 2, 2, 2})).sizes(), c10::IntArrayRef({1, 4, 4, 4}));
}

TEST(Bare, NotEveryLayerHasABias) {
  EXPECT_EQ(LayerNorm(LayerNormOptions({3}).bias(false))->parameters().size(), 1u);
  EXPECT_EQ(GroupNorm(GroupNormOptions(1, 3).bias(false))->parameters().size(), 1u);
  EXPECT_EQ(RMSNorm(RMSNormOptions({3}))->parameters().size(), 1u);
}

TEST(Upsampling, LayersAndOptions) {
  const Tensor x = at::reshape(torch::tensor({0.0f, 4.0f}), {1, 1, 1, 2});
  const Tensor wide = UpsamplingNearest2d(UpsamplingNearest2dOptions().scale_factor(std::vector<double>{1, 2}))(x);
  expect_same(wide, at::reshape(torch::tensor({0.0f, 0.0f, 4.0f, 4.0f}), {1, 1, 1, 4}));
  const Tensor corners = UpsamplingBilinear2d(UpsamplingBilinear2dOptions().size(std::vector<int64_t>{1, 3}))(x);
  expect_same(corners, at::reshape(torch::tensor({0.0f, 2.0f, 4.0f}), {1, 1, 1, 3}));
  const auto options = UpsampleOptions().size(std::vector<int64_t>{1, 4}).mode(torch::kBilinear).align_corners(false);
  expect_same(Upsample(options)(x), at::reshape(torch::tensor({0.0f, 1.0f, 3.0f, 4.0f}), {1, 1, 1, 4}));
  expect_same(F::interpolate(x, F::InterpolateFuncOptions().size(std::vector<int64_t>{1, 1}).mode(torch::kArea)),
              at::reshape(torch::tensor({2.0f}), {1, 1, 1, 1}));
}

TEST(Upsampling, OptionsThatContradict) {
  const Tensor x = at::ones({1, 1, 2, 2}), row = at::ones({1, 1, 2});
  const auto message = [](const Tensor& input, const F::InterpolateFuncOptions& options) {
    return message_of([&] { F::interpolate(input, options); });
  };
  const std::vector<int64_t> size{2, 2};
  const std::vector<double> scale{2, 2};
  const F::InterpolateFuncOptions o;
  EXPECT_NE(message(x, o).find("either size or scale_factor should be defined"), std::string::npos);
  EXPECT_NE(
      message(x, F::InterpolateFuncOptions().size(size).scale_factor(scale)).find("only one of size or scale_factor"),
      std::string::npos);
  EXPECT_NE(message(x, F::InterpolateFuncOptions().size(size).align_corners(true))
                .find("align_corners option can only be set"),
            std::string::npos);
  EXPECT_NE(message(row, F::InterpolateFuncOptions().size(size)).find("same number of spatial dimensions"),
            std::string::npos);
  EXPECT_NE(message(row, F::InterpolateFuncOptions().size(std::vector<int64_t>{2}).mode(torch::kBilinear))
                .find("Got 3D input, but bilinear mode needs 4D input"),
            std::string::npos);
  EXPECT_NE(message(row, F::InterpolateFuncOptions().size(std::vector<int64_t>{2}).mode(torch::kLinear).antialias(true))
                .find("Anti-alias option is restricted"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              F::affine_grid(at::ones({1, 2, 2}), {1, 1, 2, 2});
            }).find("Expected a batch of 2D affine matrices of shape Nx2x3"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              Hardtanh(HardtanhOptions().min_val(1).max_val(1));
            }).find("max_val must be greater than min_val"),
            std::string::npos);
}

TEST(CTCLoss, TargetsOfTheWrongSize) {
  const at::TensorOptions integers(at::kLong);
  const Tensor logits = at::zeros({5, 3, 4}), lengths = at::full({3}, 5, integers), longer = at::full({3}, 3, integers);
  const auto message = [&](at::IntArrayRef size) {
    return message_of([&] { F::ctc_loss(logits, at::ones(size, integers), lengths, longer); });
  };
  EXPECT_NE(message({3, 2}).find(
                "have size at least 3 at dimension 1, but got size 2 for argument #2 'targets' (while checking "
                "arguments for ctc_loss_allocate_outputs)"),
            std::string::npos);
  EXPECT_NE(message({2, 3}).find("have size 3 at dimension 0, but got size 2"), std::string::npos);
}

TEST(GridSample, IdentityGridGivesTheImage) {
  const Tensor x = counted({1, 2, 3, 4});
  const Tensor theta = at::reshape(torch::tensor({1.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f}), {1, 2, 3});
  for (const bool align : {false, true}) {
    const Tensor grid = F::affine_grid(theta, {1, 2, 3, 4}, align);
    expect_same(F::grid_sample(x, grid, F::GridSampleFuncOptions().align_corners(align)), x);
    expect_same(F::grid_sample(x, grid, F::GridSampleFuncOptions().mode(torch::kNearest).align_corners(align)), x);
  }
}

TEST(GroupedProducts, OfEachForm) {
  const Tensor a = counted({4, 3}), b = counted({2, 3, 2});
  Tensor offs = at::empty({2}, at::TensorOptions(at::kInt));
  offs.data_ptr<int32_t>()[0] = 1, offs.data_ptr<int32_t>()[1] = 3;
  const Tensor rows = F::grouped_mm(a, b, offs);
  expect_same(at::narrow(rows, 0, 0, 1),
              F::grouped_mm(at::reshape(at::narrow(a, 0, 0, 1), {1, 1, 3}), at::narrow(b, 0, 0, 1)).view({1, 2}));
  expect_same(at::narrow(rows, 0, 3, 1), at::zeros({1, 2}));
  EXPECT_EQ(F::grouped_mm(at::ones({2, 4}), at::ones({4, 3}), offs).sizes(), c10::IntArrayRef({2, 2, 3}));
  EXPECT_EQ(F::grouped_mm(at::ones({2, 5, 4}), at::ones({4, 3}), offs).sizes(), c10::IntArrayRef({5, 3}));
  EXPECT_EQ(F::grouped_mm(a, b, offs, {}, at::kFloat).scalar_type(), at::kFloat);
  EXPECT_THROW(F::grouped_mm(a, b, offs, {}, at::kDouble), c10::Error);
  offs.data_ptr<int32_t>()[1] = 9;
  EXPECT_NE(message_of([&] { F::grouped_mm(a, b, offs); }).find("offs must ascend up to 4"), std::string::npos);
}

}  // namespace
}  // namespace torch::nn
