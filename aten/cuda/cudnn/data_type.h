// Dtypes as cuDNN numbers them.
#pragma once

#include <cudnn.h>

#include <optional>

#include "c10/core/scalar_type.h"

namespace at::cuda::cudnn {

/// Nothing for a dtype that cuDNN has not.
inline std::optional<cudnnDataType_t> data_type_of(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Float:
      return CUDNN_DATA_FLOAT;
    case c10::ScalarType::Double:
      return CUDNN_DATA_DOUBLE;
    case c10::ScalarType::Half:
      return CUDNN_DATA_HALF;
    case c10::ScalarType::BFloat16:
      return CUDNN_DATA_BFLOAT16;
    case c10::ScalarType::Byte:
      return CUDNN_DATA_UINT8;
    case c10::ScalarType::Char:
      return CUDNN_DATA_INT8;
    case c10::ScalarType::Int:
      return CUDNN_DATA_INT32;
    case c10::ScalarType::Long:
      return CUDNN_DATA_INT64;
    case c10::ScalarType::Bool:
      return CUDNN_DATA_BOOLEAN;
    default:
      return std::nullopt;
  }
}

}  // namespace at::cuda::cudnn
