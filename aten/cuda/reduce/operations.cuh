// The operations that the CPU's engine names weakly (aten/cpu/reduce/kernel-inl.h).
#pragma once

#include <cmath>
#include <limits>

#include "aten/cuda/reduce/exact_sum.cuh"
#include "aten/cuda/reduce/reduce.cuh"

namespace at::cuda {

/// Of an operation by the type that it computes real numbers in: float, double or int64.
template <template <class> class Op>
ReduceLaunchers launchers_of_real(ScalarType dtype) {
  if (dtype == ScalarType::Double) return reduce_launchers<Op<double>>();
  if (c10::isFloatingType(dtype)) return reduce_launchers<Op<float>>();
  return reduce_launchers<Op<int64_t>>();
}

namespace reductions {

#define AT_CUDA_REDUCTION(name) ReduceLaunchers name(ScalarType dtype, const ReduceParams& params);
AT_CUDA_REDUCTION(sum)
AT_CUDA_REDUCTION(nansum)
AT_CUDA_REDUCTION(prod)
AT_CUDA_REDUCTION(max)
AT_CUDA_REDUCTION(min)
AT_CUDA_REDUCTION(minmax)
AT_CUDA_REDUCTION(argmax)
AT_CUDA_REDUCTION(argmin)
AT_CUDA_REDUCTION(moments)
AT_CUDA_REDUCTION(all)
AT_CUDA_REDUCTION(any)
AT_CUDA_REDUCTION(count_nonzero)
AT_CUDA_REDUCTION(norm)
AT_CUDA_REDUCTION(logsumexp)
#undef AT_CUDA_REDUCTION

}  // namespace reductions
}  // namespace at::cuda
