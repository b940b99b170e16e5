#include "nn/functional/loss.h"

#include <cmath>
#include <vector>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "nn/functional/optional_tensor.h"

namespace torch::nn::functional {
namespace {

using enumtype::reduction_get_enum;
using nn::detail::if_defined;

void warn_of_broadcast(const Tensor& input, const Tensor& target) {
  if (input.sizes() == target.sizes()) return;
  TORCH_WARN("Using a target size (", target.sizes(), ") that is different to the input size (", input.sizes(), "). ",
             "This will likely lead to incorrect results due to broadcasting. ",
             "Please ensure they have the same size.");
}

// The losses of the elements times `weight`.
Tensor weighted(const char* name, const Tensor& losses, const Tensor& input, const Tensor& weight) {
  TORCH_CHECK_VALUE(weight.sizes() == input.sizes(), name, ": Weights and input must have the same size, but got ",
                    weight.sizes(), " and ", input.sizes());
  return at::mul(losses, weight);
}

Tensor reduced(const Tensor& loss, int64_t reduction) {
  switch (reduction) {
    case at::Reduction::Mean:
      return at::mean(loss);
    case at::Reduction::Sum:
      return at::sum(loss);
    default:
      return loss;
  }
}

// The mean is that of the weights.
Tensor reduced_by_weight(const Tensor& losses, const Tensor& weight, int64_t reduction) {
  if (reduction != at::Reduction::Mean) return reduced(losses, reduction);
  return at::div(at::sum(losses), at::sum(weight));
}

}  // namespace

Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options) {
  warn_of_broadcast(input, target);
  const int64_t reduction = reduction_get_enum(options.reduction());
  if (!options.weight().defined()) return at::l1_loss(input, target, reduction);
  const Tensor losses = at::abs(at::sub(input, target));
  return reduced_by_weight(weighted("l1_loss", losses, input, options.weight()), options.weight(), reduction);
}

Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options) {
  warn_of_broadcast(input, target);
  const int64_t reduction = reduction_get_enum(options.reduction());
  if (!options.weight().defined()) return at::mse_loss(input, target, reduction);
  const Tensor losses = at::square(at::sub(input, target));
  return reduced_by_weight(weighted("mse_loss", losses, input, options.weight()), options.weight(), reduction);
}

namespace {

Tensor smooth_l1(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options, double beta) {
  warn_of_broadcast(input, target);
  return at::smooth_l1_loss(input, target, reduction_get_enum(options.reduction()), beta);
}

}  // namespace

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options) {
  return smooth_l1(input, target, options, options.beta().value_or(1.0));
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options, double beta) {
  TORCH_CHECK(!options.beta().has_value(), "smooth_l1_loss: expected beta not to be provided in 'options', but got ",
              options.beta().value_or(0.0));
  return smooth_l1(input, target, options, beta);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& options) {
  warn_of_broadcast(input, target);
  const int64_t reduction = reduction_get_enum(options.reduction());
  if (!options.weight().defined()) return at::huber_loss(input, target, reduction, options.delta());
  const Tensor losses = at::huber_loss(input, target, at::Reduction::None, options.delta());
  return reduced(weighted("huber_loss", losses, input, options.weight()), reduction);
}

Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& options) {
  if (std::holds_alternative<enumtype::kBatchMean>(options.reduction())) {
    const Tensor sum = at::kl_div(input, target, at::Reduction::Sum, options.log_target());
    return input.dim() != 0 ? at::div(sum, input.size(0)) : sum;
  }
  if (std::holds_alternative<enumtype::kMean>(options.reduction())) {
    TORCH_WARN("reduction: 'mean' divides the total loss by both the batch size and the support size.",
               "'batchmean' divides only by the batch size, and aligns with the KL div math definition.",
               "'mean' will be changed to behave the same as 'batchmean' in the next major release.");
  }
  return at::kl_div(input, target, reduction_get_enum(options.reduction()), options.log_target());
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const BinaryCrossEntropyFuncOptions& options) {
  TORCH_CHECK_VALUE(target.sizes() == input.sizes(), "Using a target size (", target.sizes(),
              ") that is different to the input size (", input.sizes(),
              ") is deprecated. Please ensure they have the same size.");
  return at::binary_cross_entropy(input, target, if_defined(options.weight()), reduction_get_enum(options.reduction()));
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& options) {
  TORCH_CHECK_VALUE(target.sizes() == input.sizes(), "Target size (", target.sizes(), ") must be the same as input size (",
              input.sizes(), ")");
  return at::binary_cross_entropy_with_logits(input, target, if_defined(options.weight()),
                                              if_defined(options.pos_weight()),
                                              reduction_get_enum(options.reduction()));
}

Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options) {
  TORCH_CHECK_VALUE(input.dim() >= 2 || target.dim() == 0, "Expected 2 or more dimensions (got ", input.dim(), ")");
  TORCH_CHECK_VALUE(input.dim() < 2 || input.size(0) == target.size(0), "Expected input batch_size (", input.size(0),
              ") to match target batch_size (", target.size(0), ").");
  return at::nll_loss_nd(input, target, if_defined(options.weight()), reduction_get_enum(options.reduction()),
                         options.ignore_index());
}

Tensor linear_cross_entropy(const Tensor& input, const Tensor& linear_weight, const Tensor& target,
                            const LinearCrossEntropyFuncOptions& options) {
  TORCH_CHECK(linear_weight.dim() >= 2, "linear_cross_entropy: expected linear_weight of sizes [C, *, in_features], ",
              "but got ", linear_weight.sizes());
  Tensor logits;
  if (linear_weight.dim() == 2) {
    logits = at::linear(input, linear_weight, if_defined(options.linear_bias()));
  } else {
    const Tensor& bias = options.linear_bias();
    logits = at::linear(input, at::reshape(linear_weight, {-1, linear_weight.size(-1)}),
                        bias.defined() ? std::optional<Tensor>(at::reshape(bias, {-1})) : std::nullopt);
    std::vector<int64_t> sizes(input.sizes().begin(), input.sizes().end() - 1);
    sizes.insert(sizes.end(), linear_weight.sizes().begin(), linear_weight.sizes().end() - 1);
    logits = at::reshape(logits, sizes);
  }
  return cross_entropy(logits, target,
                       CrossEntropyFuncOptions()
                           .weight(options.weight())
                           .ignore_index(options.ignore_index())
                           .label_smoothing(options.label_smoothing())
                           .reduction(options.reduction()));
}

Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& options) {
  return at::cross_entropy_loss(input, target, if_defined(options.weight()), reduction_get_enum(options.reduction()),
                                options.ignore_index(), options.label_smoothing());
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, const HingeEmbeddingLossFuncOptions& options) {
  return at::hinge_embedding_loss(input, target, options.margin(), reduction_get_enum(options.reduction()));
}

Tensor multi_margin_loss(const Tensor& input, const Tensor& target, const MultiMarginLossFuncOptions& options) {
  TORCH_CHECK_VALUE(options.p() == 1 || options.p() == 2, "only p == 1 and p == 2 supported");
  TORCH_CHECK_VALUE(!options.weight().defined() || options.weight().dim() == 1, "weight must be one-dimensional");
  return at::multi_margin_loss(input, target, options.p(), options.margin(), if_defined(options.weight()),
                               reduction_get_enum(options.reduction()));
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingLossFuncOptions& options) {
  return at::cosine_embedding_loss(input1, input2, target, options.margin(), reduction_get_enum(options.reduction()));
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target,
                              const MultilabelMarginLossFuncOptions& options) {
  return at::multilabel_margin_loss(input, target, reduction_get_enum(options.reduction()));
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, const SoftMarginLossFuncOptions& options) {
  return at::soft_margin_loss(input, target, reduction_get_enum(options.reduction()));
}

// -(y log sigmoid(x) + (1 - y) log sigmoid(-x)), weighted, mean over the classes.
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultilabelSoftMarginLossFuncOptions& options) {
  Tensor loss = at::neg(
      at::add(at::mul(target, at::log_sigmoid(input)), at::mul(at::rsub(target, 1), at::log_sigmoid(at::neg(input)))));
  if (options.weight().defined()) loss = at::mul(loss, options.weight());
  loss = at::div(at::sum(loss, {input.dim() - 1}, false, std::nullopt), input.size(input.dim() - 1));
  return reduced(loss, reduction_get_enum(options.reduction()));
}

Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& options) {
  TORCH_CHECK_VALUE(options.margin() > 0, "triplet_margin_with_distance_loss: margin must be greater than 0, got ",
                    options.margin());
  TORCH_CHECK(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(),
              "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
              "anchor ",
              anchor.dim(), "D, positive ", positive.dim(), "D, and negative ", negative.dim(), "D inputs");
  const auto distance = [&](const Tensor& x, const Tensor& y) {
    return options.distance_function().has_value() ? (*options.distance_function())(x, y)
                                                   : at::pairwise_distance(x, y, 2.0, 1e-6, false);
  };
  const Tensor to_positive = distance(anchor, positive);
  Tensor to_negative = distance(anchor, negative);
  if (options.swap()) to_negative = at::min(to_negative, distance(positive, negative));
  const Tensor loss = at::clamp_min(at::sub(at::add(to_positive, options.margin()), to_negative), 0);
  return reduced(loss, reduction_get_enum(options.reduction()));
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var,
                         const GaussianNLLLossFuncOptions& options) {
  Tensor variance = var;
  if (variance.sizes() != input.sizes()) {
    const c10::IntArrayRef head(input.sizes().data(), input.dim() == 0 ? 0 : static_cast<size_t>(input.dim() - 1));
    if (input.dim() > 0 && head == variance.sizes()) {
      variance = at::unsqueeze(variance, -1);
    } else {
      int64_t ones = 0, other = variance.dim() != input.dim();
      for (int64_t d = 0; other == 0 && d < input.dim(); ++d) {
        if (variance.size(d) != input.size(d)) ++(variance.size(d) == 1 ? ones : other);
      }
      TORCH_CHECK_VALUE(ones == 1 && other == 0, "gaussian_nll_loss: var is of incorrect size ", var.sizes(),
                        " for an input of size ", input.sizes());
    }
  }
  {
    c10::NoGradGuard no_grad;
    TORCH_CHECK_VALUE(!at::item(at::any(at::lt(variance, 0))).toBool(),
                      "gaussian_nll_loss: var has negative entry/entries");
  }
  // The gradient passes the bound as if it were not there.
  variance = at::clone(variance);
  {
    c10::NoGradGuard no_grad;
    at::clamp_min_(variance, options.eps());
  }
  const Tensor difference = at::sub(input, target);
  Tensor loss = at::mul(at::add(at::log(variance), at::div(at::mul(difference, difference), variance)), 0.5);
  if (options.full()) loss = at::add(loss, 0.5 * std::log(2 * 3.141592653589793));
  return reduced(loss, reduction_get_enum(options.reduction()));
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, double var,
                         const GaussianNLLLossFuncOptions& options) {
  return gaussian_nll_loss(input, target, at::full_like(input, var), options);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginLossFuncOptions& options) {
  TORCH_CHECK_VALUE(options.margin() > 0, "triplet_margin_loss: margin must be greater than 0, got ",
                    options.margin());
  return at::triplet_margin_loss(anchor, positive, negative, options.margin(), options.p(), options.eps(),
                                 options.swap(), reduction_get_enum(options.reduction()));
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonNLLLossFuncOptions& options) {
  return at::poisson_nll_loss(input, target, options.log_input(), options.full(), options.eps(),
                              reduction_get_enum(options.reduction()));
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           const MarginRankingLossFuncOptions& options) {
  TORCH_CHECK(input1.dim() == input2.dim() && input1.dim() == target.dim(),
              "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: ",
              input1.sizes(), ", input2: ", input2.sizes(), ", target: ", target.sizes());
  return at::margin_ranking_loss(input1, input2, target, options.margin(), reduction_get_enum(options.reduction()));
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CTCLossFuncOptions& options) {
  return at::ctc_loss(log_probs, targets, input_lengths, target_lengths, options.blank(),
                      reduction_get_enum(options.reduction()), options.zero_infinity());
}

}  // namespace torch::nn::functional
