#include "aten/cuda/attention/flash_matrix.cuh"

namespace at::cuda {

template void launch_flash_matrix<BFloat16>(const FlashCall& call);

}  // namespace at::cuda
