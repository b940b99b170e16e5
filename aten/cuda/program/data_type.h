// Dtypes as the toolkit's libraries number them, by libtorch's names.
#pragma once

#include <library_types.h>

#include "c10/core/scalar_type.h"
#include "c10/util/exception.h"

namespace at::cuda {

/// Throws c10::Error for a dtype that the toolkit does not know.
inline cudaDataType ScalarTypeToCudaDataType(const c10::ScalarType& scalar_type) {
  switch (scalar_type) {
    case c10::ScalarType::Byte:
      return CUDA_R_8U;
    case c10::ScalarType::Char:
      return CUDA_R_8I;
    case c10::ScalarType::Short:
      return CUDA_R_16I;
    case c10::ScalarType::Int:
      return CUDA_R_32I;
    case c10::ScalarType::Long:
      return CUDA_R_64I;
    case c10::ScalarType::Half:
      return CUDA_R_16F;
    case c10::ScalarType::Float:
      return CUDA_R_32F;
    case c10::ScalarType::Double:
      return CUDA_R_64F;
    case c10::ScalarType::ComplexHalf:
      return CUDA_C_16F;
    case c10::ScalarType::ComplexFloat:
      return CUDA_C_32F;
    case c10::ScalarType::ComplexDouble:
      return CUDA_C_64F;
    case c10::ScalarType::BFloat16:
      return CUDA_R_16BF;
    case c10::ScalarType::Float8_e4m3fn:
      return CUDA_R_8F_E4M3;
    case c10::ScalarType::Float8_e5m2:
      return CUDA_R_8F_E5M2;
    default:
      TORCH_CHECK(false, "Cannot convert ScalarType ", scalar_type, " to cudaDataType.");
  }
}

template <typename scalar_t>
cudaDataType getCudaDataType() {
  return ScalarTypeToCudaDataType(c10::CppTypeToScalarType<scalar_t>::value);
}

}  // namespace at::cuda
