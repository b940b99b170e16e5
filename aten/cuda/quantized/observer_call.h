#pragma once

#include <cstdint>

namespace at::cuda {

/// Extremes that follow what was seen, and the scales and zero points for them: one of each a channel, contiguous, all
/// in device memory.
struct ObserverCall {
  int64_t channels;
  const float *least, *most;          ///< of what is seen now
  const float *observes, *quantizes;  ///< 0: the extremes, or scales and zero points, stay as they are
  float *low, *high;                  ///< infinite where nothing was seen
  float* scale;
  int32_t* zero_point;
  float averaging_constant;
  int64_t quant_min, quant_max;
  bool symmetric;
};
void launch_observer(const ObserverCall& call);

}  // namespace at::cuda
