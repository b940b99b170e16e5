#pragma once

#include <type_traits>

#include "aten/cuda/spatial/spatial.cuh"
#include "aten/cuda/upsample/grid_call.h"

namespace at::cuda {

/// An element that is computed with as C: double, or float for what is not.
template <class C>
KD_DEVICE C load_number(const char* data, int64_t at, ScalarType dtype) {
  if constexpr (std::is_same_v<C, double>) {
    return load<double>(data + at * 8);
  } else {
    if (dtype == ScalarType::Half) return convert<float>(load<Half>(data + at * 2));
    if (dtype == ScalarType::BFloat16) return convert<float>(load<BFloat16>(data + at * 2));
    return load<float>(data + at * 4);
  }
}
template <class C>
KD_DEVICE void store_number(char* data, int64_t at, ScalarType dtype, C value) {
  if constexpr (std::is_same_v<C, double>) {
    reinterpret_cast<double*>(data)[at] = value;
  } else {
    if (dtype == ScalarType::Half)
      reinterpret_cast<Half*>(data)[at] = convert<Half>(value);
    else if (dtype == ScalarType::BFloat16)
      reinterpret_cast<BFloat16*>(data)[at] = convert<BFloat16>(value);
    else
      reinterpret_cast<float*>(data)[at] = value;
  }
}

/// The taps of a place in each dimension, width first; those that a grid lacks read element 0.
template <class C, int kDims, int kSide>
struct PlaceTaps {
  static constexpr int kDeep = kDims == 3 ? kSide : 1;
  native::sampling::AxisTaps<C> axis[3];

  KD_DEVICE PlaceTaps(const Sampling& s, const char* grid, int64_t place, ScalarType dtype) {
#pragma unroll
    for (int d = 0; d < 3; ++d) axis[d] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {}, {}};
#pragma unroll
    for (int d = 0; d < kDims; ++d) {
      native::sampling::find_taps<kSide>(s, load_number<C>(grid, place * kDims + d, dtype),
                                         s.size[static_cast<size_t>(d)], axis[d]);
    }
  }
};

/// Calls `f` with the number of dimensions of a grid and the taps in each, as constants.
template <class F>
void with_sides(const Sampling& s, const F& f) {
  using std::integral_constant;
  using Two = integral_constant<int, 2>;
  using Three = integral_constant<int, 3>;
  if (s.mode == native::SamplingMode::kBicubic) return f(Two{}, integral_constant<int, 4>{});
  if (s.mode == native::SamplingMode::kNearest)
    return s.dims == 2 ? f(Two{}, integral_constant<int, 1>{}) : f(Three{}, integral_constant<int, 1>{});
  s.dims == 2 ? f(Two{}, Two{}) : f(Three{}, Two{});
}

}  // namespace at::cuda
