#pragma once

#include "aten/cuda/spatial/spatial_call.h"
#include "aten/ops/upsample/axis_formulas.h"

namespace at::cuda {

using native::Filter;

/// One dimension of interpolation from `in` to `out` elements, by tables that launch_axes() fills: element i of the
/// result is sum_k weight[i * taps + k] * x[clamp(begin[i] + k)] over 0 <= k < count[i]. The gradient reads the same
/// tables the other way round: the elements [first[j], last[j]) of the result are those that may read element j.
struct Axis {
  bool identity;  // nothing is done here, and there are no tables
  Filter filter;
  native::NearestRule rule;
  bool align_corners;
  int64_t in, out, taps;
  native::NearestSteps steps;
  int32_t *begin, *count, *first, *last;
  void* weight;  // in the type that kernels compute in; double for bytes
  // Of bytes: weights of `bits` fractional bits.
  int32_t *units, *bits;
};

/// Fills the tables of three dimensions, those of the gradient where there is memory for them.
void launch_axes(const char* name, const Axis axes[3], ScalarType weights);

/// One pass of interpolation, of its gradient where `transposed`: all axes at once.
struct ResampleCall {
  const char* name;
  ScalarType from, to;  // equal, or one of them the type that the other computes in
  SpatialSizes sizes;   // of `out`
  Volume in, out;
  Axis axes[3];
  bool transposed;
};
void launch_resample(const ResampleCall& call);

/// Makes weights of whole numbers out of the tables of bytes, each index once.
void launch_byte_weights(const char* name, const Axis& axis);
/// One pass over bytes, along dimension `d` of depth, height, width: sums of whole numbers, rounded and saturated.
void launch_resample_bytes(const ResampleCall& call, int d);

}  // namespace at::cuda
