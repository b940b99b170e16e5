// The kernel of all random fills.
#pragma once

#include "aten/cuda/convert.cuh"
#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/random/fill.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/philox.cuh"

namespace at::cuda::random {

using c10::cuda::RandomWords;

// `Make` is a distribution:
//     using Number;                     // what it makes
//     static constexpr uint32_t kEach;  // of four words
//     __device__ void operator()(const RandomWords& words, Number* out) const;
template <class Make>
__global__ void fill_kernel(const __grid_constant__ Target target, const __grid_constant__ Make make) {
  const auto [seed, offset] = philox::unpack(target.random);
  const uint32_t threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int64_t item = target.strides[0];
  c10::cuda::PhiloxStream random(seed, thread, offset);
  for (uint64_t first = thread; first < target.numel; first += uint64_t{threads} * Make::kEach) {
    typename Make::Number numbers[Make::kEach];
    make(random.next(), numbers);
#pragma unroll
    for (uint32_t k = 0; k < Make::kEach; ++k) {
      const uint64_t place = first + uint64_t{k} * threads;
      if (place >= target.numel) break;
      int64_t at = static_cast<int64_t>(place) * item;
      if (!target.contiguous) {
        at = 0;
        uint32_t rest = static_cast<uint32_t>(place);
        for (int d = 0; d < target.dims; ++d) {
          const uint32_t above = divide(rest, target.sizes[d]);
          at += target.strides[d] * (rest - above * target.sizes[d].divisor);
          rest = above;
        }
      }
      store_as(target.data + at, target.dtype, numbers[k]);
    }
  }
}

template <class Make>
void fill(const char* name, const Target& target, const Launch& launch, const Make& make) {
  c10::cuda::launch_or_throw(name, fill_kernel<Make>, launch, target, make);
}

// Four numbers in (0, 1], two of double.
template <class T>
struct Uniforms;
template <>
struct Uniforms<float> {
  static constexpr uint32_t kEach = kNumbersPerDraw;
  float v[kEach];
  KD_DEVICE explicit Uniforms(const RandomWords& w)
      : v{c10::cuda::uniform(w.x), c10::cuda::uniform(w.y), c10::cuda::uniform(w.z), c10::cuda::uniform(w.w)} {}
};
template <>
struct Uniforms<double> {
  static constexpr uint32_t kEach = kWideNumbersPerDraw;
  double v[kEach];
  KD_DEVICE explicit Uniforms(const RandomWords& w) : v{c10::cuda::uniform(w.x, w.y), c10::cuda::uniform(w.z, w.w)} {}
};

// Standard normal numbers from pairs of uniform ones (Box and Muller 1958), the sine's first.
template <class T>
struct Normals;
template <>
struct Normals<float> {
  static constexpr uint32_t kEach = kNumbersPerDraw;
  float v[kEach];
  __device__ explicit Normals(const RandomWords& w) {
    pair(w.x, w.y, v);
    pair(w.z, w.w, v + 2);
  }
  static __device__ void pair(uint32_t a, uint32_t b, float* out) {
    constexpr float kStep = 0x1.921fb6p+2f * 0x1p-32f;  // 2 pi 2^-32
    const float radius = ::sqrtf(__fmul_rn(-2.0f, ::logf(c10::cuda::uniform(a))));
    const float angle = ::fmaf(static_cast<float>(b), kStep, kStep / 2);
    float sine, cosine;
    __sincosf(angle, &sine, &cosine);
    out[0] = __fmul_rn(radius, sine);
    out[1] = __fmul_rn(radius, cosine);
  }
};
template <>
struct Normals<double> {
  static constexpr uint32_t kEach = kWideNumbersPerDraw;
  double v[kEach];
  __device__ explicit Normals(const RandomWords& w) {
    const Uniforms<double> u(w);
    constexpr double kTwoPi = 6.283185307179586476925;
    const double radius = ::sqrt(__dmul_rn(-2.0, ::log(u.v[0])));
    double sine, cosine;
    ::sincos(__dmul_rn(kTwoPi, u.v[1]), &sine, &cosine);
    v[0] = __dmul_rn(radius, sine);
    v[1] = __dmul_rn(radius, cosine);
  }
};

}  // namespace at::cuda::random
