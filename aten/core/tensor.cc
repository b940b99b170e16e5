#include "aten/core/tensor.h"

namespace at {

std::string Tensor::toString() const {
  if (!defined()) return "UndefinedType";
  std::string result;
  if (device().type() == DeviceType::CUDA) {
    result = "CUDA";
  } else if (device().type() == DeviceType::Meta) {
    result = "Meta";
  } else {
    result = "CPU";
  }
  result += c10::toString(scalar_type());
  return result + "Type";
}

}  // namespace at
