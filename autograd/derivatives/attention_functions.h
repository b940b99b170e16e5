#pragma once

#include <array>
#include <cstdint>
#include <tuple>

#include "aten/core/tensor.h"

// The gradient of fused attention.
namespace torch::autograd::generated {

using namespace at;

// Gradients of query, key and value: the fused kernel where nothing is recorded; where the pass is (it will be differentiated
// again), the same formula written with differentiable operators, which holds the matrix of weights.
std::tuple<Tensor, Tensor, Tensor> fused_attention_grad(
    const Tensor& grad,
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const Tensor& output,
    const Tensor& logsumexp,
    const Tensor& attn_mask,
    double dropout_p,
    bool is_causal,
    double scale,
    int64_t seed,
    std::array<bool, 3> mask);

}  // namespace torch::autograd::generated
