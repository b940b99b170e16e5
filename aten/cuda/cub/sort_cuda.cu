#include <cub/device/device_radix_sort.cuh>

#include "aten/cuda/cub.h"
#include "c10/cuda/launch.h"

namespace at::cuda::cub {

#define AT_CUB_SORT_PAIRS(Key, Value)                                                                                  \
  cudaError_t sort_pairs(void* scratch, size_t& scratch_bytes, const Key* keys, Key* sorted_keys, const Value* values, \
                         Value* sorted_values, int64_t n, int bits, cudaStream_t stream) {                             \
    c10::cuda::register_kernels();                                                                                     \
    return ::cub::DeviceRadixSort::SortPairs(scratch, scratch_bytes, keys, sorted_keys, values, sorted_values, n, 0,   \
                                             bits, stream);                                                            \
  }
AT_CUB_SORT_PAIRS(uint32_t, int32_t)
AT_CUB_SORT_PAIRS(uint64_t, int32_t)
AT_CUB_SORT_PAIRS(uint32_t, int64_t)
AT_CUB_SORT_PAIRS(uint64_t, int64_t)

}  // namespace at::cuda::cub
