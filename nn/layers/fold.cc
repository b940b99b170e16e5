#include "nn/layers/fold.h"

#include "nn/functional/fold.h"

namespace torch::nn {

at::Tensor FoldImpl::forward(const at::Tensor& input) {
  return functional::fold(input, options);
}
void FoldImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, c10::str("torch::nn::Fold(output_size=", options.output_size(),
                                    ", kernel_size=", options.kernel_size(), ", dilation=", options.dilation(),
                                    ", padding=", options.padding(), ", stride=", options.stride(), ")"));
}

at::Tensor UnfoldImpl::forward(const at::Tensor& input) {
  return functional::unfold(input, options);
}
void UnfoldImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream,
                   c10::str("torch::nn::Unfold(kernel_size=", options.kernel_size(), ", dilation=", options.dilation(),
                            ", padding=", options.padding(), ", stride=", options.stride(), ")"));
}

template class Cloneable<FoldImpl>;
template class Cloneable<UnfoldImpl>;

}  // namespace torch::nn
