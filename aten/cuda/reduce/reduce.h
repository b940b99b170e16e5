// Reductions of CUDA tensors over any dimensions, by the operations that the CPU's engine has (aten/cpu/reduce/reduce.h).
#pragma once

#include "aten/cpu/reduce/reduce.h"
#include "aten/cuda/reduce/reduce_call.h"

namespace at::cuda {

/// Runs the kernels that `find` gives over `args`, whose addresses are of the current device, on its current stream. The order in which
/// elements are combined depends on sizes, strides and the alignment of memory alone. Throws c10::Error where more than kMaxReduceDims
/// dimensions are left, kept or reduced, when neighbours are merged.
void reduce(const char* name, ReduceFinder find, const cpu::ReduceArgs& args, ScalarType in_dtype, const ScalarType (&out_dtypes)[2],
            const cpu::ReduceParams& params);

/// The same for an operation on the pairs of elements of two inputs.
void reduce_pairs(const char* name, ReduceFinder find, const cpu::ReduceArgs& args, const ReducePair& pair, ScalarType in_dtype,
                  const ScalarType (&out_dtypes)[2]);

namespace reductions {

/// Of pairs (g, x), into float64 or other results: the sum of g, and that of g * (x - center) with a center for each output, in order.
ReduceLaunchers gradient_sums(ScalarType dtype, const cpu::ReduceParams& params);
/// The same with g * (x - center) * scale and numbers for each place along the reduction.
ReduceLaunchers scaled_gradient_sums(ScalarType dtype, const cpu::ReduceParams& params);

}  // namespace reductions

}  // namespace at::cuda
