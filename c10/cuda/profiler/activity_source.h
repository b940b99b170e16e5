#pragma once

#include <cstddef>

namespace c10::cuda::profiler {

/// How much memory a profile may take while it runs: CUPTI writes what devices do into buffers, and drops what no
/// buffer is left for, which the profile says at its end. For the profiles that begin from now on.
struct BufferLimits {
  size_t buffer_bytes = size_t{4} << 20;
  size_t total_bytes = size_t{1} << 30;
};
void set_buffer_limits(const BufferLimits& limits);

/// Bytes in buffers that CUPTI has, or that wait to be read.
size_t buffer_bytes_in_use();

}  // namespace c10::cuda::profiler
