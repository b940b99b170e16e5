#include "autograd/derivatives/upsample_functions.h"

#include "aten/ops/creation/ops.h"
#include "aten/ops/upsample/ops.h"

namespace torch::autograd::generated {

std::tuple<Tensor, Tensor, Tensor> grid_sampler_backward_grad(const Tensor* grads, const Tensor& grad_output,
                                                              const Tensor& input, const Tensor& grid,
                                                              int64_t interpolation_mode, int64_t padding_mode,
                                                              bool align_corners) {
  // A gradient that was not asked for is empty, and so is its gradient.
  const auto given_or_zeros = [](const Tensor& grad, const Tensor& like) {
    return grad.defined() && grad.sizes() == like.sizes() ? grad : at::zeros_like(like);
  };
  return at::_grid_sampler_backward_grad(given_or_zeros(grads[0], input), given_or_zeros(grads[1], grid), grad_output,
                                         input, grid, interpolation_mode, padding_mode, align_corners);
}

}  // namespace torch::autograd::generated
