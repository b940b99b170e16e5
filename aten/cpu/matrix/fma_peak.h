#pragma once

#include "aten/cpu/matrix/gemm.h"

namespace at::matrix {

/// GFLOP/s that `threads` threads reach with multiply-adds on registers alone: what a product can at most reach here. Takes
/// about a fifth of a second. float32 and float64.
double fma_peak_gflops(Type type, int threads);

}  // namespace at::matrix
