#include "aten/cuda/copy_kernels.h"
#include "aten/cuda/loops/functions.cuh"
#include "aten/cuda/loops/pieces.cuh"

namespace at::cuda {
namespace {

AT_CUDA_FN(Same, 1, a)

constexpr ElementKernels kernels() {
  ElementKernels all = with_pieces<Same>(with_complex<Same>(with_unsigned<Same>(floating_kernels<Same>())));
  all.int64 = &launch_elementwise<Same, int64_t>;
  return all;
}

}  // namespace

constinit const ElementKernels kCopyKernels = kernels();

}  // namespace at::cuda
