// Elements moved as bytes.
#include <cstdint>

#include "aten/cuda/device_check.cuh"
#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/index/move_call.h"

namespace at::cuda {
namespace {

struct Offsets {
  int64_t to = 0, from = 0, index = 0;
};

KD_DEVICE Offsets offsets_of(const MoveCall& call, uint32_t i) {
  Offsets at;
  for (int d = 0; d < call.dims; ++d) {
    const uint32_t above = divide(i, call.sizes[d]), k = i - above * call.sizes[d].divisor;
    i = above;
    at.to += call.to_strides[d] * k;
    at.from += call.from_strides[d] * k;
    at.index += call.index_strides[d] * k;
  }
  return at;
}

KD_DEVICE int64_t step_of(const MoveCall& call, int64_t offset) {
  const char* const at = call.index + offset;
  int64_t index = call.index_is_long ? *reinterpret_cast<const int64_t*>(at) : *reinterpret_cast<const int32_t*>(at);
  if (call.wraps && index < 0) index += call.size;
  AT_CUDA_KERNEL_CHECK(index >= 0 && index < call.size, "index out of bounds");
  return index * call.step;
}

template <class T>
__global__ void take_elements(const __grid_constant__ MoveCall call) {
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < call.numel; i += step) {
    Offsets at = offsets_of(call, i);
    if (call.index != nullptr) at.from += step_of(call, at.index);
    c10::cuda::store_aligned(call.to + at.to, c10::cuda::load_aligned<T>(call.from + at.from));
  }
}

template <class T>
__global__ void put_elements(const __grid_constant__ MoveCall call) {
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < call.numel; i += step) {
    Offsets at = offsets_of(call, i);
    at.to += step_of(call, at.index);
    store_racing(call.to + at.to, c10::cuda::load_aligned<T>(call.from != nullptr ? call.from + at.from : call.value));
  }
}

__global__ void write_offsets(const __grid_constant__ MoveCall call) {
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < call.numel; i += step) {
    const Offsets at = offsets_of(call, i);
    const int64_t place =
        static_cast<int64_t>(reinterpret_cast<intptr_t>(call.from)) + at.from + step_of(call, at.index);
    if (call.item_size == 8) {
      auto* to = reinterpret_cast<int64_t*>(call.to + at.to);
      *to = call.adds ? *to + place : place;
    } else {
      auto* to = reinterpret_cast<int32_t*>(call.to + at.to);
      *to = static_cast<int32_t>(call.adds ? *to + place : place);
    }
  }
}

struct alignas(16) Bytes16 {
  uint64_t v[2];
};

template <class T>
auto kernel_of(MoveCall::Kind kind) {
  return kind == MoveCall::Kind::kTake ? take_elements<T> : put_elements<T>;
}

auto kernel_of(const MoveCall& call) {
  if (call.kind == MoveCall::Kind::kPlaces) return &write_offsets;
  switch (call.item_size) {
    case 1:
      return kernel_of<uint8_t>(call.kind);
    case 2:
      return kernel_of<uint16_t>(call.kind);
    case 4:
      return kernel_of<uint32_t>(call.kind);
    case 8:
      return kernel_of<uint64_t>(call.kind);
    default:
      return kernel_of<Bytes16>(call.kind);
  }
}

}  // namespace

void launch_move(const MoveCall& call) {
  c10::cuda::launch_or_throw(call.name, kernel_of(call), shape_for(call.numel, 1, c10::cuda::getCurrentCUDAStream()),
                             call);
}

}  // namespace at::cuda
