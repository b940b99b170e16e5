// Tensors of CUDA devices, by libtorch's names.
#pragma once

#include "aten/core/tensor.h"
#include "c10/cuda/device.h"
#include "c10/util/array_ref.h"

namespace at::cuda {

/// Whether all tensors are on one CUDA device, which is the current one; true for none.
inline bool check_device(ArrayRef<Tensor> tensors) {
  if (tensors.empty()) return true;
  const c10::Device current(c10::kCUDA, c10::cuda::current_device());
  for (const Tensor& tensor : tensors) {
    if (tensor.device() != current) return false;
  }
  return true;
}

}  // namespace at::cuda
