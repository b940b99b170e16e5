// Linear maps.
#pragma once

#include <optional>

#include "aten/core/tensor.h"

namespace torch::nn::functional {

using at::Tensor;

// input [*, in] times weight^T [out, in], plus bias [out] if defined: [*, out].
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
// x1 [*, in1], x2 [*, in2], weight [out, in1, in2]: out[*, k] = x1 weight[k] x2^T + bias[k].
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias = {});
// The products of groups of matrices:
//   a [M, K], b [G, K, N], offs [G]: rows offs[g - 1] to offs[g] of a times b[g], together [M, N]
//   a [G, M, K], b [K, N], offs [G]: a[g] times columns offs[g - 1] to offs[g] of b, together [M, N]
//   a [M, K], b [K, N], offs [G]: columns offs[g - 1] to offs[g] of a times those rows of b, [G, M, N]
//   a [G, M, K], b [G, K, N], without offs: [G, M, N]
// `offs` are ascending integers on the CPU, of which the last may be below the size; elements behind it are 0. `bias` is added.
// `out_dtype`, where given, must be that of a (c10::Error).
Tensor grouped_mm(const Tensor& a, const Tensor& b, const Tensor& offs = {}, const Tensor& bias = {},
                  std::optional<at::ScalarType> out_dtype = std::nullopt);

}  // namespace torch::nn::functional
