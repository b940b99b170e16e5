#pragma once

#include "c10/core/device.h"
#include "c10/core/scalar_type.h"
#include "c10/util/small_vector.h"

namespace at {
using namespace c10;

// What a shape rule says of a result before there is one. Empty `strides` mean contiguous.
struct TensorSpec {
  DimVector sizes;
  DimVector strides;
  ScalarType dtype = ScalarType::Float;
  Device device = Device(DeviceType::CPU);
};

}  // namespace at
