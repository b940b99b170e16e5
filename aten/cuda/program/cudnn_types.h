// Dtypes as cuDNN numbers them, by libtorch's names.
#pragma once

#include <cudnn.h>

#include "aten/core/tensor.h"

namespace at::native {

/// Throws c10::Error for a dtype that cuDNN has not.
inline cudnnDataType_t getCudnnDataTypeFromScalarType(const at::ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Float:
      return CUDNN_DATA_FLOAT;
    case ScalarType::Double:
      return CUDNN_DATA_DOUBLE;
    case ScalarType::Half:
      return CUDNN_DATA_HALF;
    case ScalarType::BFloat16:
      return CUDNN_DATA_BFLOAT16;
    case ScalarType::Byte:
      return CUDNN_DATA_UINT8;
    case ScalarType::Char:
      return CUDNN_DATA_INT8;
    case ScalarType::Int:
      return CUDNN_DATA_INT32;
    case ScalarType::Long:
      return CUDNN_DATA_INT64;
    case ScalarType::Bool:
      return CUDNN_DATA_BOOLEAN;
    default:
      TORCH_CHECK(false, "getCudnnDataTypeFromScalarType() not supported for ", dtype);
  }
}
inline cudnnDataType_t getCudnnDataType(const at::Tensor& tensor) {
  return getCudnnDataTypeFromScalarType(tensor.scalar_type());
}

inline int64_t cudnn_version() {
  return static_cast<int64_t>(cudnnGetVersion());
}

}  // namespace at::native
