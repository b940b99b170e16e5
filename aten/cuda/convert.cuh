// Elements of any dtype, loaded and stored as numbers of a few compute types.
#pragma once

#include <type_traits>

#include "c10/core/scalar_type.h"
#include "c10/cuda/launch.h"
#include "c10/util/bfloat16.h"
#include "c10/util/complex.h"
#include "c10/util/float8.h"
#include "c10/util/half.h"

namespace at::cuda {

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<c10::complex<T>> = true;

// Stored with fewer bits than a compute type has.
template <class T>
inline constexpr bool kIsSmallFloat = !std::is_arithmetic_v<T> && !kIsComplex<T>;

/// The C++ conversion, by way of float for the small floating-point types; complex to real drops the imaginary part,
/// and a number is true as a bool where it is not 0.
template <class To, class From>
KD_DEVICE To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (kIsComplex<From> && kIsComplex<To>) {
    using Part = decltype(To().real());
    return To(static_cast<Part>(static_cast<double>(value.real())),
              static_cast<Part>(static_cast<double>(value.imag())));
  } else if constexpr (kIsComplex<From>) {
    if constexpr (std::is_same_v<To, bool>)
      return value.real() != 0 || value.imag() != 0;
    else
      return convert<To>(value.real());
  } else if constexpr (kIsComplex<To>) {
    return To(convert<decltype(To().real())>(value), 0);
  } else if constexpr (std::is_same_v<To, bool>) {
    return convert<std::conditional_t<kIsSmallFloat<From>, float, From>>(value) != 0;
  } else if constexpr (kIsSmallFloat<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (kIsSmallFloat<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 8) {
    return static_cast<To>(static_cast<int64_t>(value));  // small integers wrap, as on the CPU
  } else {
    return static_cast<To>(value);
  }
}

#define AT_CUDA_DTYPES(X)                  \
  X(Byte, uint8_t)                         \
  X(Char, int8_t)                          \
  X(Short, int16_t)                        \
  X(Int, int32_t)                          \
  X(Long, int64_t)                         \
  X(Half, Half)                            \
  X(Float, float)                          \
  X(Double, double)                        \
  X(ComplexHalf, c10::complex<Half>)       \
  X(ComplexFloat, c10::complex<float>)     \
  X(ComplexDouble, c10::complex<double>)   \
  X(Bool, bool)                            \
  X(BFloat16, BFloat16)                    \
  X(UInt16, uint16_t)                      \
  X(UInt32, uint32_t)                      \
  X(UInt64, uint64_t)                      \
  X(Float8_e5m2, c10::Float8_e5m2)         \
  X(Float8_e4m3fn, c10::Float8_e4m3fn)     \
  X(Float8_e5m2fnuz, c10::Float8_e5m2fnuz) \
  X(Float8_e4m3fnuz, c10::Float8_e4m3fnuz) \
  X(Float8_e8m0fnu, c10::Float8_e8m0fnu)

/// The element at `address`. Any byte but 0 is a true bool.
template <class T>
KD_DEVICE T load(const void* address) {
  if constexpr (std::is_same_v<T, bool>)
    return *static_cast<const uint8_t*>(address) != 0;
  else
    return *static_cast<const T*>(address);
}
template <class Compute>
KD_DEVICE Compute load_as(const void* address, ScalarType dtype) {
  switch (dtype) {
#define AT_CUDA_LOAD(name, type) \
  case ScalarType::name:         \
    return convert<Compute>(load<type>(address));
    AT_CUDA_DTYPES(AT_CUDA_LOAD)
#undef AT_CUDA_LOAD
    default:
      return Compute();
  }
}

template <class From>
KD_DEVICE void store_as(void* address, ScalarType dtype, From value) {
  switch (dtype) {
#define AT_CUDA_STORE(name, type)                        \
  case ScalarType::name:                                 \
    *static_cast<type*>(address) = convert<type>(value); \
    return;
    AT_CUDA_DTYPES(AT_CUDA_STORE)
#undef AT_CUDA_STORE
    default:
      return;
  }
}

}  // namespace at::cuda
