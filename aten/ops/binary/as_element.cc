#include "aten/ops/binary/as_element.h"

#include "aten/cpu/cast.h"

namespace at::native {

Scalar as_element(const Scalar& number, ScalarType dtype) {
  if (dtype == ScalarType::Half) return static_cast<float>(Half(static_cast<float>(number.toDouble())));
  if (dtype == ScalarType::BFloat16) return static_cast<float>(BFloat16(static_cast<float>(number.toDouble())));
  if (isFloat8Type(dtype)) {
    const float value = static_cast<float>(number.toDouble());
    uint8_t code;
    float nearest;
    cpu::convert(cpu::find_conversion(dtype, ScalarType::Float), &code, &value, 1);
    cpu::convert(cpu::find_conversion(ScalarType::Float, dtype), &nearest, &code, 1);
    return nearest;
  }
  if (isIntegralType(dtype, false) && number.isIntegral(true)) {
    const int64_t n = number.isUnsigned() ? static_cast<int64_t>(number.toUInt64()) : number.toLong();
    switch (dtype) {
      case ScalarType::Byte: return int64_t{static_cast<uint8_t>(n)};
      case ScalarType::Char: return int64_t{static_cast<int8_t>(n)};
      case ScalarType::Short: return int64_t{static_cast<int16_t>(n)};
      case ScalarType::Int: return int64_t{static_cast<int32_t>(n)};
      case ScalarType::UInt16:
        return static_cast<uint16_t>(n);
      case ScalarType::UInt32:
        return static_cast<uint32_t>(n);
      case ScalarType::UInt64:
        return static_cast<uint64_t>(n);
      case ScalarType::Long:
        return n;
      default: return number;
    }
  }
  return number;
}

}  // namespace at::native
