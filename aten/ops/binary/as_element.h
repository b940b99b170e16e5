#pragma once

#include "c10/core/scalar.h"
#include "c10/core/scalar_type.h"

namespace at::native {

// A number as an element of the dtype would be: rounded, and wrapped where it is beyond an integer type.
Scalar as_element(const Scalar& number, ScalarType dtype);

}  // namespace at::native
