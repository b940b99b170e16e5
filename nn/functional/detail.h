// The functionals with the fields of their options as arguments, in the order of libtorch's
// torch::nn::functional::detail. What they compute and throw stands at the functional of the same name.
//
//   auto y = F::detail::avg_pool2d(x, /*kernel_size=*/3, /*stride=*/2, /*padding=*/1, /*ceil_mode=*/false,
//                                  /*count_include_pad=*/true, /*divisor_override=*/std::nullopt);
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "nn/functional/activation.h"
#include "nn/functional/conv.h"
#include "nn/functional/distance.h"
#include "nn/functional/dropout.h"
#include "nn/functional/embedding.h"
#include "nn/functional/fold.h"
#include "nn/functional/loss.h"
#include "nn/functional/normalization.h"
#include "nn/functional/padding.h"
#include "nn/functional/pixelshuffle.h"
#include "nn/functional/pooling.h"
#include "nn/functional/upsampling.h"
#include "nn/functional/vision.h"

namespace torch::nn::functional::detail {

// Activations.
Tensor elu(Tensor input, double alpha, bool inplace);
Tensor selu(Tensor input, bool inplace);
Tensor hardtanh(Tensor input, double min_val, double max_val, bool inplace);
Tensor leaky_relu(Tensor input, double negative_slope, bool inplace);
Tensor relu(Tensor input, bool inplace);
Tensor relu6(Tensor input, bool inplace);
Tensor rrelu(Tensor input, double lower, double upper, bool training, bool inplace);
Tensor celu(Tensor input, double alpha, bool inplace);
Tensor threshold(Tensor input, double threshold, double value, bool inplace);
Tensor hardshrink(const Tensor& input, double lambda);
Tensor softshrink(const Tensor& input, double lambda);
Tensor softplus(const Tensor& input, double beta, double threshold);
Tensor glu(const Tensor& input, int64_t dim);
Tensor gelu(const Tensor& input, const std::string& approximate);
Tensor gumbel_softmax(const Tensor& logits, double tau, bool hard, int dim);
Tensor softmax(const Tensor& input, int64_t dim, std::optional<c10::ScalarType> dtype);
Tensor softmin(const Tensor& input, int64_t dim, std::optional<c10::ScalarType> dtype);
Tensor log_softmax(const Tensor& input, int64_t dim, std::optional<c10::ScalarType> dtype);

// Normalizations. `batch_norm` with an undefined weight or bias has none.
Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, Tensor weight,
                  Tensor bias, bool training, double momentum, double eps);
Tensor instance_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                     const Tensor& bias, bool use_input_stats, double momentum, double eps);
Tensor layer_norm(const Tensor& input, const std::vector<int64_t>& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps);
Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps);
Tensor local_response_norm(const Tensor& input, int64_t size, double alpha, double beta, double k);
Tensor normalize(const Tensor& input, double p, int64_t dim, double eps, std::optional<Tensor> out);

// Convolutions.
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, ExpandingArray<1> stride,
              const Conv1dFuncOptions::padding_t& padding, ExpandingArray<1> dilation, int64_t groups);
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, ExpandingArray<2> stride,
              const Conv2dFuncOptions::padding_t& padding, ExpandingArray<2> dilation, int64_t groups);
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, ExpandingArray<3> stride,
              const Conv3dFuncOptions::padding_t& padding, ExpandingArray<3> dilation, int64_t groups);
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias, at::IntArrayRef stride,
                        at::IntArrayRef padding, at::IntArrayRef output_padding, int64_t groups,
                        at::IntArrayRef dilation);
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias, at::IntArrayRef stride,
                        at::IntArrayRef padding, at::IntArrayRef output_padding, int64_t groups,
                        at::IntArrayRef dilation);
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias, at::IntArrayRef stride,
                        at::IntArrayRef padding, at::IntArrayRef output_padding, int64_t groups,
                        at::IntArrayRef dilation);

// Distances, rows of tables, windows, padding, sizes and places of images.
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps);
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim);
Tensor embedding(const Tensor& input, const Tensor& weight, std::optional<int64_t> padding_idx,
                 std::optional<double> max_norm, double norm_type, bool scale_grad_by_freq, bool sparse);
Tensor embedding_bag(const Tensor& input, const Tensor& weight, const Tensor& offsets, std::optional<double> max_norm,
                     double norm_type, bool scale_grad_by_freq, EmbeddingBagMode mode, bool sparse,
                     const Tensor& per_sample_weights, bool include_last_offset, std::optional<int64_t> padding_idx);
Tensor fold(const Tensor& input, ExpandingArray<2> output_size, ExpandingArray<2> kernel_size,
            ExpandingArray<2> dilation, ExpandingArray<2> padding, ExpandingArray<2> stride);
Tensor unfold(const Tensor& input, ExpandingArray<2> kernel_size, ExpandingArray<2> dilation, ExpandingArray<2> padding,
              ExpandingArray<2> stride);
Tensor pad(const Tensor& input, at::IntArrayRef pad, PadFuncOptions::mode_t mode, double value);
Tensor pixel_shuffle(const Tensor& input, int64_t upscale_factor);
Tensor pixel_unshuffle(const Tensor& input, int64_t downscale_factor);
Tensor interpolate(const Tensor& input, const std::optional<std::vector<int64_t>>& size,
                   const std::optional<std::vector<double>>& scale_factor, InterpolateFuncOptions::mode_t mode,
                   std::optional<bool> align_corners, std::optional<bool> recompute_scale_factor, bool antialias);
Tensor grid_sample(const Tensor& input, const Tensor& grid, GridSampleFuncOptions::mode_t mode,
                   GridSampleFuncOptions::padding_mode_t padding_mode, std::optional<bool> align_corners);

// Pooling.
Tensor avg_pool1d(const Tensor& input, ExpandingArray<1> kernel_size, ExpandingArray<1> stride,
                  ExpandingArray<1> padding, bool ceil_mode, bool count_include_pad);
Tensor avg_pool2d(const Tensor& input, ExpandingArray<2> kernel_size, ExpandingArray<2> stride,
                  ExpandingArray<2> padding, bool ceil_mode, bool count_include_pad,
                  std::optional<int64_t> divisor_override);
Tensor avg_pool3d(const Tensor& input, ExpandingArray<3> kernel_size, ExpandingArray<3> stride,
                  ExpandingArray<3> padding, bool ceil_mode, bool count_include_pad,
                  std::optional<int64_t> divisor_override);
Tensor max_pool1d(const Tensor& input, ExpandingArray<1> kernel_size, ExpandingArray<1> stride,
                  ExpandingArray<1> padding, ExpandingArray<1> dilation, bool ceil_mode);
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input, ExpandingArray<1> kernel_size,
                                                   ExpandingArray<1> stride, ExpandingArray<1> padding,
                                                   ExpandingArray<1> dilation, bool ceil_mode);
Tensor max_pool2d(const Tensor& input, ExpandingArray<2> kernel_size, ExpandingArray<2> stride,
                  ExpandingArray<2> padding, ExpandingArray<2> dilation, bool ceil_mode);
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, ExpandingArray<2> kernel_size,
                                                   ExpandingArray<2> stride, ExpandingArray<2> padding,
                                                   ExpandingArray<2> dilation, bool ceil_mode);
Tensor max_pool3d(const Tensor& input, ExpandingArray<3> kernel_size, ExpandingArray<3> stride,
                  ExpandingArray<3> padding, ExpandingArray<3> dilation, bool ceil_mode);
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& input, ExpandingArray<3> kernel_size,
                                                   ExpandingArray<3> stride, ExpandingArray<3> padding,
                                                   ExpandingArray<3> dilation, bool ceil_mode);
Tensor adaptive_max_pool1d(const Tensor& input, ExpandingArray<1> output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& input, ExpandingArray<1> output_size);
Tensor adaptive_max_pool2d(const Tensor& input, ExpandingArrayWithOptionalElem<2> output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& input,
                                                            ExpandingArrayWithOptionalElem<2> output_size);
Tensor adaptive_max_pool3d(const Tensor& input, ExpandingArrayWithOptionalElem<3> output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Tensor& input,
                                                            ExpandingArrayWithOptionalElem<3> output_size);
Tensor adaptive_avg_pool1d(const Tensor& input, ExpandingArray<1> output_size);
Tensor adaptive_avg_pool2d(const Tensor& input, ExpandingArrayWithOptionalElem<2> output_size);
Tensor adaptive_avg_pool3d(const Tensor& input, ExpandingArrayWithOptionalElem<3> output_size);
Tensor max_unpool1d(const Tensor& input, const Tensor& indices, ExpandingArray<1> kernel_size, ExpandingArray<1> stride,
                    ExpandingArray<1> padding, const std::optional<std::vector<int64_t>>& output_size);
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, ExpandingArray<2> kernel_size, ExpandingArray<2> stride,
                    ExpandingArray<2> padding, const std::optional<std::vector<int64_t>>& output_size);
Tensor max_unpool3d(const Tensor& input, const Tensor& indices, ExpandingArray<3> kernel_size, ExpandingArray<3> stride,
                    ExpandingArray<3> padding, const std::optional<std::vector<int64_t>>& output_size);
Tensor fractional_max_pool2d(const Tensor& input, ExpandingArray<2> kernel_size,
                             std::optional<ExpandingArray<2>> output_size,
                             std::optional<ExpandingArray<2, double>> output_ratio, const Tensor& _random_samples);
std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(
    const Tensor& input, const ExpandingArray<2>& kernel_size, const std::optional<ExpandingArray<2>>& output_size,
    const std::optional<ExpandingArray<2, double>>& output_ratio, const Tensor& _random_samples);
Tensor fractional_max_pool3d(const Tensor& input, ExpandingArray<3> kernel_size,
                             std::optional<ExpandingArray<3>> output_size,
                             std::optional<ExpandingArray<3, double>> output_ratio, const Tensor& _random_samples);
std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(
    const Tensor& input, const ExpandingArray<3>& kernel_size, const std::optional<ExpandingArray<3>>& output_size,
    const std::optional<ExpandingArray<3, double>>& output_ratio, const Tensor& _random_samples);
Tensor lp_pool1d(const Tensor& input, double norm_type, ExpandingArray<1> kernel_size, ExpandingArray<1> stride,
                 bool ceil_mode);
Tensor lp_pool2d(const Tensor& input, double norm_type, ExpandingArray<2> kernel_size, ExpandingArray<2> stride,
                 bool ceil_mode);
Tensor lp_pool3d(const Tensor& input, double norm_type, ExpandingArray<3> kernel_size, ExpandingArray<3> stride,
                 bool ceil_mode);

// Losses.
Tensor l1_loss(const Tensor& input, const Tensor& target, L1LossFuncOptions::reduction_t reduction);
Tensor kl_div(const Tensor& input, const Tensor& target, KLDivFuncOptions::reduction_t reduction,
              bool log_target = false);
Tensor mse_loss(const Tensor& input, const Tensor& target, MSELossFuncOptions::reduction_t reduction);
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                            BinaryCrossEntropyFuncOptions::reduction_t reduction);
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target, const Tensor& weight,
                                        BinaryCrossEntropyWithLogitsFuncOptions::reduction_t reduction,
                                        const Tensor& pos_weight);
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin,
                            HingeEmbeddingLossFuncOptions::reduction_t reduction);
Tensor multi_margin_loss(const Tensor& input, const Tensor& target, int64_t p, double margin, const Tensor& weight,
                         MultiMarginLossFuncOptions::reduction_t reduction);
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                             CosineEmbeddingLossFuncOptions::reduction_t reduction);
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, SmoothL1LossFuncOptions::reduction_t reduction,
                      std::optional<double> beta_opt = std::nullopt);
Tensor huber_loss(const Tensor& input, const Tensor& target, HuberLossFuncOptions::reduction_t reduction,
                  double delta = 1.0);
Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target,
                              MultilabelMarginLossFuncOptions::reduction_t reduction);
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, SoftMarginLossFuncOptions::reduction_t reduction);
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                                   MultilabelSoftMarginLossFuncOptions::reduction_t reduction);
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin,
                           double p, double eps, bool swap, TripletMarginLossFuncOptions::reduction_t reduction);
Tensor triplet_margin_with_distance_loss(
    const Tensor& anchor, const Tensor& positive, const Tensor& negative,
    std::optional<TripletMarginWithDistanceLossFuncOptions::distance_function_t> distance_function, double margin,
    bool swap, TripletMarginWithDistanceLossFuncOptions::reduction_t reduction);
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank, CTCLossFuncOptions::reduction_t reduction,
                bool zero_infinity);
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full, double eps,
                        PoissonNLLLossFuncOptions::reduction_t reduction);
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                           MarginRankingLossFuncOptions::reduction_t reduction);
Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight, int64_t ignore_index,
                NLLLossFuncOptions::reduction_t reduction);
Tensor cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight, int64_t ignore_index,
                     CrossEntropyFuncOptions::reduction_t reduction, double label_smoothing);

}  // namespace torch::nn::functional::detail
