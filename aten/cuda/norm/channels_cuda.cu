#include "aten/cuda/norm/channels.h"

#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/reduce/load_elements.cuh"

namespace at::cuda {
namespace {

template <class T, bool kGradient>
KD_DEVICE T result(const ChannelCall& call, uint32_t i, T x, T g) {
  const uint32_t run = divide(i, call.run), channel = run - divide(run, call.channels) * call.channels.divisor;
  const T off = x - static_cast<const T*>(call.center)[channel], scale = static_cast<const T*>(call.scale)[channel];
  const T offset = static_cast<const T*>(call.offset)[channel];
  if constexpr (kGradient)
    return g * scale - offset - off * static_cast<const T*>(call.slope)[channel];
  else
    return off * scale + offset;
}

template <class T, bool kGradient, int kCount>
KD_DEVICE void some_elements(const ChannelCall& call, uint32_t first) {
  visit_stored<T>(call.dtype, [&](auto tag) {
    using Stored = typename decltype(tag)::type;
    T x[kCount], g[kCount] = {};
    const int64_t at = int64_t{first} * static_cast<int64_t>(sizeof(Stored));
    load_vector<T, Stored>(call.x + at, x);
    if constexpr (kGradient) load_vector<T, Stored>(call.g + at, g);
    auto* out = reinterpret_cast<Stored*>(call.out) + first;
#pragma unroll
    for (int k = 0; k < kCount; ++k) x[k] = result<T, kGradient>(call, first + static_cast<uint32_t>(k), x[k], g[k]);
    constexpr int kTogether = sizeof(Stored) * kCount <= 16 ? kCount : static_cast<int>(16 / sizeof(Stored));
    struct alignas(sizeof(Stored) * kTogether) Part {
      Stored v[kTogether];
    };
#pragma unroll
    for (int k = 0; k < kCount; k += kTogether) {
      Part part;
#pragma unroll
      for (int j = 0; j < kTogether; ++j) part.v[j] = convert<Stored>(x[k + j]);
      c10::cuda::store_aligned(out + k, part);
    }
  });
}

template <class T, bool kGradient>
__global__ void __launch_bounds__(kThreadsPerBlock) by_channel(const __grid_constant__ ChannelCall call) {
  constexpr uint32_t kTogether = 4;
  const uint32_t step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t whole = call.vectors ? call.numel / kTogether : 0;
  for (uint32_t i = first; i < whole; i += step) some_elements<T, kGradient, kTogether>(call, i * kTogether);
  for (uint32_t i = whole * kTogether + first; i < call.numel; i += step) some_elements<T, kGradient, 1>(call, i);
}

template <class T>
void launch(const char* name, const ChannelCall& call) {
  const c10::cuda::Launch shape = shape_for(call.numel, call.vectors ? 4 : 1, c10::cuda::getCurrentCUDAStream());
  if (call.g != nullptr)
    c10::cuda::launch_or_throw(name, by_channel<T, true>, shape, call);
  else
    c10::cuda::launch_or_throw(name, by_channel<T, false>, shape, call);
}

}  // namespace

void launch_by_channel(const char* name, const ChannelCall& call) {
  if (call.dtype == ScalarType::Double)
    launch<double>(name, call);
  else
    launch<float>(name, call);
}

}  // namespace at::cuda
