// What errors are called, and what was the last one.
#include "tests/cuda_on_host/runtime/state.h"

namespace cuda_standin {
namespace {

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* text;
};
#define KD_ERROR(code, text) \
  { code, #code, text }
constexpr ErrorText kErrors[] = {
    KD_ERROR(cudaSuccess, "no error"),
    KD_ERROR(cudaErrorInvalidValue, "invalid argument"),
    KD_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    KD_ERROR(cudaErrorInitializationError, "initialization error"),
    KD_ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    KD_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    KD_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    KD_ERROR(cudaErrorInvalidHostPointer, "invalid host pointer"),
    KD_ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    KD_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    KD_ERROR(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    KD_ERROR(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    KD_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    KD_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    KD_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    KD_ERROR(cudaErrorDeviceUninitialized, "invalid device context"),
    KD_ERROR(cudaErrorAlreadyMapped, "resource already mapped"),
    KD_ERROR(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    KD_ERROR(cudaErrorNotMapped, "resource not mapped"),
    KD_ERROR(cudaErrorUnsupportedLimit, "limit is not supported on this architecture"),
    KD_ERROR(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    KD_ERROR(cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    KD_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    KD_ERROR(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    KD_ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    KD_ERROR(cudaErrorNotReady, "device not ready"),
    KD_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    KD_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    KD_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    KD_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    KD_ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    KD_ERROR(cudaErrorSetOnActiveProcess, "cannot set while device is active in this process"),
    KD_ERROR(cudaErrorContextIsDestroyed, "context is destroyed"),
    KD_ERROR(cudaErrorAssert, "device-side assert triggered"),
    KD_ERROR(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    KD_ERROR(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    KD_ERROR(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    KD_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    KD_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    KD_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    KD_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    KD_ERROR(cudaErrorNotSupported, "operation not supported"),
    KD_ERROR(cudaErrorSystemNotReady, "system not yet initialized"),
    KD_ERROR(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    KD_ERROR(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    KD_ERROR(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
    KD_ERROR(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    KD_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    KD_ERROR(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    KD_ERROR(cudaErrorStreamCaptureImplicit,
             "operation would make the legacy stream depend on a capturing blocking stream"),
    KD_ERROR(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    KD_ERROR(cudaErrorStreamCaptureWrongThread,
             "attempt to terminate a thread-local capture sequence from another thread"),
    KD_ERROR(cudaErrorTimeout, "wait operation timed out"),
    KD_ERROR(cudaErrorGraphExecUpdateFailure,
             "the graph update was not performed because it included changes which violated constraints specific to "
             "instantiated graph "
             "update"),
    KD_ERROR(cudaErrorInvalidClusterSize, "a kernel launch error has occurred due to cluster misconfiguration"),
    KD_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef KD_ERROR

const ErrorText* find_error(cudaError_t code) {
  for (const ErrorText& error : kErrors) {
    if (error.code == code) return &error;
  }
  return nullptr;
}

// An error that stays is the last one for ever.
cudaError_t last_error() {
  return state().sticky != cudaSuccess ? state().sticky : thread_state().last_error;
}

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() {
  Lock lock;
  const cudaError_t error = last_error();
  thread_state().last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  Lock lock;
  return last_error();
}

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* found = find_error(error);
  return found ? found->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* found = find_error(error);
  return found ? found->text : "unrecognized error code";
}

}  // extern "C"
}  // namespace cuda_standin
