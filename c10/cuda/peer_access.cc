#include "c10/cuda/peer_access.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <mutex>

#include "c10/cuda/capture_mode.h"
#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"
#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

enum class Access : char { kUnknown, kNone, kEnabled };
constinit std::atomic<Access> g_access[C10_COMPILE_TIME_MAX_GPUS][C10_COMPILE_TIME_MAX_GPUS] = {};

constinit std::atomic<void (*)(DeviceIndex, DeviceIndex)> g_enable{&enable_peer_access};

}  // namespace

void set_enable_peer_access(void (*enable)(DeviceIndex, DeviceIndex)) {
  g_enable.store(enable);
}

void enable_peer_access(DeviceIndex dev, DeviceIndex dev_to_access) {
  const CUDAGuard guard(dev);
  const CUDAStreamCaptureModeGuard capture(cudaStreamCaptureModeRelaxed);
  const cudaError_t status = C10_CUDA_ERROR_HANDLED(cudaDeviceEnablePeerAccess(dev_to_access, 0));
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    C10_CUDA_CLEAR_ERROR();
    return;
  }
  check_status(status, "cudaDeviceEnablePeerAccess");
}

bool get_p2p_access(DeviceIndex dev, DeviceIndex dev_to_access) {
  const DeviceIndex count = device_count_ensure_non_zero();
  for (const DeviceIndex device : {dev, dev_to_access}) {
    TORCH_CHECK(device >= 0 && device < count, "get_p2p_access: there is no CUDA device ", static_cast<int>(device),
                " among ", static_cast<int>(count));
  }
  if (dev == dev_to_access) return true;
  std::atomic<Access>& known = g_access[dev][dev_to_access];
  if (const Access access = known.load(std::memory_order_acquire); access != Access::kUnknown) {
    return access == Access::kEnabled;
  }
  static std::mutex& asking = *new std::mutex;
  std::lock_guard lock(asking);
  if (known.load(std::memory_order_relaxed) == Access::kUnknown) {
    const bool can = at::cuda::canDeviceAccessPeer(dev, dev_to_access);
    if (can) g_enable.load()(dev, dev_to_access);
    known.store(can ? Access::kEnabled : Access::kNone, std::memory_order_release);
  }
  return known.load(std::memory_order_relaxed) == Access::kEnabled;
}

}  // namespace c10::cuda
