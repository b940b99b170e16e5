// Activations. Each returns a tensor of the input's shape and dtype; with `inplace` it writes into its input.
//
//   namespace F = torch::nn::functional;
//   auto y = F::leaky_relu(x, F::LeakyReLUFuncOptions().negative_slope(0.2));
#pragma once

#include "aten/core/tensor.h"
#include "nn/options/activation.h"

namespace torch::nn::functional {

using at::Tensor;

// x > 0 ? x : alpha * (exp(x) - 1)
Tensor elu(Tensor input, const ELUFuncOptions& options = {});
// scale * elu(x, alpha) with the constants of self-normalizing networks
Tensor selu(Tensor input, const SELUFuncOptions& options = {});
// max(0, x) + min(0, alpha * (exp(x / alpha) - 1))
Tensor celu(Tensor input, const CELUFuncOptions& options = {});
// |x| > lambda ? x : 0
Tensor hardshrink(const Tensor& input, const HardshrinkFuncOptions& options = {});
// x cut to [min_val, max_val]
Tensor hardtanh(Tensor input, const HardtanhFuncOptions& options = {});
// x > 0 ? x : negative_slope * x
Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& options = {});
// The same with a learned slope, one or one a channel (dimension 1).
Tensor prelu(const Tensor& input, const Tensor& weight);
// The same with a slope drawn from [lower, upper) in training, and their mean otherwise.
Tensor rrelu(Tensor input, const RReLUFuncOptions& options = {});
Tensor relu(Tensor input, const ReLUFuncOptions& options = {});
// x cut to [0, 6]
Tensor relu6(Tensor input, const ReLU6FuncOptions& options = {});
// x > threshold ? x : value
Tensor threshold(Tensor input, const ThresholdFuncOptions& options);
// x * Phi(x), exactly or by a tanh
Tensor gelu(const Tensor& input, const GELUFuncOptions& options = {});
// a * sigmoid(b) of the two halves along `dim`
Tensor glu(const Tensor& input, const GLUFuncOptions& options = {});
// x * sigmoid(x)
Tensor silu(const Tensor& input);
// x * tanh(softplus(x))
Tensor mish(const Tensor& input);
Tensor logsigmoid(const Tensor& input);
// log(1 + exp(beta x)) / beta; x itself where beta x > threshold
Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options = {});
// x moved towards zero by lambda, and zero within it
Tensor softshrink(const Tensor& input, const SoftshrinkFuncOptions& options = {});
// x / (1 + |x|)
Tensor softsign(const Tensor& input);
// x - tanh(x)
Tensor tanhshrink(const Tensor& input);
// exp(x) / sum(exp(x)) along `dim`, in `dtype` if given
Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options);
// softmax(-x)
Tensor softmin(const Tensor& input, const SoftminFuncOptions& options);
Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options);
// 1 / (1 + exp(-x)); tanh(x)
Tensor sigmoid(const Tensor& input);
Tensor tanh(const Tensor& input);
// x / 6 + 1 / 2 cut to [0, 1]
Tensor hardsigmoid(Tensor input, const HardsigmoidFuncOptions& options = {});
// x * hardsigmoid(x)
Tensor hardswish(Tensor input, const HardswishFuncOptions& options = {});
// A sample of the Gumbel-softmax distribution; `hard` gives one-hot values with the soft sample's gradient.
Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& options = {});

}  // namespace torch::nn::functional
