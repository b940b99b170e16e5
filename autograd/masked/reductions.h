// Reductions and normalisations of the elements that a mask lets through: torch::masked.
//
//   auto x = torch::tensor({{-3.0, -2.0, -1.0}, {0.0, 1.0, 2.0}});
//   auto mask = torch::tensor({{true, false, true}, {false, false, false}});
//   torch::masked::sum(x, 1, false, {}, mask);   // -4, 0
#pragma once

#include <cstdint>
#include <optional>

#include "aten/core/tensor.h"

namespace torch::masked {

using at::Tensor;

/// Of all of these: `mask` is true where an element takes part, and broadcasts to the input, whose dimensions it must
/// not exceed (IndexError); numbers are true where they are not 0; undefined, all elements take part. `dim`: all
/// dimensions where it is not given or empty; one that is given twice is a c10::Error, one out of range an IndexError.
/// The result has the input's dtype, or `dtype` where given. Strided tensors only. Differentiable: what is masked out
/// has a gradient of 0.

/// Of no elements: 0 and 1. Sums and products of integers and bool are of int64.
Tensor sum(const Tensor& input, at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
           std::optional<at::ScalarType> dtype = std::nullopt, const Tensor& mask = {});
Tensor prod(const Tensor& input, at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
            std::optional<at::ScalarType> dtype = std::nullopt, const Tensor& mask = {});
/// Of no elements: minus and plus infinity, of integers the lowest and the highest.
Tensor amax(const Tensor& input, at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
            std::optional<at::ScalarType> dtype = std::nullopt, const Tensor& mask = {});
Tensor amin(const Tensor& input, at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
            std::optional<at::ScalarType> dtype = std::nullopt, const Tensor& mask = {});
/// Int64 indices, along all dimensions together where `dim` is not given; 0 of no elements.
Tensor argmax(const Tensor& input, std::optional<int64_t> dim = std::nullopt, bool keepdim = false,
              const Tensor& mask = {});
Tensor argmin(const Tensor& input, std::optional<int64_t> dim = std::nullopt, bool keepdim = false,
              const Tensor& mask = {});
/// NaN of no elements. Throws ValueError for a dtype that is neither floating-point nor complex.
Tensor mean(const Tensor& input, at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
            std::optional<at::ScalarType> dtype = std::nullopt, const Tensor& mask = {});
/// The lower of two in the middle. NaN of no elements, a ValueError where the input is not of floating point.
Tensor median(const Tensor& input, int64_t dim = -1, bool keepdim = false,
              std::optional<at::ScalarType> dtype = std::nullopt, const Tensor& mask = {});
/// log(sum(exp(x))). Minus infinity of no elements.
Tensor logsumexp(const Tensor& input, at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                 std::optional<at::ScalarType> dtype = std::nullopt, const Tensor& mask = {});
/// log(exp(input) + exp(other)), each without what its mask leaves out.
Tensor logaddexp(const Tensor& input, const Tensor& other, std::optional<at::ScalarType> dtype = std::nullopt,
                 const Tensor& input_mask = {}, const Tensor& other_mask = {});
/// (sum |x|^ord)^(1 / ord), the largest and smallest |x| for infinities. Of no elements: 0, infinity for ord =
/// -infinity.
Tensor norm(const Tensor& input, double ord = 2.0, at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
            std::optional<at::ScalarType> dtype = std::nullopt, const Tensor& mask = {});
/// sum |x - mean|^2 / max(count - correction, 0) and its root; of integers in float32. NaN of no elements.
Tensor var(const Tensor& input, at::OptionalIntArrayRef dim = std::nullopt, double correction = 1.0,
           bool keepdim = false, std::optional<at::ScalarType> dtype = std::nullopt, const Tensor& mask = {});
Tensor std(const Tensor& input, at::OptionalIntArrayRef dim = std::nullopt, double correction = 1.0,
           bool keepdim = false, std::optional<at::ScalarType> dtype = std::nullopt, const Tensor& mask = {});

/// As the functions of these names of the elements that take part; the others count as 0 and 1.
Tensor cumsum(const Tensor& input, int64_t dim, std::optional<at::ScalarType> dtype = std::nullopt,
              const Tensor& mask = {});
Tensor cumprod(const Tensor& input, int64_t dim, std::optional<at::ScalarType> dtype = std::nullopt,
               const Tensor& mask = {});
/// 0 where an element is masked out (log_softmax: minus infinity), NaN where all of a row are.
Tensor softmax(const Tensor& input, int64_t dim, std::optional<at::ScalarType> dtype = std::nullopt,
               const Tensor& mask = {});
Tensor log_softmax(const Tensor& input, int64_t dim, std::optional<at::ScalarType> dtype = std::nullopt,
                   const Tensor& mask = {});
Tensor softmin(const Tensor& input, int64_t dim, std::optional<at::ScalarType> dtype = std::nullopt,
               const Tensor& mask = {});
/// x / max(norm(x, ord, dim), eps); 0 where an element is masked out.
Tensor normalize(const Tensor& input, double ord, int64_t dim, double eps = 1e-12,
                 std::optional<at::ScalarType> dtype = std::nullopt, const Tensor& mask = {});

}  // namespace torch::masked
