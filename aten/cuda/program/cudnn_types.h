// Dtypes as cuDNN numbers them, by libtorch's names.
#pragma once

#include <cudnn.h>

#include "aten/core/tensor.h"
#include "aten/cuda/cudnn/data_type.h"

namespace at::native {

/// Throws c10::Error for a dtype that cuDNN has not.
inline cudnnDataType_t getCudnnDataTypeFromScalarType(const at::ScalarType dtype) {
  const auto type = at::cuda::cudnn::data_type_of(dtype);
  TORCH_CHECK(type.has_value(), "getCudnnDataTypeFromScalarType() not supported for ", dtype);
  return *type;
}
inline cudnnDataType_t getCudnnDataType(const at::Tensor& tensor) {
  return getCudnnDataTypeFromScalarType(tensor.scalar_type());
}

inline int64_t cudnn_version() {
  return static_cast<int64_t>(cudnnGetVersion());
}

}  // namespace at::native
