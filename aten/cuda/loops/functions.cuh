// What the pointwise operators of several files here share.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "aten/cuda/elementwise.cuh"

namespace at::cuda {

/// Integers wrap: computed unsigned.
template <class T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, std::make_unsigned<T>,
                                             std::type_identity<T>>::type;
template <class T>
KD_DEVICE Wrapping<T> wrapping(T value) {
  return static_cast<Wrapping<T>>(value);
}

template <class T>
KD_DEVICE bool is_nan(T value) {
  return value != value;
}
template <class T>
KD_DEVICE bool truth(T value) {
  return !(value == T(0));
}

/// The larger and the smaller of `value` and a bound; a NaN value stays.
template <class T>
KD_DEVICE T at_least(T value, T low) {
  return value < low ? low : value;
}
template <class T>
KD_DEVICE T at_most(T value, T high) {
  return value > high ? high : value;
}

template <class T>
KD_DEVICE T conjugate(T value) {
  if constexpr (kIsComplex<T>)
    return T(value.real(), -value.imag());
  else
    return value;
}

/// A function of one, two or three elements, `a`, `b` and `c`, and the parameters `p`, by one expression.
#define AT_CUDA_FN(name, inputs, ...)                      \
  struct name {                                            \
    static constexpr int kInputs = inputs;                 \
    template <class T>                                     \
    static KD_DEVICE auto run(const T* in, const T* p) {   \
      [[maybe_unused]] const T a = in[0];                  \
      [[maybe_unused]] const T b = in[inputs > 1 ? 1 : 0]; \
      [[maybe_unused]] const T c = in[inputs > 2 ? 2 : 0]; \
      return __VA_ARGS__;                                  \
    }                                                      \
  };

}  // namespace at::cuda
