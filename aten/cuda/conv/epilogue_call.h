#pragma once

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

/// What becomes of a convolution's sums on dense memory of one floating dtype: y = y + bias + alpha * add, then 0 where
/// that is less, each as it is asked for. Element i is of channel i / inner % channels.
struct EpilogueCall {
  const char* name;
  ScalarType dtype;
  uint32_t numel;
  FastDivisor inner, channels;
  char* y;
  const char* bias;  // null: none
  const char* add;   // null: none
  double alpha;
  bool relu;
};
void launch_epilogue(const EpilogueCall& call);

}  // namespace at::cuda
