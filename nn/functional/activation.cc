#include "nn/functional/activation.h"

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace torch::nn::functional {

Tensor elu(Tensor input, const ELUFuncOptions& options) {
  return options.inplace() ? at::elu_(input, options.alpha()) : at::elu(input, options.alpha());
}
Tensor selu(Tensor input, const SELUFuncOptions& options) {
  return options.inplace() ? at::selu_(input) : at::selu(input);
}
Tensor celu(Tensor input, const CELUFuncOptions& options) {
  return options.inplace() ? at::celu_(input, options.alpha()) : at::celu(input, options.alpha());
}
Tensor hardshrink(const Tensor& input, const HardshrinkFuncOptions& options) {
  return at::hardshrink(input, options.lambda());
}
Tensor hardtanh(Tensor input, const HardtanhFuncOptions& options) {
  TORCH_CHECK_VALUE(options.min_val() <= options.max_val(), "min_val cannot be greater than max_val, but got ",
                    options.min_val(), " and ", options.max_val());
  return options.inplace() ? at::hardtanh_(input, options.min_val(), options.max_val())
                           : at::hardtanh(input, options.min_val(), options.max_val());
}
Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& options) {
  return options.inplace() ? at::leaky_relu_(input, options.negative_slope())
                           : at::leaky_relu(input, options.negative_slope());
}
Tensor sigmoid(const Tensor& input) {
  return at::sigmoid(input);
}
Tensor tanh(const Tensor& input) {
  return at::tanh(input);
}
Tensor hardsigmoid(Tensor input, const HardsigmoidFuncOptions& options) {
  return options.inplace() ? at::hardsigmoid_(input) : at::hardsigmoid(input);
}
Tensor hardswish(Tensor input, const HardswishFuncOptions& options) {
  return options.inplace() ? at::hardswish_(input) : at::hardswish(input);
}
Tensor prelu(const Tensor& input, const Tensor& weight) {
  return at::prelu(input, weight);
}
Tensor rrelu(Tensor input, const RReLUFuncOptions& options) {
  return options.inplace() ? at::rrelu_(input, options.lower(), options.upper(), options.training())
                           : at::rrelu(input, options.lower(), options.upper(), options.training());
}
Tensor relu(Tensor input, const ReLUFuncOptions& options) {
  return options.inplace() ? at::relu_(input) : at::relu(input);
}
Tensor relu6(Tensor input, const ReLU6FuncOptions& options) {
  return options.inplace() ? at::relu6_(input) : at::relu6(input);
}
Tensor threshold(Tensor input, const ThresholdFuncOptions& options) {
  return options.inplace() ? at::threshold_(input, options.threshold(), options.value())
                           : at::threshold(input, options.threshold(), options.value());
}
Tensor gelu(const Tensor& input, const GELUFuncOptions& options) {
  return at::gelu(input, options.approximate());
}
Tensor glu(const Tensor& input, const GLUFuncOptions& options) {
  TORCH_CHECK(input.dim() != 0, "glu does not suppport scalars because halving size must be even");
  return at::glu(input, options.dim());
}
Tensor silu(const Tensor& input) {
  return at::silu(input);
}
Tensor mish(const Tensor& input) {
  return at::mish(input);
}
Tensor logsigmoid(const Tensor& input) {
  return at::log_sigmoid(input);
}
Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options) {
  return at::softplus(input, options.beta(), options.threshold());
}
Tensor softshrink(const Tensor& input, const SoftshrinkFuncOptions& options) {
  return at::softshrink(input, options.lambda());
}
Tensor softsign(const Tensor& input) {
  return at::div(input, at::add(at::abs(input), 1));
}
Tensor tanhshrink(const Tensor& input) {
  return at::sub(input, at::tanh(input));
}
Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options) {
  return at::softmax(input, options.dim(), options.dtype());
}
Tensor softmin(const Tensor& input, const SoftminFuncOptions& options) {
  return at::softmax(at::neg(input), options.dim(), options.dtype());
}
Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options) {
  return at::log_softmax(input, options.dim(), options.dtype());
}

Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& options) {
  Tensor gumbels = at::empty_like(logits);
  at::exponential_(gumbels);
  gumbels = at::neg(at::log(gumbels));
  const Tensor soft = at::softmax(at::div(at::add(logits, gumbels), options.tau()), options.dim(), std::nullopt);
  if (!options.hard()) return soft;
  const Tensor index = std::get<1>(at::max(soft, options.dim(), /*keepdim=*/true));
  const Tensor one_hot = at::scatter(at::zeros_like(logits), options.dim(), index, 1.0);
  return at::add(at::sub(one_hot, at::detach(soft)), soft);
}

}  // namespace torch::nn::functional
