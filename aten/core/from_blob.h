#pragma once

#include <functional>

#include "aten/core/tensor.h"

namespace at {

// A tensor over memory that the caller owns, from `data` on; nothing is copied. The memory must outlive the tensor and its
// views; with a `deleter` the last of them calls deleter(data). `strides` are in elements (default: row-major).
//
//   std::vector<float> v(6);
//   auto t = torch::from_blob(v.data(), {2, 3});
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
Tensor from_blob(
    void* data, IntArrayRef sizes, const std::function<void(void*)>& deleter, const TensorOptions& options = {});
Tensor from_blob(
    void* data,
    IntArrayRef sizes,
    IntArrayRef strides,
    const std::function<void(void*)>& deleter,
    const TensorOptions& options = {});

}  // namespace at

namespace torch {
using at::from_blob;
}
