#pragma once

#include <cstdint>

#include "aten/cuda/elementwise_call.h"

namespace at::cuda::fft {

inline constexpr int kMaxMirrorDims = 12;

/// Blocks of complex numbers whose transform is that of real ones. Of each line along the last dimension the first
/// n / 2 + 1 numbers are there. Strides count complex numbers.
struct MirrorCall {
  char* data;
  int64_t real_size;  ///< bytes of a real number: 2, 4, 8
  int64_t blocks, distance;
  int64_t n, step;  ///< the last dimension
  int dims;         ///< the others, the innermost first
  int64_t strides[kMaxMirrorDims];
  FastDivisor sizes[kMaxMirrorDims];
  FastDivisor missing;  ///< numbers of a line that are not there
};

/// Fills in the others: the conjugates of the numbers whose index is n - k, or 0 where k is, in each dimension. A block
/// has less than 2^31 numbers.
void launch_mirror(const MirrorCall& call);

}  // namespace at::cuda::fft
