#include "c10/cuda/capture_mode.h"

#include "c10/cuda/guard.h"

namespace c10::cuda {

CaptureStatus capture_status(const CUDAStream& stream) {
  const CUDAGuard guard(stream.device_index());
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  C10_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  return static_cast<CaptureStatus>(status);
}

}  // namespace c10::cuda
