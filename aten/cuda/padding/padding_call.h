#pragma once

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

/// The last three dimensions of dense tensors, padded by what stands in them; what stands before is `planes`.
struct PaddingCall {
  const char* name;
  char* to;
  const char* from;
  ScalarType dtype;
  int64_t item;
  bool reflects;                 // else the first and the last element are repeated
  int64_t planes, inner, outer;  // elements of a plane without and with the padding
  int64_t in[3], out[3], before[3];
  FastDivisor divisors[3];  // of the sizes of what is written, the last dimension first
};

/// to[planes][out] from from[planes][in].
void launch_padding(const PaddingCall& call);
/// The gradient: to[planes][in], each element the sum, in a fixed order, of those of from[planes][out] that came from
/// it.
void launch_padding_backward(const PaddingCall& call);

}  // namespace at::cuda
