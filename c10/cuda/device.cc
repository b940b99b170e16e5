#include "c10/cuda/device.h"

#include <cuda_runtime.h>

#include "c10/cuda/exception.h"
#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

void check_available() { TORCH_CHECK(device_count() > 0, "No CUDA GPUs are available"); }

}  // namespace

DeviceIndex device_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return static_cast<DeviceIndex>(count);
  (void)cudaGetLastError();  // no driver or no device is an answer here, not an error for the next call to find
  return 0;
}

DeviceIndex current_device() {
  check_available();
  int device = 0;
  C10_CUDA_CHECK(cudaGetDevice(&device));
  return static_cast<DeviceIndex>(device);
}

void set_device(DeviceIndex device) {
  check_available();
  TORCH_CHECK(device >= 0 && device < device_count(), "set_device: there is no CUDA device ", static_cast<int>(device),
              " among ", static_cast<int>(device_count()));
  C10_CUDA_CHECK(cudaSetDevice(device));
}

void device_synchronize() {
  check_available();
  C10_CUDA_CHECK(cudaDeviceSynchronize());
}

}  // namespace c10::cuda
