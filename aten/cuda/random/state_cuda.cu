// The first kernel of a replay that draws random numbers.
#include "aten/cuda/random/state.h"
#include "c10/cuda/launch.h"

namespace at::cuda {

__global__ void write_generator_values_kernel(int64_t* to, uint64_t seed, uint64_t offset) {
  to[0] = static_cast<int64_t>(seed);
  to[1] = static_cast<int64_t>(offset);
}

void write_generator_values(int64_t* to, uint64_t seed, uint64_t offset, cudaStream_t stream) {
  c10::cuda::launch_or_throw("write_generator_values", write_generator_values_kernel,
                             {.grid = 1, .block = 1, .stream = stream}, to, seed, offset);
}

}  // namespace at::cuda
