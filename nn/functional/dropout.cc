#include "nn/functional/dropout.h"

#include "aten/ops/random/ops.h"
#include "aten/ops/view/ops.h"

namespace torch::nn::functional {
namespace {

void check_probability(double p) {
  TORCH_CHECK_VALUE(p >= 0. && p <= 1., "dropout probability has to be between 0 and 1, but got ", p);
}

}  // namespace

Tensor dropout(Tensor input, const DropoutFuncOptions& options) {
  check_probability(options.p());
  return options.inplace() ? at::dropout_(input, options.p(), options.training())
                           : at::dropout(input, options.p(), options.training());
}

Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& options) {
  check_probability(options.p());
  return options.inplace() ? at::feature_dropout_(input, options.p(), options.training())
                           : at::feature_dropout(input, options.p(), options.training());
}

Tensor dropout1d(Tensor input, const DropoutFuncOptions& options) {
  TORCH_CHECK(
      input.dim() == 2 || input.dim() == 3, "dropout1d: Expected 2D or 3D input, but received a ", input.dim(),
      "D input. Note that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, a "
      "channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs).");
  if (input.dim() == 3) return dropout2d(std::move(input), options);
  return at::squeeze(dropout2d(at::unsqueeze(input, 0), options), 0);
}

Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& options) {
  return dropout2d(std::move(input), options);
}

Tensor alpha_dropout(Tensor input, const AlphaDropoutFuncOptions& options) {
  check_probability(options.p());
  return options.inplace() ? at::alpha_dropout_(input, options.p(), options.training())
                           : at::alpha_dropout(input, options.p(), options.training());
}

Tensor feature_alpha_dropout(Tensor input, const FeatureAlphaDropoutFuncOptions& options) {
  check_probability(options.p());
  return options.inplace() ? at::feature_alpha_dropout_(input, options.p(), options.training())
                           : at::feature_alpha_dropout(input, options.p(), options.training());
}

namespace detail {

Tensor dropout(Tensor input, double p, bool training, bool inplace) {
  return functional::dropout(std::move(input), DropoutFuncOptions().p(p).training(training).inplace(inplace));
}
Tensor dropout2d(Tensor input, double p, bool training, bool inplace) {
  return functional::dropout2d(std::move(input), Dropout2dFuncOptions().p(p).training(training).inplace(inplace));
}
Tensor dropout3d(Tensor input, double p, bool training, bool inplace) {
  return functional::dropout3d(std::move(input), Dropout3dFuncOptions().p(p).training(training).inplace(inplace));
}
Tensor alpha_dropout(Tensor input, double p, bool training, bool inplace) {
  return functional::alpha_dropout(std::move(input), AlphaDropoutFuncOptions().p(p).training(training).inplace(inplace));
}
Tensor feature_alpha_dropout(Tensor input, double p, bool training, bool inplace) {
  return functional::feature_alpha_dropout(std::move(input),
                                           FeatureAlphaDropoutFuncOptions().p(p).training(training).inplace(inplace));
}

}  // namespace detail

}  // namespace torch::nn::functional
