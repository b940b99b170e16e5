// Pointwise operators on CUDA tensors: what the CPU's declarations (aten/cpu/loops/loops.h) name their kernels by, and
// the call. No header of the toolkit is needed here.
#pragma once

#include "aten/core/result_spec.h"
#include "aten/core/tensor_base.h"
#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

/// Runs the kernel for `compute` over inputs of any layout and dtype into `out`, on the current stream of its device,
/// which is the current one. Inputs are CUDA tensors of that device, numbers, and CPU tensors of one element. `params`:
/// null, or the 64 bytes of pointwise::Params. Throws NotImplementedError where `kernels` has none for the type, and
/// c10::Error for shapes that more than kMaxElementwiseDims dimensions are left of when neighbours are merged.
void elementwise(const char* name, const ElementKernels& kernels, ScalarType compute, const void* params,
                 const TensorBase& out, pointwise::Inputs inputs);

/// Writes the elements of `src`, converted, into `dst`: CUDA tensors of the current device of one size, which share no
/// memory.
void copy_elements(const TensorBase& dst, const TensorBase& src);

}  // namespace at::cuda
