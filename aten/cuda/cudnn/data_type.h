#pragma once

#include <cudnn_graph.h>

#include <optional>

#include "c10/core/scalar_type.h"

namespace at::cuda::cudnn {

/// How the library names a dtype, of those that it computes with.
inline std::optional<cudnnDataType_t> data_type_of(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Float:
      return CUDNN_DATA_FLOAT;
    case ScalarType::Double:
      return CUDNN_DATA_DOUBLE;
    case ScalarType::Half:
      return CUDNN_DATA_HALF;
    case ScalarType::BFloat16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return std::nullopt;
  }
}

}  // namespace at::cuda::cudnn
