#include <cstdint>

#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/join/join_call.h"

namespace at::cuda {
namespace {

struct alignas(16) Bytes16 {
  uint64_t v[2];
};

// A row of blocks for a part.
template <class T>
__global__ void join(const __grid_constant__ JoinCall call) {
  const JoinCall::Part& part = call.part[blockIdx.y];
  const uint32_t step = gridDim.x * blockDim.x, n = call.outer * part.width.divisor;
  const auto* const from = reinterpret_cast<const T*>(part.from);
  auto* const to = reinterpret_cast<T*>(call.to);
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    const uint32_t outer = divide(i, part.width), k = i - outer * part.width.divisor;
    c10::cuda::store_aligned(to + outer * call.pitch + part.at + k, c10::cuda::load_aligned<T>(from + i));
  }
}

auto kernel_of(int chunk) {
  switch (chunk) {
    case 1:
      return join<uint8_t>;
    case 2:
      return join<uint16_t>;
    case 4:
      return join<uint32_t>;
    case 8:
      return join<uint64_t>;
    default:
      return join<Bytes16>;
  }
}

}  // namespace

void launch_join(const JoinCall& call) {
  c10::cuda::Launch shape = shape_for(call.largest, 1, c10::cuda::getCurrentCUDAStream());
  shape.grid.y = static_cast<unsigned>(call.parts);
  c10::cuda::launch_or_throw(call.name, kernel_of(call.chunk), shape, call);
}

}  // namespace at::cuda
