#pragma once

#include <cstdint>
#include <optional>

#include "aten/core/tensor.h"

// Tangents that take more than a line. `t` is the tangent of the input named in front of it; the rest are the operator's
// arguments and results.
namespace torch::autograd::generated {

using namespace at;

// Of results picked along `dim` at `indices`: max, median, sort, cummax and the like.
Tensor picked_tangent(const Tensor& t, int64_t dim, const Tensor& indices, bool keepdim = true);
// Of an extreme over `dim` (none: over all): the mean of the tangents where `self` equals it.
Tensor extreme_tangent(const Tensor& t, const Tensor& self, const Tensor& result, OptionalIntArrayRef dim, bool keepdim);
Tensor nansum_tangent(const Tensor& t, const Tensor& self, OptionalIntArrayRef dim, bool keepdim);
Tensor logsumexp_tangent(const Tensor& t, const Tensor& self, const Tensor& result, IntArrayRef dim, bool keepdim);
Tensor var_tangent(
    const Tensor& t, const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction, bool keepdim);
// 0 where the standard deviation is 0, as backward has it.
Tensor std_tangent(
    const Tensor& t, const Tensor& self, const Tensor& std, OptionalIntArrayRef dim, const std::optional<Scalar>& correction,
    bool keepdim);

// s = softmax(x): ds = s * (dx - sum(s * dx)); l = log_softmax(x): dl = dx - sum(exp(l) * dx).
Tensor softmax_tangent(const Tensor& t, const Tensor& result, int64_t dim);
Tensor log_softmax_tangent(const Tensor& t, const Tensor& result, int64_t dim);

// y = xhat * weight + bias, xhat = (x - mean(x)) * rstd.
Tensor layer_norm_input_tangent(
    const Tensor& t, const Tensor& input, IntArrayRef normalized_shape, const std::optional<Tensor>& weight, double eps);
Tensor layer_norm_weight_tangent(const Tensor& t, const Tensor& input, IntArrayRef normalized_shape, double eps);

// alpha * t for a number; t itself for 1.
Tensor scaled(const Tensor& t, const Scalar& alpha);
// A number per channel, as it is added to a result of `dims` dimensions whose channels are dimension `channel`.
Tensor channel_tangent(const Tensor& t, int64_t dims, int64_t channel);
// What as_strided shows of `self`, of `t`, which has self's strides.
Tensor as_strided_tangent(
    const Tensor& t, const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset);
// i * result * t
Tensor polar_angle_tangent(const Tensor& t, const Tensor& result);

}  // namespace torch::autograd::generated
