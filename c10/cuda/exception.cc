#include "c10/cuda/exception.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>

#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

std::string describe(cudaError_t status, const std::string& where, const char* file, int line) {
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess) device = -1;
  (void)cudaGetLastError();
  const std::string on = device >= 0 ? str("current device ", device) : "no current device";
  return str(cudaGetErrorString(status), " (", cudaGetErrorName(status), ") in ", where, " at ", file, ":", line, ", ",
             on, get_cuda_error_help(status));
}

// Errors that work put on a device earlier may have caused.
bool may_come_from_a_kernel(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorAssert:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

}  // namespace

void throw_cuda_error(cudaError_t status, const char* call, const char* file, int line) {
  throw AcceleratorError({call, file, static_cast<uint32_t>(line)}, static_cast<int32_t>(status),
                         "CUDA error: " + describe(status, call, file, line));
}

void warn_cuda_error(cudaError_t status, const char* call, const char* file, int line) {
  TORCH_WARN("CUDA warning: ", describe(status, call, file, line));
  (void)cudaGetLastError();  // said once
}

void throw_launch_error(cudaError_t status, const char* kernel, cudaStream_t stream, const char* file, int line) {
  const std::string where = str("the launch of kernel ", kernel, " on stream ", static_cast<const void*>(stream));
  throw AcceleratorError({kernel, file, static_cast<uint32_t>(line)}, static_cast<int32_t>(status),
                         "CUDA error: " + describe(status, where, file, line));
}

cudaError_t last_launch_status() {
  return cudaGetLastError();
}

const char* get_cuda_check_suffix() noexcept {
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (blocking != nullptr && blocking[0] != '\0' && blocking[0] != '0') return "";
  return "\nAn error of a kernel is reported by a later call: with CUDA_LAUNCH_BLOCKING=1 by its own launch.";
}

std::string get_cuda_error_help(cudaError_t error) noexcept {
  return may_come_from_a_kernel(error) ? get_cuda_check_suffix() : "";
}

std::mutex* getFreeMutex() {
  static std::mutex* mutex = new std::mutex;
  return mutex;
}

}  // namespace c10::cuda
