// The types in which kernels compute what they store as another: acc_type for sums over many elements, opmath_type for
// the arithmetic of one.
//
//   using acc_t = at::acc_type<scalar_t, /*is_cuda=*/false>;      // double for float on the CPU
//   using opmath_t = at::opmath_type<scalar_t>;                   // float for Half
#pragma once

#include <type_traits>

#include "c10/core/device.h"
#include "c10/core/scalar_type.h"
#include "c10/util/bfloat16.h"
#include "c10/util/complex.h"
#include "c10/util/float8.h"
#include "c10/util/half.h"

namespace at {

namespace detail {

template <class T>
inline constexpr bool is_float8 = std::is_same_v<T, c10::Float8_e5m2> || std::is_same_v<T, c10::Float8_e4m3fn> ||
                                  std::is_same_v<T, c10::Float8_e5m2fnuz> || std::is_same_v<T, c10::Float8_e4m3fnuz> ||
                                  std::is_same_v<T, c10::Float8_e8m0fnu>;
template <class T>
inline constexpr bool is_reduced = std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16> || is_float8<T>;

// Float: what a float becomes.
template <class T, class Float>
struct Accumulate {
  using type = std::conditional_t<
      std::is_same_v<T, bool>, bool,
      std::conditional_t<std::is_integral_v<T>, int64_t,
                         std::conditional_t<is_reduced<T>, float,
                                            std::conditional_t<std::is_same_v<T, float>, Float, T>>>>;
};
template <class X, class Float>
struct Accumulate<c10::complex<X>, Float> {
  using type = c10::complex<typename Accumulate<X, Float>::type>;
};

template <class T>
struct OpMath {
  using type = std::conditional_t<is_reduced<T>, float, T>;
};
template <class X>
struct OpMath<c10::complex<X>> {
  using type = c10::complex<typename OpMath<X>::type>;
};

}  // namespace detail

/// Integers accumulate in int64_t, Half and the like in float, float in double on the CPU and in float on a device.
template <class T, c10::DeviceType D>
struct AccumulateTypeDevice {
  static constexpr bool kDouble = D == c10::DeviceType::CPU;
  using type = typename detail::Accumulate<T, std::conditional_t<kDouble, double, float>>::type;
};
template <class T, bool is_cuda>
struct AccumulateType : AccumulateTypeDevice<T, is_cuda ? c10::DeviceType::CUDA : c10::DeviceType::CPU> {};
template <class T, c10::DeviceType device>
using acc_type_device = typename AccumulateTypeDevice<T, device>::type;
template <class T, bool is_cuda>
using acc_type = typename AccumulateType<T, is_cuda>::type;

/// Half, BFloat16 and Float8 compute in float; all others in themselves.
template <class T>
using OpMathType = detail::OpMath<T>;
template <class T>
using opmath_type = typename detail::OpMath<T>::type;

/// The same of a ScalarType. Throws for a type that does not accumulate: "Unrecognized ScalarType: QInt8".
c10::ScalarType toAccumulateType(c10::ScalarType type, c10::DeviceType device);
c10::ScalarType toAccumulateType(c10::ScalarType type, bool is_cuda);
c10::ScalarType toOpMathType(c10::ScalarType type);

}  // namespace at
