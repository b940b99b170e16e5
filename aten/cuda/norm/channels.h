// Functions of elements with numbers of their channel.
#pragma once

#include <cstdint>

#include "aten/cuda/elementwise_call.h"

namespace at::cuda {

/// Element i of dense memory is of the channel i / run % channels. Numbers are float, of double elements double.
struct ChannelCall {
  const char* x;
  const char* g;  // null: not a gradient
  char* out;
  ScalarType dtype;
  uint32_t numel;
  FastDivisor run, channels;
  bool vectors;  // four elements of every operand can be read together
  const void* center;
  const void* scale;
  const void* offset;
  const void* slope;  // of gradients
};

/// out = (x - center) * scale + offset; of a gradient: out = g * scale - offset - (x - center) * slope.
void launch_by_channel(const char* name, const ChannelCall& call);

}  // namespace at::cuda
