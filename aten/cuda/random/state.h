#pragma once

#include <driver_types.h>

#include <cstdint>

namespace at::cuda {

/// Puts a kernel on the stream: to[0] = seed, to[1] = offset.
void write_generator_values(int64_t* to, uint64_t seed, uint64_t offset, cudaStream_t stream);

}  // namespace at::cuda
