// Tensors over memory of the caller, as aten/core/from_blob.h says, and leaves that require a gradient where the options do:
//
//   auto t = torch::from_blob(v.data(), {2, 3}, torch::dtype(torch::kDouble).requires_grad(true));
#pragma once

#include <functional>

#include "aten/core/from_blob.h"
#include "autograd/leaf.h"

namespace torch {
using at::for_blob;

inline at::Tensor from_blob(void* data, at::IntArrayRef sizes, const at::TensorOptions& options = {}) {
  return autograd::detail::leaf(at::from_blob(data, sizes, options), options);
}
inline at::Tensor from_blob(void* data, at::IntArrayRef sizes, at::IntArrayRef strides,
                            const at::TensorOptions& options = {}) {
  return autograd::detail::leaf(at::from_blob(data, sizes, strides, options), options);
}
inline at::Tensor from_blob(void* data, at::IntArrayRef sizes, const std::function<void(void*)>& deleter,
                            const at::TensorOptions& options = {}) {
  return autograd::detail::leaf(at::from_blob(data, sizes, deleter, options), options);
}
inline at::Tensor from_blob(void* data, at::IntArrayRef sizes, at::IntArrayRef strides,
                            const std::function<void(void*)>& deleter, const at::TensorOptions& options = {}) {
  return autograd::detail::leaf(at::from_blob(data, sizes, strides, deleter, options), options);
}

}  // namespace torch
