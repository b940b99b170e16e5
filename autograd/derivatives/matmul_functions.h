#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>

#include "aten/core/tensor.h"

// Gradients of matrix products, convolutions and pooling.
namespace torch::autograd::generated {

using namespace at;

// result = scale * left @ right (matrices or batches of them).
Tensor matmul_grad_left(const Tensor& grad, const Tensor& right, const Scalar& scale = 1);
Tensor matmul_grad_right(const Tensor& grad, const Tensor& left, const Scalar& scale = 1);
// As above for a sum over batches (addbmm): grad is one matrix.
Tensor addbmm_grad_left(const Tensor& grad, const Tensor& right, const Scalar& scale);
Tensor addbmm_grad_right(const Tensor& grad, const Tensor& left, const Scalar& scale);
// result = scale * matrix @ vector.
Tensor mv_grad_matrix(const Tensor& grad, const Tensor& vector, const Scalar& scale = 1);
Tensor mv_grad_vector(const Tensor& grad, const Tensor& matrix, const Scalar& scale = 1);
// result = scale * outer(left, right).
Tensor outer_grad_left(const Tensor& grad, const Tensor& right, const Scalar& scale = 1);
Tensor outer_grad_right(const Tensor& grad, const Tensor& left, const Scalar& scale = 1);
std::tuple<Tensor, Tensor, Tensor> linear_grad(
    const Tensor& grad, const Tensor& input, const Tensor& weight, std::array<bool, 3> mask);
Tensor cross_grad_self(const Tensor& grad, const Tensor& other, std::optional<int64_t> dim);
Tensor cross_grad_other(const Tensor& grad, const Tensor& self, std::optional<int64_t> dim);

std::tuple<Tensor, Tensor, Tensor> convolution_grad(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& weight,
    const Tensor& bias,
    IntArrayRef stride,
    IntArrayRef padding,
    IntArrayRef dilation,
    bool transposed,
    IntArrayRef output_padding,
    int64_t groups,
    std::array<bool, 3> mask);

// What max pooling's gradient is linear in: picks grad at `indices` of the last `dims` dimensions.
Tensor max_pool_backward_grad(const Tensor& grad, const Tensor& indices, int64_t dims);

}  // namespace torch::autograd::generated
