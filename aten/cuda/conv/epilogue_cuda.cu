#include <cstdint>

#include "aten/cuda/conv/epilogue_call.h"
#include "aten/cuda/elementwise.cuh"

namespace at::cuda {
namespace {

template <class C>
KD_DEVICE C finish(const EpilogueCall& call, C sum, C bias, C add) {
  sum = sum + bias + static_cast<C>(call.alpha) * add;
  return call.relu && sum < C(0) ? C(0) : sum;
}

template <class C, class T>
KD_DEVICE C bias_of(const EpilogueCall& call, uint32_t channel) {
  return call.bias == nullptr ? C(0) : convert<C>(reinterpret_cast<const T*>(call.bias)[channel]);
}

KD_DEVICE uint32_t channel_of(const EpilogueCall& call, uint32_t i) {
  const uint32_t plane = divide(i, call.inner);
  return plane - divide(plane, call.channels) * call.channels.divisor;
}

// kLanes elements a thread: of one channel, or of as many that follow each other.
template <class C, class T, int kLanes>
__global__ void epilogue(const __grid_constant__ EpilogueCall call) {
  struct alignas(sizeof(T) * kLanes) Vector {
    T v[kLanes];
  };
  const uint32_t step = gridDim.x * blockDim.x, vectors = call.numel / kLanes;
  const bool one_channel = call.inner.divisor != 1;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += step) {
    const int64_t place = int64_t{i} * static_cast<int64_t>(sizeof(Vector));
    const uint32_t channel = channel_of(call, i * kLanes);
    Vector y = c10::cuda::load_aligned<Vector>(call.y + place), add{};
    if (call.add != nullptr) add = c10::cuda::load_aligned<Vector>(call.add + place);
    C bias = bias_of<C, T>(call, channel);
#pragma unroll
    for (int k = 0; k < kLanes; ++k) {
      if (k > 0 && !one_channel) bias = bias_of<C, T>(call, channel + static_cast<uint32_t>(k));
      const C other = call.add != nullptr ? convert<C>(add.v[k]) : C(0);
      y.v[k] = convert<T>(finish(call, convert<C>(y.v[k]), bias, other));
    }
    c10::cuda::store_aligned(call.y + place, y);
  }
}

template <class C, class T>
void launch(const EpilogueCall& call) {
  constexpr uint32_t kLanes = 16 / sizeof(T);
  const uintptr_t addresses = reinterpret_cast<uintptr_t>(call.y) | reinterpret_cast<uintptr_t>(call.add);
  const uint32_t run = call.inner.divisor == 1 ? call.channels.divisor : call.inner.divisor;
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  if (addresses % 16 == 0 && run % kLanes == 0) {
    c10::cuda::launch_or_throw(call.name, epilogue<C, T, kLanes>, shape_for(call.numel, kLanes, stream), call);
  } else {
    c10::cuda::launch_or_throw(call.name, epilogue<C, T, 1>, shape_for(call.numel, 1, stream), call);
  }
}

}  // namespace

void launch_epilogue(const EpilogueCall& call) {
  switch (call.dtype) {
    case ScalarType::Double:
      return launch<double, double>(call);
    case ScalarType::Half:
      return launch<float, Half>(call);
    case ScalarType::BFloat16:
      return launch<float, BFloat16>(call);
    default:
      return launch<float, float>(call);
  }
}

}  // namespace at::cuda
