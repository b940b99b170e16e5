// gelu(x * w + b) + r and relu(x * w + b) + r of x and r [rows, columns], w and b [columns].
#pragma once

#include <cstdint>

namespace torch {

/// `columns`: a multiple of 32.
void gelu_chain_by_hand(const float* x, const float* w, const float* b, const float* r, float* out, int64_t rows,
                        int64_t columns);
void relu_chain_by_hand(const float* x, const float* w, const float* b, const float* r, float* out, int64_t rows,
                        int64_t columns);

}  // namespace torch
