// What programs ask of CUDA's context by libtorch's names: devices, streams, the allocator.
#pragma once

#include "c10/core/device.h"
#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/stream.h"
#include "c10/memory/allocator.h"
#include "c10/util/exception.h"

namespace at::cuda {

/// The allocator of CUDA memory, for the current stream of the current device.
inline c10::Allocator* getCUDADeviceAllocator() {
  c10::Allocator* allocator = c10::GetAllocator(c10::kCUDA);
  TORCH_CHECK(allocator != nullptr, "no allocator of CUDA memory is linked");
  return allocator;
}

}  // namespace at::cuda
