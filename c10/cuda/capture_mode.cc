#include "c10/cuda/capture_mode.h"

#include "c10/cuda/guard.h"

namespace c10::cuda {

CaptureStatus capture_status(const CUDAStream& stream) {
  const CUDAGuard guard(stream.device_index());
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  C10_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  return static_cast<CaptureStatus>(status);
}

std::optional<unsigned long long> capture_id(const CUDAStream& stream) {
  const CUDAGuard guard(stream.device_index());
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  C10_CUDA_CHECK(cudaStreamGetCaptureInfo(stream, &status, &id, nullptr, nullptr, nullptr, nullptr));
  return status == cudaStreamCaptureStatusActive ? std::optional(id) : std::nullopt;
}

}  // namespace c10::cuda
