// Options of losses. `reduction` is kMean (the default), kSum or kNone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/arg.h"
#include "nn/options/enum.h"

namespace torch::nn {

namespace detail {
using reduction_t = std::variant<enumtype::kNone, enumtype::kMean, enumtype::kSum>;
}

struct L1LossOptions {
  using reduction_t = detail::reduction_t;
  L1LossOptions() = default;
  template <typename Choice>
  requires std::is_constructible_v<reduction_t, Choice> L1LossOptions(Choice reduction) : reduction_(reduction) {}
  // What differences are multiplied with: of the input's sizes; with kMean the divisor is their sum.
  TORCH_ARG(at::Tensor, weight) = {};
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct MSELossOptions {
  using reduction_t = detail::reduction_t;
  MSELossOptions() = default;
  template <typename Choice>
  requires std::is_constructible_v<reduction_t, Choice> MSELossOptions(Choice reduction) : reduction_(reduction) {}
  // What squared differences are multiplied with; with kMean the divisor is their sum.
  TORCH_ARG(at::Tensor, weight) = {};
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct BCELossOptions {
  using reduction_t = detail::reduction_t;
  TORCH_ARG(at::Tensor, weight) = {};
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct HingeEmbeddingLossOptions {
  using reduction_t = detail::reduction_t;
  TORCH_ARG(double, margin) = 1.0;
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct MultiMarginLossOptions {
  using reduction_t = detail::reduction_t;
  TORCH_ARG(int64_t, p) = 1;
  TORCH_ARG(double, margin) = 1.0;
  TORCH_ARG(at::Tensor, weight) = at::Tensor();
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct CosineEmbeddingLossOptions {
  using reduction_t = detail::reduction_t;
  TORCH_ARG(double, margin) = 0.0;
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct MultiLabelMarginLossOptions {
  using reduction_t = detail::reduction_t;
  MultiLabelMarginLossOptions() = default;
  template <typename Choice>
  requires std::is_constructible_v<reduction_t, Choice> MultiLabelMarginLossOptions(Choice reduction)
      : reduction_(reduction) {}
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct SoftMarginLossOptions {
  using reduction_t = detail::reduction_t;
  SoftMarginLossOptions() = default;
  template <typename Choice>
  requires std::is_constructible_v<reduction_t, Choice> SoftMarginLossOptions(Choice reduction)
      : reduction_(reduction) {}
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct MultiLabelSoftMarginLossOptions {
  using reduction_t = detail::reduction_t;
  TORCH_ARG(at::Tensor, weight) = at::Tensor();
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct TripletMarginLossOptions {
  using reduction_t = detail::reduction_t;
  TORCH_ARG(double, margin) = 1.0;
  TORCH_ARG(double, p) = 2.0;
  TORCH_ARG(double, eps) = 1e-6;
  TORCH_ARG(bool, swap) = false;
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct TripletMarginWithDistanceLossOptions {
  using reduction_t = detail::reduction_t;
  using distance_function_t = std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>;
  // None: pairwise_distance.
  TORCH_ARG(std::optional<distance_function_t>, distance_function) = std::nullopt;
  TORCH_ARG(double, margin) = 1.0;
  TORCH_ARG(bool, swap) = false;
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct GaussianNLLLossOptions {
  using reduction_t = detail::reduction_t;
  TORCH_ARG(bool, full) = false;
  TORCH_ARG(double, eps) = 1e-6;
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct SmoothL1LossOptions {
  using reduction_t = detail::reduction_t;
  SmoothL1LossOptions() = default;
  template <typename Choice>
  requires std::is_constructible_v<reduction_t, Choice> SmoothL1LossOptions(Choice reduction) : reduction_(reduction) {}
  // Where the loss turns from square to linear; none: 1.
  TORCH_ARG(std::optional<double>, beta) = std::nullopt;
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct HuberLossOptions {
  using reduction_t = detail::reduction_t;
  HuberLossOptions() = default;
  template <typename Choice>
  requires std::is_constructible_v<reduction_t, Choice> HuberLossOptions(Choice reduction) : reduction_(reduction) {}
  TORCH_ARG(double, delta) = 1.0;
  // What the losses of the elements are multiplied with: of the input's sizes; with kMean the divisor is their number.
  TORCH_ARG(at::Tensor, weight) = {};
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct PoissonNLLLossOptions {
  using reduction_t = detail::reduction_t;
  TORCH_ARG(bool, log_input) = true;
  TORCH_ARG(bool, full) = false;
  TORCH_ARG(double, eps) = 1e-8;
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct MarginRankingLossOptions {
  using reduction_t = detail::reduction_t;
  TORCH_ARG(double, margin) = 0;
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct NLLLossOptions {
  using reduction_t = detail::reduction_t;
  TORCH_ARG(at::Tensor, weight) = {};
  TORCH_ARG(int64_t, ignore_index) = -100;
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct CrossEntropyLossOptions {
  using reduction_t = detail::reduction_t;
  TORCH_ARG(at::Tensor, weight) = {};
  TORCH_ARG(int64_t, ignore_index) = -100;
  TORCH_ARG(double, label_smoothing) = 0.0;
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

// Of the last linear map of a classifier and its cross entropy.
struct LinearCrossEntropyLossOptions {
  using reduction_t = detail::reduction_t;
  LinearCrossEntropyLossOptions(int64_t in_features, int64_t num_classes)
      : in_features_(in_features), num_classes_(num_classes) {}
  TORCH_ARG(int64_t, in_features);
  TORCH_ARG(int64_t, num_classes);
  // Sizes of what is told apart for each input: logits [N, num_classes, *out_features]. Empty: one thing.
  TORCH_ARG(std::vector<int64_t>, out_features) = {};
  TORCH_ARG(bool, bias) = false;
  TORCH_ARG(at::Tensor, weight) = {};
  TORCH_ARG(int64_t, ignore_index) = -100;
  TORCH_ARG(double, label_smoothing) = 0.0;
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct BCEWithLogitsLossOptions {
  using reduction_t = detail::reduction_t;
  TORCH_ARG(at::Tensor, weight) = {};
  TORCH_ARG(at::Tensor, pos_weight) = {};
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

struct CTCLossOptions {
  using reduction_t = detail::reduction_t;
  TORCH_ARG(int64_t, blank) = 0;
  TORCH_ARG(bool, zero_infinity) = false;
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};

// Mean of the whole sum over the batch size: kBatchMean.
struct KLDivLossOptions {
  using reduction_t = std::variant<enumtype::kNone, enumtype::kBatchMean, enumtype::kSum, enumtype::kMean>;
  KLDivLossOptions() = default;
  template <typename Choice>
  requires std::is_constructible_v<reduction_t, Choice> KLDivLossOptions(Choice reduction) : reduction_(reduction) {}
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
  TORCH_ARG(bool, log_target) = false;
};

namespace functional {
using L1LossFuncOptions = L1LossOptions;
using MSELossFuncOptions = MSELossOptions;
using BinaryCrossEntropyFuncOptions = BCELossOptions;
using HingeEmbeddingLossFuncOptions = HingeEmbeddingLossOptions;
using MultiMarginLossFuncOptions = MultiMarginLossOptions;
using CosineEmbeddingLossFuncOptions = CosineEmbeddingLossOptions;
using MultilabelMarginLossFuncOptions = MultiLabelMarginLossOptions;
using SoftMarginLossFuncOptions = SoftMarginLossOptions;
using MultilabelSoftMarginLossFuncOptions = MultiLabelSoftMarginLossOptions;
using TripletMarginLossFuncOptions = TripletMarginLossOptions;
using TripletMarginWithDistanceLossFuncOptions = TripletMarginWithDistanceLossOptions;
using GaussianNLLLossFuncOptions = GaussianNLLLossOptions;
using SmoothL1LossFuncOptions = SmoothL1LossOptions;
using HuberLossFuncOptions = HuberLossOptions;
using PoissonNLLLossFuncOptions = PoissonNLLLossOptions;
using MarginRankingLossFuncOptions = MarginRankingLossOptions;
using NLLLossFuncOptions = NLLLossOptions;
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
struct LinearCrossEntropyFuncOptions {
  using reduction_t = nn::detail::reduction_t;
  TORCH_ARG(at::Tensor, linear_bias) = {};
  TORCH_ARG(at::Tensor, weight) = {};
  TORCH_ARG(int64_t, ignore_index) = -100;
  TORCH_ARG(double, label_smoothing) = 0.0;
  TORCH_ARG(reduction_t, reduction) = torch::kMean;
};
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
using CTCLossFuncOptions = CTCLossOptions;
using KLDivFuncOptions = KLDivLossOptions;
}  // namespace functional
}  // namespace torch::nn
