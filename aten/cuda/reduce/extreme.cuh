#pragma once

#include "aten/cuda/reduce/operations.cuh"

namespace at::cuda {

template <class T, bool kMax>
KD_DEVICE constexpr T neutral() {
  using Limits = std::numeric_limits<T>;
  if constexpr (Limits::has_infinity)
    return kMax ? -Limits::infinity() : Limits::infinity();
  else
    return kMax ? Limits::lowest() : Limits::max();
}

// Whether x replaces best: larger (smaller), or the first NaN.
template <bool kMax, class T>
KD_DEVICE bool better(T x, T best) {
  return best == best && !(kMax ? x <= best : x >= best);
}

}  // namespace at::cuda
