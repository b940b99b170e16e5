#include "nn/layers/loss.h"

#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/string_util.h"
#include "nn/functional/loss.h"

namespace torch::nn {

namespace F = torch::nn::functional;

at::Tensor L1LossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  return F::l1_loss(input, target, options);
}
void L1LossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::L1Loss()"));
}

at::Tensor MSELossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  return F::mse_loss(input, target, options);
}
void MSELossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::MSELoss()"));
}

at::Tensor SmoothL1LossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  return F::smooth_l1_loss(input, target, options);
}
void SmoothL1LossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::SmoothL1Loss"));
}

at::Tensor HuberLossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  return F::huber_loss(input, target, options);
}
void HuberLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::HuberLoss"));
}

at::Tensor KLDivLossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  return F::kl_div(input, target, options);
}
void KLDivLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::KLDivLoss()"));
}

at::Tensor HingeEmbeddingLossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  return F::hinge_embedding_loss(input, target, options);
}
void HingeEmbeddingLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::HingeEmbeddingLoss(margin=", options.margin(), ")"));
}

at::Tensor MultiLabelMarginLossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  return F::multilabel_margin_loss(input, target, options);
}
void MultiLabelMarginLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::MultiLabelMarginLoss()"));
}

at::Tensor SoftMarginLossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  return F::soft_margin_loss(input, target, options);
}
void SoftMarginLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::SoftMarginLoss()"));
}

at::Tensor PoissonNLLLossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  return F::poisson_nll_loss(input, target, options);
}
void PoissonNLLLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::PoissonNLLLoss()"));
}

at::Tensor BCELossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  return F::binary_cross_entropy(input, target, current());
}
void BCELossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::BCELoss()"));
}

at::Tensor NLLLossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  return F::nll_loss(input, target, current());
}
void NLLLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::NLLLoss()"));
}

at::Tensor CrossEntropyLossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  return F::cross_entropy(input, target, current());
}
void CrossEntropyLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::CrossEntropyLoss()"));
}

LinearCrossEntropyLossImpl::LinearCrossEntropyLossImpl(LinearCrossEntropyLossOptions options_)
    : options(std::move(options_)) {
  reset();
}
void LinearCrossEntropyLossImpl::reset() {
  int64_t logits = options.num_classes();
  for (const int64_t size : options.out_features()) logits *= size;
  linear = register_module("linear", Linear(LinearOptions(options.in_features(), logits).bias(options.bias())));
  weight = register_buffer("weight", options.weight());
}
at::Tensor LinearCrossEntropyLossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  at::Tensor map = linear->weight, bias = linear->bias;
  if (!options.out_features().empty()) {
    std::vector<int64_t> sizes = options.out_features();
    sizes.insert(sizes.begin(), options.num_classes());
    if (bias.defined()) bias = at::reshape(bias, sizes);
    sizes.push_back(options.in_features());
    map = at::reshape(map, sizes);
  }
  return F::linear_cross_entropy(input, map, target,
                                 F::LinearCrossEntropyFuncOptions()
                                     .linear_bias(bias)
                                     .weight(weight)
                                     .ignore_index(options.ignore_index())
                                     .label_smoothing(options.label_smoothing())
                                     .reduction(options.reduction()));
}
void LinearCrossEntropyLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::LinearCrossEntropyLoss(in_features=", options.in_features(),
                                    ", num_classes=", options.num_classes(), ", out_features=(",
                                    c10::Join(", ", options.out_features()), "), bias=", options.bias(), ")"));
}

BCEWithLogitsLossImpl::BCEWithLogitsLossImpl(BCEWithLogitsLossOptions options_) : options(std::move(options_)) {
  reset();
}
void BCEWithLogitsLossImpl::reset() {
  weight = register_buffer("weight", options.weight());
  pos_weight = register_buffer("pos_weight", options.pos_weight());
}
at::Tensor BCEWithLogitsLossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  auto current = options;
  current.weight(weight).pos_weight(pos_weight);
  return F::binary_cross_entropy_with_logits(input, target, current);
}
void BCEWithLogitsLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::BCEWithLogitsLoss()"));
}

at::Tensor MultiLabelSoftMarginLossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  return F::multilabel_soft_margin_loss(input, target, current());
}
void MultiLabelSoftMarginLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::MultiLabelSoftMarginLoss()"));
}

at::Tensor MultiMarginLossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  return F::multi_margin_loss(input, target, current());
}
void MultiMarginLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::MultiMarginLoss(p=", options.p(), ", margin=", options.margin(),
                                    ", weight=", weight.defined() ? c10::str(weight.sizes()) : "[ Tensor (undefined) ]",
                                    ", reduction=", enumtype::get_enum_name(options.reduction()), ")"));
}

at::Tensor CosineEmbeddingLossImpl::forward(const at::Tensor& input1, const at::Tensor& input2,
                                            const at::Tensor& target) {
  return F::cosine_embedding_loss(input1, input2, target, options);
}
void CosineEmbeddingLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::CosineEmbeddingLoss(margin=", options.margin(), ")"));
}

at::Tensor MarginRankingLossImpl::forward(const at::Tensor& input1, const at::Tensor& input2,
                                          const at::Tensor& target) {
  return F::margin_ranking_loss(input1, input2, target, options);
}
void MarginRankingLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, "torch::nn::MarginRankingLoss()");
}

TripletMarginLossImpl::TripletMarginLossImpl(TripletMarginLossOptions options_) : OptionsLayer(std::move(options_)) {
  TORCH_CHECK_VALUE(options.margin() > 0, "TripletMarginLoss: expected margin to be greater than 0, got ",
                    options.margin(), " instead");
}
at::Tensor TripletMarginLossImpl::forward(const at::Tensor& anchor, const at::Tensor& positive,
                                          const at::Tensor& negative) {
  return F::triplet_margin_loss(anchor, positive, negative, options);
}
void TripletMarginLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(stream,
                              c10::str("torch::nn::TripletMarginLoss(margin=", options.margin(), ", p=", options.p(),
                                       ", eps=", options.eps(), ", swap=", options.swap() ? "true" : "false", ")"));
}

TripletMarginWithDistanceLossImpl::TripletMarginWithDistanceLossImpl(TripletMarginWithDistanceLossOptions options_)
    : OptionsLayer(std::move(options_)) {
  TORCH_CHECK_VALUE(options.margin() > 0, "TripletMarginWithDistanceLoss: expected margin to be greater than 0, got ",
                    options.margin(), " instead");
}
at::Tensor TripletMarginWithDistanceLossImpl::forward(const at::Tensor& anchor, const at::Tensor& positive,
                                                      const at::Tensor& negative) {
  return F::triplet_margin_with_distance_loss(anchor, positive, negative, options);
}
void TripletMarginWithDistanceLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(stream, c10::str("torch::nn::TripletMarginWithDistanceLoss(margin=", options.margin(),
                                               ", swap=", options.swap() ? "true" : "false", ")"));
}

at::Tensor GaussianNLLLossImpl::forward(const at::Tensor& input, const at::Tensor& target, const at::Tensor& var) {
  return F::gaussian_nll_loss(input, target, var, options);
}
at::Tensor GaussianNLLLoss::operator()(const at::Tensor& input, const at::Tensor& target, double var) {
  return (*this)(input, target, at::full_like(input, var));
}
void GaussianNLLLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, "torch::nn::GaussianNLLLoss()");
}

at::Tensor CTCLossImpl::forward(const at::Tensor& log_probs, const at::Tensor& targets, const at::Tensor& input_lengths,
                                const at::Tensor& target_lengths) {
  return F::ctc_loss(log_probs, targets, input_lengths, target_lengths, options);
}
void CTCLossImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::CTCLoss()"));
}

template class Cloneable<L1LossImpl>;
template class Cloneable<MSELossImpl>;
template class Cloneable<SmoothL1LossImpl>;
template class Cloneable<HuberLossImpl>;
template class Cloneable<KLDivLossImpl>;
template class Cloneable<HingeEmbeddingLossImpl>;
template class Cloneable<MultiLabelMarginLossImpl>;
template class Cloneable<SoftMarginLossImpl>;
template class Cloneable<PoissonNLLLossImpl>;
template class Cloneable<BCELossImpl>;
template class Cloneable<NLLLossImpl>;
template class Cloneable<CrossEntropyLossImpl>;
template class Cloneable<LinearCrossEntropyLossImpl>;
template class Cloneable<BCEWithLogitsLossImpl>;
template class Cloneable<MultiLabelSoftMarginLossImpl>;
template class Cloneable<MultiMarginLossImpl>;
template class Cloneable<CosineEmbeddingLossImpl>;
template class Cloneable<MarginRankingLossImpl>;
template class Cloneable<TripletMarginLossImpl>;
template class Cloneable<TripletMarginWithDistanceLossImpl>;
template class Cloneable<GaussianNLLLossImpl>;
template class Cloneable<CTCLossImpl>;

}  // namespace torch::nn
