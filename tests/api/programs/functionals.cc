// torch::nn::functional with options, and without.
#include <torch/torch.h>

#include <iostream>

#include "tests/api/programs/program.h"
#include "tests/api/programs/report.h"

namespace {

namespace F = torch::nn::functional;

torch::Tensor image(at::IntArrayRef sizes) {
  return torch::arange(c10::multiply_integers(sizes), torch::kFloat).reshape(sizes).remainder(7).sub(3);
}

void activations() {
  const auto x = torch::linspace(-2, 2, 5);
  SHOW(F::relu(x));
  SHOW(F::relu6(x * 4));
  SHOW(F::elu(x, F::ELUFuncOptions().alpha(0.5)));
  SHOW(F::selu(x));
  SHOW(F::celu(x, F::CELUFuncOptions().alpha(2)));
  SHOW(F::gelu(x));
  SHOW(F::gelu(x, F::GELUFuncOptions().approximate("tanh")));
  SHOW(F::silu(x));
  SHOW(F::mish(x));
  SHOW(F::softplus(x, F::SoftplusFuncOptions().beta(2).threshold(3)));
  SHOW(F::softsign(x));
  SHOW(F::softshrink(x, F::SoftshrinkFuncOptions(0.25)));
  SHOW(F::hardshrink(x));
  SHOW(F::tanhshrink(x));
  SHOW(F::hardtanh(x, F::HardtanhFuncOptions().min_val(-0.5).max_val(0.5)));
  SHOW(F::leaky_relu(x, F::LeakyReLUFuncOptions().negative_slope(0.2)));
  SHOW(F::logsigmoid(x));
  SHOW(F::threshold(x, F::ThresholdFuncOptions(0.5, 9)));
  SHOW(F::prelu(x, torch::tensor({0.25})));
  SHOW(F::rrelu(x, F::RReLUFuncOptions().lower(0.1).upper(0.3)));
  SHOW(F::glu(torch::ones({2, 4})));
  SHOW(F::glu(torch::ones({2, 4}), F::GLUFuncOptions(0)));
  SHOW(F::softmax(x, 0));
  SHOW(F::softmax(x, F::SoftmaxFuncOptions(0).dtype(torch::kDouble)));
  SHOW(F::softmin(x, 0));
  SHOW(F::log_softmax(x, 0));
  SHOW(F::normalize(x, F::NormalizeFuncOptions().dim(0)));
  SHOW(F::normalize(image({2, 3}), F::NormalizeFuncOptions().p(1).dim(1)));
}

void convolutions() {
  SHOW(F::conv1d(image({1, 2, 5}), image({3, 2, 3})));
  SHOW(F::conv1d(image({1, 2, 5}), image({3, 2, 3}),
                 F::Conv1dFuncOptions().padding(1).stride(2).bias(torch::ones({3}))));
  SHOW(F::conv2d(image({1, 2, 4, 4}), image({2, 1, 3, 3}), F::Conv2dFuncOptions().groups(2).padding({1, 0})));
  SHOW(F::conv2d(image({1, 1, 4, 4}), image({1, 1, 3, 3}), F::Conv2dFuncOptions().padding(torch::kSame)));
  SHOW(F::conv2d(image({1, 1, 5, 5}), image({1, 1, 2, 2}), F::Conv2dFuncOptions().dilation(2)));
  SHOW(F::conv3d(image({1, 1, 3, 3, 3}), image({1, 1, 2, 2, 2})));
  SHOW(F::conv_transpose1d(image({1, 2, 3}), image({2, 1, 2}), F::ConvTranspose1dFuncOptions().stride(2)));
  SHOW(F::conv_transpose2d(image({1, 1, 2, 2}), image({1, 1, 3, 3}),
                           F::ConvTranspose2dFuncOptions().stride(2).padding(1).output_padding(1)));
  SHOW(F::conv_transpose3d(image({1, 1, 1, 2, 2}), image({1, 1, 1, 2, 2})).sizes());
  SHOW(F::linear(image({2, 3}), image({2, 3}), torch::ones({2})));
  SHOW(F::bilinear(image({2, 2}), image({2, 3}), image({1, 2, 3})));
  SHOW(F::unfold(image({1, 1, 3, 3}), F::UnfoldFuncOptions({2, 2}).padding(1).stride(2)));
  SHOW(F::fold(image({1, 4, 4}), F::FoldFuncOptions({3, 3}, {2, 2})));
}

void pooling() {
  const auto x = image({1, 2, 4, 4});
  SHOW(F::max_pool1d(image({1, 1, 6}), F::MaxPool1dFuncOptions(3).stride(2)));
  SHOW(F::max_pool2d(x, F::MaxPool2dFuncOptions(2)));
  SHOW(F::max_pool2d(x, F::MaxPool2dFuncOptions({2, 3}).padding(1).ceil_mode(true)));
  const auto [pooled, places] = F::max_pool2d_with_indices(x, F::MaxPool2dFuncOptions(2));
  SHOW(places);
  SHOW(F::max_unpool2d(pooled, places, F::MaxUnpool2dFuncOptions(2)));
  SHOW(F::max_pool3d(image({1, 1, 2, 4, 4}), F::MaxPool3dFuncOptions(2)));
  SHOW(F::avg_pool1d(image({1, 1, 5}), F::AvgPool1dFuncOptions(2).padding(1).count_include_pad(false)));
  SHOW(F::avg_pool2d(x, F::AvgPool2dFuncOptions(2).divisor_override(3)));
  SHOW(F::avg_pool3d(image({1, 1, 2, 2, 2}), F::AvgPool3dFuncOptions(2)));
  SHOW(F::adaptive_avg_pool1d(image({1, 1, 5}), F::AdaptiveAvgPool1dFuncOptions(2)));
  SHOW(F::adaptive_avg_pool2d(x, F::AdaptiveAvgPool2dFuncOptions({std::nullopt, 1})));
  SHOW(F::adaptive_max_pool2d(x, F::AdaptiveMaxPool2dFuncOptions(1)));
  SHOW(F::lp_pool1d(image({1, 1, 4}), F::LPPool1dFuncOptions(2, 2)));
  SHOW(F::lp_pool2d(x, F::LPPool2dFuncOptions(1, {2, 2}).stride(2)));
  SHOW(F::fractional_max_pool2d(
      x, F::FractionalMaxPool2dFuncOptions(2).output_size(2)._random_samples(torch::full({1, 2, 2}, 0.3))));
}

void pictures() {
  const auto x = image({1, 1, 2, 3});
  SHOW(F::pad(x, F::PadFuncOptions({1, 2})));
  SHOW(F::pad(x, F::PadFuncOptions({1, 1, 1, 0}).value(9)));
  SHOW(F::pad(x, F::PadFuncOptions({1, 1, 1, 1}).mode(torch::kReflect)));
  SHOW(F::pad(x, F::PadFuncOptions({1, 1, 0, 1}).mode(torch::kReplicate)));
  SHOW(F::pad(x, F::PadFuncOptions({1, 2, 0, 1}).mode(torch::kCircular)));
  SHOW(F::interpolate(x, F::InterpolateFuncOptions().scale_factor(std::vector<double>{2, 2})));
  SHOW(F::interpolate(
      x, F::InterpolateFuncOptions().size(std::vector<int64_t>{3, 5}).mode(torch::kBilinear).align_corners(true)));
  SHOW(F::interpolate(
      x, F::InterpolateFuncOptions().size(std::vector<int64_t>{3, 2}).mode(torch::kBicubic).align_corners(false)));
  SHOW(F::interpolate(x, F::InterpolateFuncOptions().size(std::vector<int64_t>{1, 2}).mode(torch::kArea)));
  SHOW(F::interpolate(x, F::InterpolateFuncOptions().size(std::vector<int64_t>{1, 2}).mode(torch::kNearestExact)));
  SHOW(F::pixel_shuffle(image({1, 4, 1, 2}), F::PixelShuffleFuncOptions(2)));
  SHOW(F::pixel_unshuffle(image({1, 1, 2, 2}), F::PixelUnshuffleFuncOptions(2)));
  const auto grid = F::affine_grid(torch::tensor({{{1., 0., 0.25}, {0., 1., 0.}}}), {1, 1, 2, 3}, false);
  SHOW(grid);
  SHOW(F::grid_sample(
      x, grid.to(torch::kFloat),
      F::GridSampleFuncOptions().mode(torch::kBilinear).padding_mode(torch::kBorder).align_corners(false)));
}

void norms() {
  const auto x = image({2, 4, 3});
  SHOW(F::batch_norm(x, torch::zeros({4}), torch::ones({4})));
  SHOW(F::batch_norm(x, torch::zeros({4}), torch::ones({4}),
                     F::BatchNormFuncOptions().training(true).weight(torch::full({4}, 2.)).eps(0.1)));
  SHOW(F::layer_norm(x, F::LayerNormFuncOptions({3}).eps(1e-3)));
  SHOW(F::group_norm(x, F::GroupNormFuncOptions(2)));
  SHOW(F::instance_norm(x, F::InstanceNormFuncOptions().weight(torch::ones({4})).bias(torch::ones({4}))));
  SHOW(F::local_response_norm(x, F::LocalResponseNormFuncOptions(2)));
}

void distances_and_rows() {
  const auto a = image({2, 3}), b = image({2, 3}).flip(1);
  SHOW(F::cosine_similarity(a, b, F::CosineSimilarityFuncOptions().dim(1)));
  SHOW(F::pairwise_distance(a, b, F::PairwiseDistanceFuncOptions().p(1).keepdim(true)));
  SHOW(F::pdist(torch::tensor({{0., 0.}, {3., 4.}, {6., 8.}})));
  SHOW(F::one_hot(torch::tensor({0, 2})));
  SHOW(F::one_hot(torch::tensor({0, 2}), 4));
  SHOW(F::embedding(torch::tensor({1, 0, 1}), image({2, 3})));
  SHOW(F::embedding(torch::tensor({1, 0}), image({2, 3}), F::EmbeddingFuncOptions().max_norm(1.0).padding_idx(0)));
  SHOW(F::embedding_bag(torch::tensor({0, 1, 1}), image({2, 3}),
                        F::EmbeddingBagFuncOptions().mode(torch::kSum).offsets(torch::tensor({0, 2}))));
  SHOW(
      F::embedding_bag(torch::tensor({{0, 1}, {1, 1}}), image({2, 3}), F::EmbeddingBagFuncOptions().mode(torch::kMax)));
}

void losses() {
  const auto x = torch::tensor({0.2, -1., 3.}), y = torch::tensor({1., 0., 1.});
  SHOW(F::l1_loss(x, y));
  SHOW(F::mse_loss(x, y, F::MSELossFuncOptions(torch::kNone)));
  SHOW(F::smooth_l1_loss(x, y, F::SmoothL1LossFuncOptions().beta(0.5)));
  SHOW(F::smooth_l1_loss(x, y, F::SmoothL1LossFuncOptions(torch::kSum), 2.));
  SHOW(F::huber_loss(x, y, F::HuberLossFuncOptions().delta(0.5).reduction(torch::kSum)));
  SHOW(F::binary_cross_entropy(x.sigmoid(), y, F::BinaryCrossEntropyFuncOptions().weight(torch::tensor({1., 2., 3.}))));
  SHOW(F::binary_cross_entropy_with_logits(
      x, y, F::BinaryCrossEntropyWithLogitsFuncOptions().pos_weight(torch::tensor({2.}))));
  const auto scores = torch::tensor({{1., 2., 0.5}, {0.1, 0.2, 3.}});
  const auto classes = torch::tensor({2, 0});
  SHOW(F::cross_entropy(scores, classes));
  SHOW(F::cross_entropy(scores, classes, F::CrossEntropyFuncOptions().label_smoothing(0.1).ignore_index(0)));
  SHOW(F::cross_entropy(scores, scores.softmax(1), F::CrossEntropyFuncOptions().reduction(torch::kNone)));
  SHOW(
      F::nll_loss(scores, classes, F::NLLLossFuncOptions().weight(torch::tensor({1., 2., 3.})).reduction(torch::kSum)));
  SHOW(F::kl_div(scores, scores.softmax(1), F::KLDivFuncOptions(torch::kBatchMean).log_target(false)));
  SHOW(F::kl_div(scores, scores.log_softmax(1), F::KLDivFuncOptions().reduction(torch::kSum).log_target(true)));
  SHOW(F::poisson_nll_loss(x, y, F::PoissonNLLLossFuncOptions().full(true).log_input(true)));
  SHOW(F::hinge_embedding_loss(x, torch::tensor({1., -1., 1.}), F::HingeEmbeddingLossFuncOptions().margin(2)));
  SHOW(F::margin_ranking_loss(x, y, torch::ones({3}), F::MarginRankingLossFuncOptions().margin(0.5)));
  SHOW(F::cosine_embedding_loss(scores, scores.flip(1), torch::tensor({1, -1}),
                                F::CosineEmbeddingLossFuncOptions().margin(0.1)));
  SHOW(F::triplet_margin_loss(scores, scores + 1, scores.flip(1),
                              F::TripletMarginLossFuncOptions().margin(2).swap(true)));
  SHOW(F::triplet_margin_with_distance_loss(
      scores, scores + 1, scores.flip(1),
      F::TripletMarginWithDistanceLossFuncOptions()
          .distance_function([](const torch::Tensor& p, const torch::Tensor& q) { return (p - q).abs().sum(1); })
          .margin(3)));
  SHOW(F::multi_margin_loss(scores, classes, F::MultiMarginLossFuncOptions().p(2).margin(0.5)));
  SHOW(F::multilabel_margin_loss(scores, torch::tensor({{2, -1, 0}, {0, 1, -1}})));
  SHOW(F::multilabel_soft_margin_loss(scores, torch::tensor({{1., 0., 1.}, {0., 1., 0.}})));
  SHOW(F::soft_margin_loss(x, torch::tensor({1., -1., 1.})));
  SHOW(F::ctc_loss(torch::zeros({4, 1, 3}).log_softmax(2), torch::tensor({{1, 2}}), torch::tensor({4}),
                   torch::tensor({2}), F::CTCLossFuncOptions().blank(0).reduction(torch::kSum)));
}

void attention() {
  torch::manual_seed(0);
  const auto q = torch::randn({3, 1, 4});
  const auto weight = torch::randn({12, 4}), out = torch::randn({4, 4});
  const auto [value, weights] =
      F::multi_head_attention_forward(q, q, q,
                                      F::MultiheadAttentionForwardFuncOptions(4, 2, weight, torch::zeros({12}), {}, {},
                                                                              false, 0, out, torch::zeros({4}))
                                          .attn_mask(torch::zeros({3, 3}))
                                          .key_padding_mask(torch::tensor({{false, false, true}})));
  SHOW(value);
  SHOW(weights);
  SHOW(torch::scaled_dot_product_attention(q, q, q, {}, 0, true));
}

void run() {
  activations();
  convolutions();
  pooling();
  pictures();
  norms();
  distances_and_rows();
  losses();
  attention();
}

}  // namespace

KINDLING_PROGRAM(functionals, run);
