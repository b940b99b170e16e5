#include "aten/core/tensor.h"

namespace at {

std::string Tensor::toString() const {
  if (!defined()) return "UndefinedType";
  const DeviceType type = device().type();
  std::string result = type == DeviceType::Meta ? "Meta"
      : type == DeviceType::PrivateUse1         ? "PrivateUse1"
                                                : DeviceTypeName(type);
  result += c10::toString(scalar_type());
  return result + "Type";
}

}  // namespace at
