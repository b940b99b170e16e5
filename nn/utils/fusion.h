// A batch norm in evaluation, folded into the layer before it.
//
//   net->eval();
//   auto conv = torch::nn::utils::fuse_conv_bn_eval(net->conv, net->bn);   // gives what bn(conv(x)) gave
#pragma once

#include <memory>
#include <utility>

#include "nn/layers/normalization.h"
#include "nn/module/computed_tensor.h"

namespace torch::nn::utils {

// Weight and bias of a convolution followed by the batch norm of these statistics; undefined: a bias of zeros, a weight
// of ones. `transpose`: of a transposed convolution of one group.
std::pair<at::Tensor, at::Tensor> fuse_conv_bn_weights(const at::Tensor& conv_w, const at::Tensor& conv_b,
                                                       const at::Tensor& bn_rm, const at::Tensor& bn_rv, double bn_eps,
                                                       const at::Tensor& bn_w, const at::Tensor& bn_b,
                                                       bool transpose = false);
std::pair<at::Tensor, at::Tensor> fuse_linear_bn_weights(const at::Tensor& linear_w, const at::Tensor& linear_b,
                                                         const at::Tensor& bn_rm, const at::Tensor& bn_rv,
                                                         double bn_eps, const at::Tensor& bn_w, const at::Tensor& bn_b);

namespace detail {
// Throws unless both are in evaluation and the norm has running statistics; puts the fused weights in `layer`.
void fuse(Module& layer, const nn::detail::BatchNormState& bn, bool linear, bool transpose);

template <typename M>
M fused_copy(const M& layer, const nn::detail::BatchNormState& bn, bool linear, bool transpose) {
  using Impl = typename M::ContainedType;
  auto copy = std::dynamic_pointer_cast<Impl>(layer.ptr()->clone());
  fuse(*copy, bn, linear, transpose);
  return M(copy);
}
}  // namespace detail

// A copy of the convolution with the norm folded in. Both must be in evaluation mode, and the norm must have running
// statistics.
template <typename Conv, typename BatchNorm>
Conv fuse_conv_bn_eval(const Conv& conv, const BatchNorm& bn, bool transpose = false) {
  return detail::fused_copy(conv, *bn, /*linear=*/false, transpose);
}
// The same of a Linear.
template <typename Linear, typename BatchNorm>
Linear fuse_linear_bn_eval(const Linear& linear, const BatchNorm& bn) {
  return detail::fused_copy(linear, *bn, /*linear=*/true, /*transpose=*/false);
}

}  // namespace torch::nn::utils
