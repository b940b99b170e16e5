// Products with matrices that are laid out once.
#pragma once

#include <cstdint>

#include "aten/cpu/matrix/packed.h"

namespace torch::aot {

/// y[m, n] = x[m, k] w + bias, rows of y dense and n apart; x has any strides, `bias` has n numbers or is null. On
/// several threads where the work is worth it.
void multiply(const at::matrix::PackedMatrix& w, int64_t m, const at::matrix::Operand& x, void* y, const void* bias);

}  // namespace torch::aot
