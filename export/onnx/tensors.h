// The tensors of ONNX files.
#pragma once

#include <optional>
#include <string>

#include "aten/core/tensor.h"

namespace onnx {
class TensorProto;
}

namespace torch::onnx {

/// Null for what this library has no tensors of: strings, and numbers of less than a byte.
std::optional<c10::ScalarType> dtype_of(int64_t number);

/// Whether it is one of whole numbers of less than a byte (INT4, UINT4, INT2, UINT2), whose tensors are of bytes here.
bool is_narrow(int64_t number);
/// That of the tensors.
std::optional<c10::ScalarType> storage_dtype_of(int64_t number);

/// Where a model's external data may lie.
struct DataFolder {
  std::string path;  ///< empty: nowhere
  std::string real;  ///< where the model itself is, if its name is a link to there; links to there may be followed, too
};

/// The tensor; its elements are copied. Throws FormatError where sizes, type and data do not fit each other, or
/// external data are not within the folder.
at::Tensor tensor_of(const ::onnx::TensorProto& proto, const DataFolder& folder);

}  // namespace torch::onnx
