// The allocators that the library has itself.
#pragma once

#include <cstddef>
#include <string>

#include "c10/cuda/caching_allocator.h"

namespace c10::cuda::CUDACachingAllocator {

/// Ours. It lives as long as the program.
CUDAAllocator* make_native_allocator();
/// CUDA's stream-ordered allocator (cudaMallocAsync).
CUDAAllocator* make_async_allocator();

/// Memory of `allocator` for the current stream, freed by raw_deleter_of_current().
DataPtr allocate_data(CUDAAllocator& allocator, size_t bytes);
/// A function that frees with what get() is when it is called.
DeleterFnPtr raw_deleter_of_current();
/// Copies between blocks, on the current stream of the current device.
void copy_on_current_stream(void* destination, const void* source, size_t bytes);
cudaError_t copy_between_devices(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                 cudaStream_t stream, bool p2p_enabled);

}  // namespace c10::cuda::CUDACachingAllocator
