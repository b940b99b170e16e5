// Kernels whose threads make an element of a tensor of images each.
#pragma once

#include <algorithm>
#include <type_traits>

#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/spatial/spatial_call.h"

namespace at::cuda {

struct Place {
  int64_t n, c;
  uint32_t z, y, x;
};

KD_DEVICE int64_t plane_offset(const Volume& v, const Place& p) {
  return p.n * v.strides[0] + p.c * v.strides[1];
}
KD_DEVICE char* element_at(const Volume& v, const Place& p) {
  return v.data + plane_offset(v, p) + p.z * v.strides[2] + p.y * v.strides[3] + p.x * v.strides[4];
}

KD_DEVICE Place place_of(const SpatialPart& part, uint32_t i) {
  uint32_t digits[4];
#pragma unroll
  for (int d = 0; d < 4; ++d) {
    const uint32_t above = divide(i, part.sizes[d]);
    digits[d] = i - above * part.sizes[d].divisor;
    i = above;
  }
  const int64_t n = part.first_n + i;
  if (part.channels_last) return {n, part.first_c + digits[0], digits[3], digits[2], digits[1]};
  return {n, part.first_c + digits[3], digits[2], digits[1], digits[0]};
}

/// `Fn` makes the element of one place: `__device__ void operator()(const Place& p) const`.
template <class Fn>
__global__ void each_place(const __grid_constant__ SpatialPart part, const __grid_constant__ Fn fn) {
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < part.numel; i += step) fn(place_of(part, i));
}

/// Calls `fn` for all places; in several launches where there are 2^31 or more. A plane has fewer.
template <class Fn>
void launch_places(const char* name, const SpatialSizes& all, const Fn& fn) {
  constexpr int64_t kMost = INT32_MAX;
  const int64_t *sizes = all.sizes, plane = all.plane(), channels = std::min(sizes[1], kMost / plane);
  const int64_t images = channels == sizes[1] ? std::min(sizes[0], kMost / (plane * channels)) : 1;
  for (int64_t n = 0; n < sizes[0]; n += images) {
    for (int64_t c = 0; c < sizes[1]; c += channels) {
      const int64_t these = std::min(channels, sizes[1] - c);
      const int64_t inner[4] = {sizes[4], sizes[3], sizes[2], these}, last[4] = {these, sizes[4], sizes[3], sizes[2]};
      SpatialPart part{
          static_cast<uint32_t>(std::min(images, sizes[0] - n) * these * plane), all.channels_last, n, c, {}};
      for (int d = 0; d < 4; ++d)
        part.sizes[d] = FastDivisor(static_cast<uint32_t>(all.channels_last ? last[d] : inner[d]));
      c10::cuda::launch_or_throw(name, each_place<Fn>, shape_for(part.numel, 1, c10::cuda::getCurrentCUDAStream()),
                                 part, fn);
    }
  }
}

/// Elements of a type as the numbers that kernels compute with.
template <class Stored>
struct Elements {
  using Compute = std::conditional_t<std::is_same_v<Stored, double>, double, float>;
  static KD_DEVICE Compute load(const char* at, ScalarType) { return convert<Compute>(at::cuda::load<Stored>(at)); }
  static KD_DEVICE void store(char* at, ScalarType, Compute value) {
    *reinterpret_cast<Stored*>(at) = convert<Stored>(value);
  }
};
/// Integers of any type.
struct AnyInteger {};
template <>
struct Elements<AnyInteger> {
  using Compute = int64_t;
  static KD_DEVICE Compute load(const char* at, ScalarType dtype) { return load_as<int64_t>(at, dtype); }
  static KD_DEVICE void store(char* at, ScalarType dtype, Compute value) { store_as(at, dtype, value); }
};
/// int64 by way of double, which drops the fraction.
template <>
struct Elements<int64_t> {
  using Compute = double;
  static KD_DEVICE Compute load(const char* at, ScalarType) { return static_cast<double>(at::cuda::load<int64_t>(at)); }
  static KD_DEVICE void store(char* at, ScalarType, Compute value) {
    *reinterpret_cast<int64_t*>(at) = static_cast<int64_t>(value);
  }
};

}  // namespace at::cuda
