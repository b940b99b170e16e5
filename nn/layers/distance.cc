#include "nn/layers/distance.h"

#include "nn/functional/distance.h"

namespace torch::nn {

at::Tensor CosineSimilarityImpl::forward(const at::Tensor& x1, const at::Tensor& x2) {
  return functional::cosine_similarity(x1, x2, options);
}
void CosineSimilarityImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(
      stream, c10::str("torch::nn::CosineSimilarity(dim=", options.dim(), ", eps=", options.eps(), ")"));
}

at::Tensor PairwiseDistanceImpl::forward(const at::Tensor& x1, const at::Tensor& x2) {
  return functional::pairwise_distance(x1, x2, options);
}
void PairwiseDistanceImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(stream, c10::str("torch::nn::PairwiseDistance(p=", options.p(), ", eps=", options.eps(),
                                               ", keepdim=", options.keepdim() ? "true" : "false", ")"));
}

template class Cloneable<CosineSimilarityImpl>;
template class Cloneable<PairwiseDistanceImpl>;

}  // namespace torch::nn
