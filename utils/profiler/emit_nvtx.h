// Operators as ranges for NVIDIA's profilers.
#pragma once

#include "aten/core/record_function.h"

namespace torch::autograd::profiler {

/// While it lives, every operator, node of a backward pass and range of this thread, and of those that work for it, is
/// an NVTX range, which Nsight Systems shows above the kernels:
///
///   torch::autograd::profiler::emit_nvtx on(/*enabled=*/true, /*record_shapes=*/true);
///   net(x).sum().backward();      // "aten::mm, seq = 4, sizes = [[2, 3], [3, 4]]" ... "MmBackward0, seq = 4"
///
/// A node has the sequence number of the operator that recorded it. Throws Error within another one of the thread.
class emit_nvtx {
 public:
  explicit emit_nvtx(bool enabled = true, bool record_shapes = false);
  ~emit_nvtx();
  emit_nvtx(const emit_nvtx&) = delete;
  emit_nvtx& operator=(const emit_nvtx&) = delete;

 private:
  at::CallbackHandle callback_ = at::INVALID_CALLBACK_HANDLE;
};

}  // namespace torch::autograd::profiler
