#include <cstdint>

#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/quantized/observer_call.h"
#include "aten/quantized/choose_parameters.h"

namespace at::cuda {
namespace {

__device__ inline float moved(float running, float seen, float constant) {
  return ::isinf(running) ? seen : __fadd_rn(running, __fmul_rn(constant, seen - running));
}

__global__ void observe(const __grid_constant__ ObserverCall call) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.channels; i += step) {
    float low = call.low[i], high = call.high[i];
    if (*call.observes != 0.0f) {
      call.low[i] = low = moved(low, call.least[i], call.averaging_constant);
      call.high[i] = high = moved(high, call.most[i], call.averaging_constant);
    }
    if (*call.quantizes == 0.0f) continue;
    const quantized::ChosenParameters chosen =
        quantized::choose_parameters(low, high, {call.quant_min, call.quant_max}, call.symmetric, /*float_scale=*/true);
    call.scale[i] = static_cast<float>(chosen.scale);
    call.zero_point[i] = static_cast<int32_t>(chosen.zero_point);
  }
}

}  // namespace

void launch_observer(const ObserverCall& call) {
  if (call.channels == 0) return;
  const auto some = static_cast<uint32_t>(std::min<int64_t>(call.channels, INT32_MAX));
  c10::cuda::launch_or_throw("_fused_moving_avg_obs", observe, shape_for(some, 1, c10::cuda::getCurrentCUDAStream()),
                             call);
}

}  // namespace at::cuda
