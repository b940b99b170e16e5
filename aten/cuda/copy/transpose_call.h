#pragma once

#include <cstdint>

namespace at::cuda {

inline constexpr int kMaxTransposeDims = 6;

/// A copy between layouts whose elements are neighbours along different dimensions. Strides are in bytes.
struct TransposeCall {
  char* out;
  const char* in;
  int64_t across, along;             // sizes of the dimension of out's neighbours, and of in's
  int64_t in_across, out_along;      // what they are apart in the other
  int dims;                          // further ones
  int64_t sizes[kMaxTransposeDims], in_strides[kMaxTransposeDims], out_strides[kMaxTransposeDims];
  int64_t tiles_across, tiles_along, tiles;
};

/// `itemsize`: 1, 2, 4, 8 or 16.
void launch_transpose(const TransposeCall& call, int64_t itemsize);

}  // namespace at::cuda
