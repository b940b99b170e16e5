#pragma once

#include "aten/cuda/spatial/spatial_call.h"

namespace at::cuda {

/// The windows of pooling by depth, height, width: regular, those of adaptive pooling, or beginning where `samples`
/// say.
struct PoolWindows {
  enum class Kind { kRegular, kAdaptive, kFractional };
  Kind kind = Kind::kRegular;
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];

  constexpr int64_t inputs() const { return in[0] * in[1] * in[2]; }
  constexpr int64_t outputs() const { return out[0] * out[1] * out[2]; }
};

struct PoolCall {
  const char* name;
  ScalarType dtype;
  PoolWindows windows;
  SpatialSizes sizes;  // of what is made
  Volume in, out;      // of a gradient: that of the result, that of the input
  Volume index;        // int64; without memory where nobody wants them
  // The means: what sums are divided by, 0 for the elements inside the input or, with `count_padding`, the padding too.
  int64_t divisor = 0;
  bool count_padding = false;
  // Of fractional pooling: one number in the dtype for each plane and dimension.
  Volume samples;
  int dims = 2;
};

/// The maximum of each window and where it lies in its plane: of equal values the first, of several NaN the last.
void launch_max_pool(const PoolCall& call);
/// The mean of each window; int64 drops the fraction.
void launch_average_pool(const PoolCall& call);
/// The gradient of the maxima, for any indices: `in` of the result's sizes, added up at the places of the indices.
void launch_max_pool_backward(const PoolCall& call);
/// The gradient of the means.
void launch_average_pool_backward(const PoolCall& call);

/// Puts element i of `in` to place index[i] of its plane of zeros; of equal places the last counts. `last` is memory
/// for an int32 for each element of `out`, zeros.
struct UnpoolCall {
  const char* name;
  int64_t item;
  SpatialSizes from, to;
  Volume in, out, index;
  int32_t* last;
};
void launch_unpool(const UnpoolCall& call);

}  // namespace at::cuda
