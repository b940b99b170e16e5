// CUB's device-wide algorithms, as far as operators use them. Tests on the host link another implementation of the same
// functions
// (//tests/cuda_on_host/cub).
//
// As in CUB, a function that is called without scratch memory says in `scratch_bytes` how much it wants, and does
// nothing else; called with that much it submits its work to `stream`. with_scratch() makes both calls.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "c10/cuda/exception.h"
#include "c10/cuda/stream.h"
#include "c10/memory/allocator.h"

namespace at::cuda::cub {

/// Pairs by the bits [0, bits) of their unsigned keys, the smallest first; those of equal keys keep their order. No
/// array overlaps another.
cudaError_t sort_pairs(void* scratch, size_t& scratch_bytes, const uint32_t* keys, uint32_t* sorted_keys,
                       const int32_t* values, int32_t* sorted_values, int64_t n, int bits, cudaStream_t stream);
cudaError_t sort_pairs(void* scratch, size_t& scratch_bytes, const uint64_t* keys, uint64_t* sorted_keys,
                       const int32_t* values, int32_t* sorted_values, int64_t n, int bits, cudaStream_t stream);
cudaError_t sort_pairs(void* scratch, size_t& scratch_bytes, const uint32_t* keys, uint32_t* sorted_keys,
                       const int64_t* values, int64_t* sorted_values, int64_t n, int bits, cudaStream_t stream);
cudaError_t sort_pairs(void* scratch, size_t& scratch_bytes, const uint64_t* keys, uint64_t* sorted_keys,
                       const int64_t* values, int64_t* sorted_values, int64_t n, int bits, cudaStream_t stream);

/// sums[i] = the sum of the elements before i, with `inclusive` also of i.
cudaError_t sum_scan(void* scratch, size_t& scratch_bytes, const uint8_t* elements, int64_t* sums, int64_t n,
                     bool inclusive, cudaStream_t stream);
cudaError_t sum_scan(void* scratch, size_t& scratch_bytes, const int64_t* elements, int64_t* sums, int64_t n,
                     bool inclusive, cudaStream_t stream);

/// The numbers i, in order, with flags[i] != 0, and how many these are, in device memory.
cudaError_t select_flagged(void* scratch, size_t& scratch_bytes, const uint8_t* flags, int64_t* selected,
                           int64_t* count, int64_t n, cudaStream_t stream);

/// Makes both calls of `call(scratch, scratch_bytes, stream)`, on the current stream, and throws what fails.
template <class Call>
void with_scratch(const Call& call) {
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  size_t bytes = 0;
  C10_CUDA_CHECK(call(static_cast<void*>(nullptr), bytes, stream));
  const c10::DataPtr scratch = c10::GetAllocator(c10::kCUDA)->allocate(std::max<size_t>(bytes, 1));
  C10_CUDA_CHECK(call(scratch.get(), bytes, stream));
}

}  // namespace at::cuda::cub
