// torch::nn::functional::detail computes what the functionals compute, its arguments in libtorch's order.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <optional>
#include <tuple>
#include <vector>

#include "c10/testing/message_of.h"

namespace {

namespace F = torch::nn::functional;
namespace D = torch::nn::functional::detail;
using torch::ExpandingArray;
using torch::Tensor;

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_EQ(a.dtype(), b.dtype());
  EXPECT_TRUE(torch::equal(a, b)) << a << "\n" << b;
}
void expect_equal(const std::tuple<Tensor, Tensor>& a, const std::tuple<Tensor, Tensor>& b) {
  expect_equal(std::get<0>(a), std::get<0>(b));
  expect_equal(std::get<1>(a), std::get<1>(b));
}

Tensor image() {
  return torch::arange(96, torch::kFloat).view({2, 3, 4, 4}).sub(48).mul(0.1);
}

TEST(FunctionalDetail, Activations) {
  const Tensor x = torch::arange(-6., 6.).to(torch::kFloat).view({1, 3, 4});
  expect_equal(D::elu(x, 0.5, false), F::elu(x, F::ELUFuncOptions().alpha(0.5)));
  expect_equal(D::celu(x, 0.5, false), F::celu(x, F::CELUFuncOptions().alpha(0.5)));
  expect_equal(D::hardtanh(x, -2, 3, false), F::hardtanh(x, F::HardtanhFuncOptions().min_val(-2).max_val(3)));
  expect_equal(D::leaky_relu(x, 0.3, false), F::leaky_relu(x, F::LeakyReLUFuncOptions().negative_slope(0.3)));
  expect_equal(D::rrelu(x, 0.1, 0.3, false, false), F::rrelu(x, F::RReLUFuncOptions().lower(0.1).upper(0.3)));
  expect_equal(D::threshold(x, 1, 7, false), F::threshold(x, F::ThresholdFuncOptions(1, 7)));
  expect_equal(D::hardshrink(x, 2), F::hardshrink(x, F::HardshrinkFuncOptions(2)));
  expect_equal(D::softshrink(x, 2), F::softshrink(x, F::SoftshrinkFuncOptions(2)));
  expect_equal(D::softplus(x, 2, 4), F::softplus(x, F::SoftplusFuncOptions().beta(2).threshold(4)));
  expect_equal(D::glu(x, 2), F::glu(x, F::GLUFuncOptions(2)));
  expect_equal(D::gelu(x, "tanh"), F::gelu(x, F::GELUFuncOptions().approximate("tanh")));
  expect_equal(D::softmax(x, 1, torch::kDouble), F::softmax(x, F::SoftmaxFuncOptions(1).dtype(torch::kDouble)));
  expect_equal(D::softmin(x, 1, std::nullopt), F::softmin(x, F::SoftminFuncOptions(1)));
  expect_equal(D::log_softmax(x, 2, std::nullopt), F::log_softmax(x, F::LogSoftmaxFuncOptions(2)));
  EXPECT_EQ(D::gumbel_softmax(x, 1, true, -1).sum().item<float>(), 3);
  Tensor changed = x.clone();
  EXPECT_TRUE(D::relu(changed, true).is_same(changed));
  EXPECT_EQ(changed.min().item<float>(), 0);
  changed = x.clone();
  D::relu6(D::selu(changed, true), true);
  EXPECT_EQ(changed.min().item<float>(), 0);
}

TEST(FunctionalDetail, Normalizations) {
  const Tensor x = image(), weight = torch::tensor({1.f, 2.f, 3.f}), bias = torch::tensor({0.f, 1.f, -1.f});
  const Tensor mean = torch::full({3}, 0.5), var = torch::full({3}, 2.);
  expect_equal(D::batch_norm(x, mean, var, weight, bias, false, 0.1, 1e-3),
               F::batch_norm(x, mean, var, F::BatchNormFuncOptions().weight(weight).bias(bias).eps(1e-3)));
  const Tensor own_mean = torch::zeros({3}), own_var = torch::ones({3});
  D::batch_norm(x, own_mean, own_var, weight, bias, true, 1., 1e-3);
  expect_equal(own_mean, x.mean({0, 2, 3}));
  expect_equal(D::instance_norm(x, {}, {}, weight, bias, true, 0.1, 1e-3),
               F::instance_norm(x, F::InstanceNormFuncOptions().weight(weight).bias(bias).eps(1e-3)));
  expect_equal(D::group_norm(x, 3, weight, bias, 1e-3),
               F::group_norm(x, F::GroupNormFuncOptions(3).weight(weight).bias(bias).eps(1e-3)));
  expect_equal(D::layer_norm(x, {4}, torch::ones({4}), {}, 1e-3),
               F::layer_norm(x, F::LayerNormFuncOptions({4}).weight(torch::ones({4})).eps(1e-3)));
  expect_equal(D::local_response_norm(x, 2, 0.1, 0.5, 2),
               F::local_response_norm(x, F::LocalResponseNormFuncOptions(2).alpha(0.1).beta(0.5).k(2)));
  expect_equal(D::normalize(x, 1, 2, 1e-3, std::nullopt),
               F::normalize(x, F::NormalizeFuncOptions().p(1).dim(2).eps(1e-3)));
}

TEST(FunctionalDetail, Convolutions) {
  const Tensor x = image(), weight = torch::linspace(-1, 1, 54).view({2, 3, 3, 3}), bias = torch::tensor({0.1f, 0.2f});
  expect_equal(D::conv2d(x, weight, bias, 2, ExpandingArray<2>(1), 1, 1),
               F::conv2d(x, weight, F::Conv2dFuncOptions().bias(bias).stride(2).padding(1)));
  expect_equal(D::conv2d(x, weight, {}, 1, torch::kSame, 1, 1),
               F::conv2d(x, weight, F::Conv2dFuncOptions().padding(torch::kSame)));
  expect_equal(D::conv1d(x.flatten(2), weight[0], {}, 1, ExpandingArray<1>(1), 2, 1),
               F::conv1d(x.flatten(2), weight[0], F::Conv1dFuncOptions().padding(1).dilation(2)));
  const Tensor cube = torch::ones({1, 1, 2, 2, 2});
  expect_equal(D::conv3d(x.unsqueeze(1), cube, {}, 1, torch::kValid, 1, 1), F::conv3d(x.unsqueeze(1), cube));
  expect_equal(D::conv_transpose2d(x, weight.transpose(0, 1), bias, {2, 2}, {1, 1}, {1, 1}, 1, {2, 2}),
               F::conv_transpose2d(
                   x, weight.transpose(0, 1),
                   F::ConvTranspose2dFuncOptions().bias(bias).stride(2).padding(1).output_padding(1).dilation(2)));
  expect_equal(
      D::conv_transpose1d(x.flatten(2), weight[0], {}, 2, 0, 1, 1, 1),
      F::conv_transpose1d(x.flatten(2), weight[0], F::ConvTranspose1dFuncOptions().stride(2).output_padding(1)));
  expect_equal(D::conv_transpose3d(x.unsqueeze(1), cube, {}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, 1, {1, 1, 1}),
               F::conv_transpose3d(x.unsqueeze(1), cube));
}

TEST(FunctionalDetail, DistancesTablesWindowsAndSizes) {
  const Tensor x = image(), table = torch::arange(6.f).view({3, 2}), rows = torch::tensor({0, 2});
  expect_equal(D::cosine_similarity(x, x + 1, 2, 1e-3),
               F::cosine_similarity(x, x + 1, F::CosineSimilarityFuncOptions().dim(2).eps(1e-3)));
  expect_equal(D::pairwise_distance(x, x + 1, 1, 1e-3, true),
               F::pairwise_distance(x, x + 1, F::PairwiseDistanceFuncOptions().p(1).eps(1e-3).keepdim(true)));
  expect_equal(D::embedding(rows, table, std::nullopt, std::nullopt, 2, false, false), F::embedding(rows, table));
  expect_equal(
      D::embedding_bag(rows, table, torch::tensor({0}), std::nullopt, 2, false, torch::kSum, false, {}, false,
                       std::nullopt),
      F::embedding_bag(rows, table, F::EmbeddingBagFuncOptions().offsets(torch::tensor({0})).mode(torch::kSum)));
  const Tensor windows = F::unfold(x, F::UnfoldFuncOptions(3).dilation(1).padding(2).stride(2));
  expect_equal(D::unfold(x, 3, 1, 2, 2), windows);
  expect_equal(D::fold(windows, 4, 3, 1, 2, 2),
               F::fold(windows, F::FoldFuncOptions(4, 3).dilation(1).padding(2).stride(2)));
  expect_equal(D::pad(x, {1, 2}, torch::kConstant, 9), F::pad(x, F::PadFuncOptions({1, 2}).value(9)));
  expect_equal(D::pad(x[0], {1, 2}, torch::kReflect, 0), F::pad(x[0], F::PadFuncOptions({1, 2}).mode(torch::kReflect)));
  expect_equal(D::pixel_unshuffle(x, 2), F::pixel_unshuffle(x, F::PixelUnshuffleFuncOptions(2)));
  expect_equal(D::pixel_shuffle(D::pixel_unshuffle(x, 2), 2), x);
  expect_equal(D::interpolate(x, std::vector<int64_t>{2, 3}, std::nullopt, torch::kBilinear, false, std::nullopt, true),
               F::interpolate(x, F::InterpolateFuncOptions()
                                     .size(std::vector<int64_t>{2, 3})
                                     .mode(torch::kBilinear)
                                     .align_corners(false)
                                     .antialias(true)));
  const Tensor grid = torch::linspace(-1.5, 1.5, 8).view({2, 1, 2, 2});
  expect_equal(
      D::grid_sample(x, grid, torch::kNearest, torch::kBorder, true),
      F::grid_sample(
          x, grid, F::GridSampleFuncOptions().mode(torch::kNearest).padding_mode(torch::kBorder).align_corners(true)));
}

TEST(FunctionalDetail, Pooling) {
  const Tensor x = image(), line = image()[0];
  expect_equal(
      D::avg_pool2d(x, 3, 2, 1, true, false, 5),
      F::avg_pool2d(
          x, F::AvgPool2dFuncOptions(3).stride(2).padding(1).ceil_mode(true).count_include_pad(false).divisor_override(
                 5)));
  expect_equal(
      D::avg_pool1d(line[0], 3, 2, 1, true, false),
      F::avg_pool1d(line[0], F::AvgPool1dFuncOptions(3).stride(2).padding(1).ceil_mode(true).count_include_pad(false)));
  expect_equal(D::avg_pool3d(x, 2, 1, 0, false, true, std::nullopt),
               F::avg_pool3d(x, F::AvgPool3dFuncOptions(2).stride(1)));
  const auto options = F::MaxPool2dFuncOptions(2).stride(1).padding(1).dilation(2).ceil_mode(true);
  expect_equal(D::max_pool2d(x, 2, 1, 1, 2, true), F::max_pool2d(x, options));
  expect_equal(D::max_pool2d_with_indices(x, 2, 1, 1, 2, true), F::max_pool2d_with_indices(x, options));
  expect_equal(D::max_pool1d_with_indices(line, 2, 1, 0, 1, false),
               F::max_pool1d_with_indices(line, F::MaxPool1dFuncOptions(2).stride(1)));
  expect_equal(D::max_pool1d(line, 2, 1, 0, 1, false), F::max_pool1d(line, F::MaxPool1dFuncOptions(2).stride(1)));
  expect_equal(D::max_pool3d(x, 2, 1, 0, 1, false), F::max_pool3d(x, F::MaxPool3dFuncOptions(2).stride(1)));
  expect_equal(D::adaptive_avg_pool2d(x, {1, std::nullopt}),
               F::adaptive_avg_pool2d(x, F::AdaptiveAvgPool2dFuncOptions({1, std::nullopt})));
  expect_equal(D::adaptive_avg_pool1d(line, 2), F::adaptive_avg_pool1d(line, F::AdaptiveAvgPool1dFuncOptions(2)));
  expect_equal(D::adaptive_max_pool2d_with_indices(x, 2),
               F::adaptive_max_pool2d_with_indices(x, F::AdaptiveMaxPool2dFuncOptions(2)));
  const auto [values, indices] = D::max_pool2d_with_indices(x, 2, 2, 0, 1, false);
  expect_equal(D::max_unpool2d(values, indices, 2, 2, 0, std::nullopt),
               F::max_unpool2d(values, indices, F::MaxUnpool2dFuncOptions(2)));
  expect_equal(D::lp_pool2d(x.abs(), 3, 2, 1, true),
               F::lp_pool2d(x.abs(), F::LPPool2dFuncOptions(3, 2).stride(1).ceil_mode(true)));
  const Tensor samples = torch::full({2, 3, 2}, 0.5);
  expect_equal(D::fractional_max_pool2d_with_indices(x, 2, ExpandingArray<2>(2), std::nullopt, samples),
               F::fractional_max_pool2d_with_indices(
                   x, F::FractionalMaxPool2dFuncOptions(2).output_size(2)._random_samples(samples)));
}

TEST(FunctionalDetail, Losses) {
  const Tensor x = image(), t = torch::ones_like(x), unit = torch::sigmoid(x);
  expect_equal(D::l1_loss(x, t, torch::kSum), F::l1_loss(x, t, torch::kSum));
  expect_equal(D::mse_loss(x, t, torch::kNone), F::mse_loss(x, t, torch::kNone));
  expect_equal(D::kl_div(x, unit, torch::kBatchMean), F::kl_div(x, unit, torch::kBatchMean));
  expect_equal(D::kl_div(x, x, torch::kMean, true), F::kl_div(x, x, F::KLDivFuncOptions().log_target(true)));
  expect_equal(D::binary_cross_entropy(unit, t, x, torch::kMean),
               F::binary_cross_entropy(unit, t, F::BinaryCrossEntropyFuncOptions().weight(x)));
  expect_equal(D::binary_cross_entropy_with_logits(x, t, {}, torch::kSum, unit),
               F::binary_cross_entropy_with_logits(
                   x, t, F::BinaryCrossEntropyWithLogitsFuncOptions().reduction(torch::kSum).pos_weight(unit)));
  expect_equal(D::hinge_embedding_loss(x, -t, 2, torch::kMean),
               F::hinge_embedding_loss(x, -t, F::HingeEmbeddingLossFuncOptions().margin(2)));
  expect_equal(D::smooth_l1_loss(x, t, torch::kMean), F::smooth_l1_loss(x, t));
  expect_equal(D::smooth_l1_loss(x, t, torch::kSum, 0.5),
               F::smooth_l1_loss(x, t, F::SmoothL1LossFuncOptions(torch::kSum), 0.5));
  expect_equal(D::huber_loss(x, t, torch::kSum, 2),
               F::huber_loss(x, t, F::HuberLossFuncOptions().reduction(torch::kSum).delta(2)));
  expect_equal(D::soft_margin_loss(x, t, torch::kSum), F::soft_margin_loss(x, t, torch::kSum));
  expect_equal(
      D::poisson_nll_loss(unit, t, false, true, 1e-3, torch::kSum),
      F::poisson_nll_loss(unit, t,
                          F::PoissonNLLLossFuncOptions().log_input(false).full(true).eps(1e-3).reduction(torch::kSum)));
  expect_equal(D::margin_ranking_loss(x, unit, t, 2, torch::kMean),
               F::margin_ranking_loss(x, unit, t, F::MarginRankingLossFuncOptions().margin(2)));
  expect_equal(
      D::triplet_margin_loss(x, t, unit, 2, 1, 1e-3, true, torch::kSum),
      F::triplet_margin_loss(
          x, t, unit, F::TripletMarginLossFuncOptions().margin(2).p(1).eps(1e-3).swap(true).reduction(torch::kSum)));
  expect_equal(
      D::triplet_margin_with_distance_loss(x, t, unit, std::nullopt, 2, true, torch::kSum),
      F::triplet_margin_with_distance_loss(
          x, t, unit, F::TripletMarginWithDistanceLossFuncOptions().margin(2).swap(true).reduction(torch::kSum)));
}

TEST(FunctionalDetail, LossesOfClasses) {
  const Tensor x = torch::arange(6.f).view({2, 3}) / 3, classes = torch::tensor({0, 2}),
               weight = torch::tensor({1.f, 2.f, 3.f});
  expect_equal(D::nll_loss(x, classes, weight, 0, torch::kMean),
               F::nll_loss(x, classes, F::NLLLossFuncOptions().weight(weight).ignore_index(0)));
  expect_equal(
      D::cross_entropy(x, classes, weight, 0, torch::kSum, 0.2),
      F::cross_entropy(
          x, classes,
          F::CrossEntropyFuncOptions().weight(weight).ignore_index(0).reduction(torch::kSum).label_smoothing(0.2)));
  expect_equal(D::multi_margin_loss(x, classes, 2, 0.5, weight, torch::kMean),
               F::multi_margin_loss(x, classes, F::MultiMarginLossFuncOptions().p(2).margin(0.5).weight(weight)));
  const Tensor sets = torch::tensor({{0, -1, 1}, {1, 2, -1}});
  expect_equal(D::multilabel_margin_loss(x, sets, torch::kSum), F::multilabel_margin_loss(x, sets, torch::kSum));
  expect_equal(
      D::multilabel_soft_margin_loss(x, torch::ones({2, 3}), weight, torch::kMean),
      F::multilabel_soft_margin_loss(x, torch::ones({2, 3}), F::MultilabelSoftMarginLossFuncOptions().weight(weight)));
  const Tensor signs = torch::tensor({1, -1});
  expect_equal(D::cosine_embedding_loss(x, x + 1, signs, 0.5, torch::kSum),
               F::cosine_embedding_loss(x, x + 1, signs,
                                        F::CosineEmbeddingLossFuncOptions().margin(0.5).reduction(torch::kSum)));
  const Tensor steps = torch::log_softmax(torch::arange(24.f).view({4, 2, 3}) / 5, 2);
  const Tensor words = torch::tensor({{0, 1}, {1, 0}}), lengths = torch::tensor({4, 4}), two = torch::tensor({2, 2});
  expect_equal(D::ctc_loss(steps, words, lengths, two, 2, torch::kSum, true),
               F::ctc_loss(steps, words, lengths, two,
                           F::CTCLossFuncOptions().blank(2).reduction(torch::kSum).zero_infinity(true)));
  EXPECT_EQ(c10::testing::message_of([&] { D::smooth_l1_loss(x, x, torch::kMean, -1.); }),
            c10::testing::message_of([&] { F::smooth_l1_loss(x, x, F::SmoothL1LossFuncOptions().beta(-1)); }));
}

}  // namespace
