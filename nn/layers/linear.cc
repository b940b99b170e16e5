#include "nn/layers/linear.h"

#include <cmath>

#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/default_dtype.h"
#include "nn/functional/linear.h"
#include "nn/init/init.h"

namespace torch::nn {

namespace F = torch::nn::functional;

void IdentityImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, "torch::nn::Identity()");
}

LinearImpl::LinearImpl(const LinearOptions& options_) : options(options_) {
  reset();
}

void LinearImpl::reset() {
  TORCH_CHECK(options.in_features() >= 0 && options.out_features() >= 0,
              "Linear: in_features and out_features must not be negative, got ", options.in_features(), " and ",
              options.out_features());
  weight = register_parameter("weight", at::empty({options.out_features(), options.in_features()}));
  bias = options.bias() ? register_parameter("bias", at::empty({options.out_features()}))
                        : register_parameter("bias", at::Tensor(), /*requires_grad=*/false);
  reset_parameters();
}

void LinearImpl::reset_parameters() {
  if (weight.numel() == 0) return;
  init::kaiming_uniform_(weight, std::sqrt(5));
  if (bias.defined()) {
    const double bound = 1 / std::sqrt(static_cast<double>(options.in_features()));
    init::uniform_(bias, -bound, bound);
  }
}

at::Tensor LinearImpl::forward(const at::Tensor& input) {
  return F::linear(input, weight, bias);
}

void LinearImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(
      stream, c10::str("torch::nn::Linear(in_features=", options.in_features(),
                       ", out_features=", options.out_features(), ", bias=", options.bias() ? "true" : "false", ")"));
}

BilinearImpl::BilinearImpl(const BilinearOptions& options_) : options(options_) {
  reset();
}

void BilinearImpl::reset() {
  TORCH_CHECK(options.in1_features() > 0 && options.in2_features() >= 0 && options.out_features() >= 0,
              "Bilinear: expected in1_features to be positive and the other sizes not to be negative, but got ",
              options.in1_features(), ", ", options.in2_features(), " and ", options.out_features());
  weight =
      register_parameter("weight", at::empty({options.out_features(), options.in1_features(), options.in2_features()}));
  bias = options.bias() ? register_parameter("bias", at::empty({options.out_features()}))
                        : register_parameter("bias", at::Tensor(), /*requires_grad=*/false);
  reset_parameters();
}

void BilinearImpl::reset_parameters() {
  if (weight.numel() == 0) return;
  const double bound = 1 / std::sqrt(static_cast<double>(options.in1_features()));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}

at::Tensor BilinearImpl::forward(const at::Tensor& input1, const at::Tensor& input2) {
  return F::bilinear(input1, input2, weight, bias);
}

void BilinearImpl::pretty_print(std::ostream& stream) const {
  detail::put_text_with_words(
      stream,
      c10::str("torch::nn::Bilinear(in1_features=", options.in1_features(), ", in2_features=", options.in2_features(),
               ", out_features=", options.out_features(), ", bias=", options.bias() ? "true" : "false", ")"));
}

at::Tensor FlattenImpl::forward(const at::Tensor& input) {
  return at::flatten(input, options.start_dim(), options.end_dim());
}

void FlattenImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(
      stream, c10::str("torch::nn::Flatten(start_dim=", options.start_dim(), ", end_dim=", options.end_dim(), ")"));
}

at::Tensor UnflattenImpl::forward(const at::Tensor& input) {
  TORCH_CHECK_NOT_IMPLEMENTED(options.dimname().empty(), "Unflatten: dimension \"", options.dimname(),
                              "\" by name: tensors have no named dimensions here; give its number");
  return at::unflatten(input, options.dim(), options.sizes());
}

void UnflattenImpl::pretty_print(std::ostream& stream) const {
  if (!options.dimname().empty()) {
    std::vector<std::string> sizes;
    for (const auto& [name, size] : options.namedshape()) sizes.push_back(c10::str("{\"", name, "\", ", size, "}"));
    return detail::put_text(stream, c10::str("torch::nn::Unflatten(dim=\"", options.dimname(), "\", unflattened_size={",
                                             c10::Join(", ", sizes), "})"));
  }
  detail::put_text(stream, c10::str("torch::nn::Unflatten(dim=", options.dim(), ", unflattened_size={",
                                    c10::Join(", ", options.sizes()), "})"));
}

template class Cloneable<IdentityImpl>;
template class Cloneable<LinearImpl>;
template class Cloneable<BilinearImpl>;
template class Cloneable<FlattenImpl>;
template class Cloneable<UnflattenImpl>;

}  // namespace torch::nn
