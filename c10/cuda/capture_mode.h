// Calls that a thread may make while work is captured into a graph.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>

#include "c10/cuda/exception.h"
#include "c10/cuda/stream.h"

namespace c10::cuda {

/// Changes what the calling thread may do while streams are captured, by any thread, until the end of the scope.
/// Relaxed, it may ask events and make memory, which would end captures otherwise: for work that has nothing to do with
/// the captured streams.
struct CUDAStreamCaptureModeGuard {
  explicit CUDAStreamCaptureModeGuard(cudaStreamCaptureMode desired) : mode_(desired) {
    C10_CUDA_CHECK(cudaThreadExchangeStreamCaptureMode(&mode_));
  }
  CUDAStreamCaptureModeGuard(const CUDAStreamCaptureModeGuard&) = delete;
  CUDAStreamCaptureModeGuard& operator=(const CUDAStreamCaptureModeGuard&) = delete;
  ~CUDAStreamCaptureModeGuard() { C10_CUDA_CHECK_WARN(cudaThreadExchangeStreamCaptureMode(&mode_)); }

 private:
  cudaStreamCaptureMode mode_;
};

enum class CaptureStatus : int {
  None = cudaStreamCaptureStatusNone,
  Active = cudaStreamCaptureStatusActive,
  Invalidated = cudaStreamCaptureStatusInvalidated
};

/// Whether work put on a stream is captured.
CaptureStatus capture_status(const CUDAStream& stream);
/// The number of the capture that work put on a stream goes to; none where it is not captured, or the capture has
/// failed.
std::optional<unsigned long long> capture_id(const CUDAStream& stream);
/// Of the calling thread's current stream. Makes a context where there is none.
inline CaptureStatus currentStreamCaptureStatusMayInitCtx() {
  return capture_status(getCurrentCUDAStream());
}

}  // namespace c10::cuda
