#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

namespace at::cuda {

enum class SegmentReduction { kSum, kMean, kMax, kMin, kProd };

/// Segments of each row of a dense [rows][size][inner] tensor, reduced to a dense [rows][segments][inner] one.
struct SegmentCall {
  const char* from;
  char* to;
  c10::ScalarType dtype;
  int64_t item, rows, size, segments, inner;
  const int64_t* bounds;  // segments + 1 a row
  SegmentReduction reduction;
  double start;
  bool has_initial;
};
void launch_segment_reduce(const SegmentCall& call);

/// to[i] = the row indices[i] of a dense [rows][width] tensor, scaled down to the norm max_norm where its own is
/// larger.
struct RenormCall {
  const char* from;
  char* to;
  c10::ScalarType dtype;
  int64_t item, n, rows, width;
  const int64_t* indices;
  double max_norm, norm_type;
};
void launch_renorm(const RenormCall& call);

}  // namespace at::cuda
