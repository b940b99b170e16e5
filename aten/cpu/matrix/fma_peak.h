#pragma once

#include "aten/cpu/matrix/gemm.h"

namespace at::matrix {

/// GFLOP/s that `threads` threads reach with multiply-adds on registers alone, what a product can at most reach here: the
/// most of `trials`, each of some milliseconds. float32 and float64.
double fma_peak_gflops(Type type, int threads, int trials = 20);

}  // namespace at::matrix
