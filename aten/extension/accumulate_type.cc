#include "aten/extension/accumulate_type.h"

#include "c10/util/exception.h"

namespace at {

c10::ScalarType toAccumulateType(c10::ScalarType type, c10::DeviceType device) {
  const bool cpu = device == c10::DeviceType::CPU;
  switch (type) {
    case c10::kBFloat16:
    case c10::kHalf:
    case c10::kFloat8_e5m2:
    case c10::kFloat8_e4m3fn:
    case c10::kFloat8_e5m2fnuz:
    case c10::kFloat8_e4m3fnuz:
    case c10::kFloat8_e8m0fnu:
      return c10::kFloat;
    case c10::kFloat:
      return cpu ? c10::kDouble : c10::kFloat;
    case c10::kComplexHalf:
      return c10::kComplexFloat;
    case c10::kComplexFloat:
      return cpu ? c10::kComplexDouble : c10::kComplexFloat;
    case c10::kDouble:
    case c10::kComplexDouble:
    case c10::kBool:
      return type;
    default:
      TORCH_INTERNAL_ASSERT(c10::isIntegralType(type, false), "Unrecognized ScalarType: ", type);
      return c10::kLong;
  }
}

c10::ScalarType toAccumulateType(c10::ScalarType type, bool is_cuda) {
  return toAccumulateType(type, is_cuda ? c10::DeviceType::CUDA : c10::DeviceType::CPU);
}

c10::ScalarType toOpMathType(c10::ScalarType type) {
  if (c10::isReducedFloatingType(type)) return c10::kFloat;
  if (type == c10::kComplexHalf || type == c10::kBComplex32) return c10::kComplexFloat;
  return type;
}

}  // namespace at
