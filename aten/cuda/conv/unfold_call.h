#pragma once

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

/// Windows of dense pictures [planes][height][width] laid side by side as [planes][kernel][count], both of them pairs.
struct UnfoldCall {
  const char* name;
  ScalarType dtype;
  int64_t item;
  char* to;
  const char* from;
  int64_t planes;
  int64_t plane, unfolded;  // elements of a plane on either side
  uint32_t size[2], kernel[2], count[2], dilation[2];
  int64_t padding[2];
  FastDivisor stride[2];
  FastDivisor sizes[4];  // of a plane of the result, the last first; of `size` the first two
};

/// to[planes][kernel][count] from from[planes][size]; 0 where a window reaches over the edge.
void launch_im2col(const UnfoldCall& call);
/// to[planes][size], each element the sum, in a fixed order, of what the windows of from[planes][kernel][count] have of
/// it.
void launch_col2im(const UnfoldCall& call);

}  // namespace at::cuda
