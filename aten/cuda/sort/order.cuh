// Elements as unsigned integers of the same order: NaN is the largest and equal to itself, -0 and 0 are equal.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "aten/cuda/convert.cuh"

namespace at::cuda {

template <class To, class From>
KD_DEVICE To bits_of(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// An image of `bits_of_image(dtype)` bits.
template <class T>
KD_DEVICE uint64_t image_of(T value) {
  if constexpr (std::is_same_v<T, bool> || std::is_unsigned_v<T>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    constexpr uint64_t kSign = uint64_t{1} << (8 * sizeof(T) - 1);
    return static_cast<std::make_unsigned_t<T>>(value) ^ kSign;
  } else if constexpr (std::is_same_v<T, double>) {
    if (value != value) return ~uint64_t{0};
    const auto bits = bits_of<uint64_t>(value == 0 ? 0.0 : value);
    return bits >> 63 != 0 ? ~bits : bits | uint64_t{1} << 63;
  } else {
    const auto x = static_cast<float>(value);
    if (x != x) return ~uint32_t{0};
    const auto bits = bits_of<uint32_t>(x == 0 ? 0.0f : x);
    return bits >> 31 != 0 ? ~bits : bits | uint32_t{1} << 31;
  }
}

KD_DEVICE int bits_of_image(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Bool:
    case ScalarType::Byte:
    case ScalarType::Char:
      return 8;
    case ScalarType::Short:
    case ScalarType::UInt16:
      return 16;
    case ScalarType::Double:
    case ScalarType::Long:
    case ScalarType::UInt64:
      return 64;
    default:
      return 32;
  }
}

KD_DEVICE uint64_t load_image(const char* address, ScalarType dtype) {
  switch (dtype) {
#define AT_CUDA_IMAGE(name, type) \
  case ScalarType::name:          \
    return image_of(load<type>(address));
    AT_CUDA_IMAGE(Bool, bool)
    AT_CUDA_IMAGE(Byte, uint8_t)
    AT_CUDA_IMAGE(Char, int8_t)
    AT_CUDA_IMAGE(Short, int16_t)
    AT_CUDA_IMAGE(Int, int32_t)
    AT_CUDA_IMAGE(Long, int64_t)
    AT_CUDA_IMAGE(UInt16, uint16_t)
    AT_CUDA_IMAGE(UInt32, uint32_t)
    AT_CUDA_IMAGE(UInt64, uint64_t)
    AT_CUDA_IMAGE(Float, float)
    AT_CUDA_IMAGE(Double, double)
#undef AT_CUDA_IMAGE
    default:
      return image_of(load_as<float>(address, dtype));
  }
}

KD_DEVICE bool is_nan_image(uint64_t image, ScalarType dtype) {
  return !c10::isIntegralType(dtype, true) &&
         image == (dtype == ScalarType::Double ? ~uint64_t{0} : uint64_t{~uint32_t{0}});
}

}  // namespace at::cuda
