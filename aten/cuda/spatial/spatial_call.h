// Tensors of images: batch, channels, and up to three dimensions behind, of which those that a tensor lacks have
// size 1.
#pragma once

#include <cstdint>

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

/// The memory of a tensor [batch][channels][depth][height][width], strides in bytes.
struct Volume {
  char* data = nullptr;
  int64_t strides[5] = {};
};

/// The elements that kernels go through, in this order or, `channels_last`, with the channels innermost.
struct SpatialSizes {
  int64_t sizes[5] = {1, 1, 1, 1, 1};
  bool channels_last = false;

  constexpr int64_t plane() const { return sizes[2] * sizes[3] * sizes[4]; }
};

/// What one launch goes through.
struct SpatialPart {
  uint32_t numel;
  bool channels_last;
  int64_t first_n, first_c;
  FastDivisor sizes[4];  // the innermost first
};

}  // namespace at::cuda
