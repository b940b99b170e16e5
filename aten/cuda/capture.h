// Whether work of the calling thread is captured into a graph.
#pragma once

#include <string>

#include "c10/cuda/capture_mode.h"
#include "c10/cuda/device.h"
#include "c10/util/exception.h"

namespace at::cuda {

using c10::cuda::CaptureStatus;
using c10::cuda::CUDAStreamCaptureModeGuard;
using c10::cuda::currentStreamCaptureStatusMayInitCtx;

/// Of the current stream of the current device. Makes no context on a device that has none: nothing is captured there.
inline CaptureStatus currentStreamCaptureStatus() {
  return c10::cuda::hasPrimaryContext(c10::cuda::current_device()) ? currentStreamCaptureStatusMayInitCtx()
                                                                   : CaptureStatus::None;
}

/// Throws c10::Error where the current stream is captured: `attempt` names what cannot be done then.
inline void assertNotCapturing(const std::string& attempt) {
  const CaptureStatus status = currentStreamCaptureStatus();
  TORCH_CHECK(status == CaptureStatus::None, attempt, " during CUDA graph capture: the capture is ",
              status == CaptureStatus::Active ? "active" : "invalidated by an error before");
}

}  // namespace at::cuda
