#pragma once
// Formulas of the reduction, scan, softmax and sort families. `dim` and `keepdim` are the operator's arguments; an empty or
// missing `dim` means all dimensions.

#include <optional>
#include <tuple>

#include "aten/core/tensor.h"

namespace torch::autograd::generated {
using namespace at;

// A reduced tensor with the dimensions that went put back as size 1.
Tensor restore_reduced_dims(const Tensor& reduced, int64_t rank, OptionalIntArrayRef dim, bool keepdim);

Tensor sum_backward(const Tensor& grad, IntArrayRef sizes, OptionalIntArrayRef dim, bool keepdim);
Tensor mean_backward(const Tensor& grad, IntArrayRef sizes, OptionalIntArrayRef dim, bool keepdim);
// grad spread evenly over the elements that `mask` marks, which `dim` was reduced over.
Tensor scale_grad_by_count(const Tensor& grad, const Tensor& mask, OptionalIntArrayRef dim);
// The same for a full reduction that picked `value`.
Tensor evenly_distribute_backward(const Tensor& grad, const Tensor& input, const Tensor& value);
// A gradient of the elements at `indices` along dim, in a tensor of `sizes`.
Tensor aminmax_backward(
    const Tensor& self, std::optional<int64_t> dim, bool keepdim, const Tensor& grad_min, const Tensor& grad_max, const Tensor& min,
    const Tensor& max);
Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntArrayRef dim, bool keepdim);
Tensor var_backward(
    const Tensor& grad, const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction, bool keepdim);
Tensor std_backward(
    const Tensor& result, const Tensor& grad, const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction,
    bool keepdim);
Tensor var_mean_backward(
    const Tensor& grad_var, const Tensor& grad_mean, const Tensor& self, OptionalIntArrayRef dim,
    const std::optional<Scalar>& correction, bool keepdim);
Tensor std_mean_backward(
    const Tensor& grad_std, const Tensor& grad_mean, const Tensor& self, const Tensor& std, OptionalIntArrayRef dim,
    const std::optional<Scalar>& correction, bool keepdim);
Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim, bool keepdim);
Tensor norm_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& p, const Tensor& norm);
Tensor norm_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& p, const Tensor& norm,
                     OptionalIntArrayRef dim, bool keepdim);

// grad is the cotangent of the gradient that softmax's (log_softmax's) backward operator computes from grad_output and output.
Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, int64_t dim, const Tensor& output);
Tensor log_softmax_double_backward(const Tensor& grad, const Tensor& grad_output, int64_t dim, const Tensor& output);

// sum_{j >= i} grad_j
Tensor cumsum_backward(const Tensor& grad, int64_t dim);
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim);

}  // namespace torch::autograd::generated
