#include "aten/cuda/attention/flash_matrix_backward.cuh"

namespace at::cuda {

template void launch_flash_matrix_backward<Half>(const FlashGradientCall& call);

}  // namespace at::cuda
