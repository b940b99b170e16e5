#include "c10/cuda/device.h"

#include <cuda.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

constexpr int kMaxDevices = C10_COMPILE_TIME_MAX_GPUS;

// The device that the thread is to be on although the driver does not know it yet; -1 where the driver does.
thread_local DeviceIndex t_target = -1;

[[noreturn]] void no_device() {
  TORCH_CHECK(false, "No CUDA GPUs are available");
}

void check_device(const char* what, DeviceIndex device) {
  const DeviceIndex count = device_count_ensure_non_zero();
  TORCH_CHECK(device >= 0 && device < count, what, ": there is no CUDA device ", static_cast<int>(device), " among ",
              static_cast<int>(count));
}

// The driver's own function, which the runtime has no counterpart of.
using PrimaryContextState = CUresult (*)(CUdevice device, unsigned* flags, int* active);
PrimaryContextState primary_context_state() {
  static const PrimaryContextState function = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    const cudaError_t status =
        cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &entry, 7000, cudaEnableDefault, &found);
    if (status != cudaSuccess) C10_CUDA_CLEAR_ERROR();
    return status == cudaSuccess && found == cudaDriverEntryPointSuccess ? reinterpret_cast<PrimaryContextState>(entry)
                                                                         : nullptr;
  }();
  return function;
}

}  // namespace

cudaError_t GetDeviceCount(int* dev_count) {
  return cudaGetDeviceCount(dev_count);
}

DeviceIndex device_count() noexcept {
  static const DeviceIndex count = [] {
    int devices = 0;
    const cudaError_t status = C10_CUDA_ERROR_HANDLED(GetDeviceCount(&devices));
    if (status == cudaSuccess) return static_cast<DeviceIndex>(devices < kMaxDevices ? devices : kMaxDevices);
    C10_CUDA_CLEAR_ERROR();  // the answer is 0, and no later call is to find the error
    if (status != cudaErrorNoDevice && status != cudaErrorInsufficientDriver) {
      try {
        TORCH_WARN("CUDA devices cannot be used: ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ")");
      } catch (...) {  // a warning handler's
      }
    }
    return DeviceIndex{0};
  }();
  return count;
}

DeviceIndex device_count_ensure_non_zero() {
  const DeviceIndex count = device_count();
  if (C10_UNLIKELY(count == 0)) no_device();
  return count;
}

cudaError_t GetDevice(DeviceIndex* device) {
  if (t_target >= 0) {
    *device = t_target;
    return cudaSuccess;
  }
  int current = -1;
  const cudaError_t status = cudaGetDevice(&current);
  if (status == cudaSuccess) *device = static_cast<DeviceIndex>(current);
  return status;
}

cudaError_t SetDevice(DeviceIndex device, bool force) {
  TORCH_CHECK(device >= 0, "a device's index is not negative, got ", static_cast<int>(device));
  int current = -1;
  if (!force) {
    const cudaError_t status = cudaGetDevice(&current);
    if (status != cudaSuccess) return status;
  }
  const cudaError_t status = current == device ? cudaSuccess : cudaSetDevice(device);
  if (status == cudaSuccess) t_target = -1;
  return status;
}

cudaError_t MaybeSetDevice(DeviceIndex device) {
  TORCH_CHECK(device >= 0, "a device's index is not negative, got ", static_cast<int>(device));
  int current = -1;
  const cudaError_t status = cudaGetDevice(&current);
  if (status != cudaSuccess) return status;
  if (current == device) {
    t_target = -1;
    return cudaSuccess;
  }
  if (hasPrimaryContext(device)) return SetDevice(device, /*force=*/true);
  t_target = device;
  return cudaSuccess;
}

void RestoreDevice(DeviceIndex device) noexcept {
  if (device < 0 || device >= device_count()) return;
  try {
    const cudaError_t status = C10_CUDA_ERROR_HANDLED(MaybeSetDevice(device));
    if (status == cudaSuccess) return;
    t_target = device;
    warn_cuda_error(status, "cudaSetDevice", __FILE__, __LINE__);
  } catch (...) {  // a warning handler's
  }
}

DeviceIndex ExchangeDevice(DeviceIndex device) {
  const DeviceIndex before = current_device();
  if (before != device || t_target >= 0) C10_CUDA_CHECK(SetDevice(device));
  return before;
}

DeviceIndex MaybeExchangeDevice(DeviceIndex device) {
  const DeviceIndex before = current_device();
  if (before != device) C10_CUDA_CHECK(MaybeSetDevice(device));
  return before;
}

void SetTargetDevice() {
  if (C10_UNLIKELY(t_target >= 0)) C10_CUDA_CHECK(SetDevice(t_target));
}

DeviceIndex current_device() {
  device_count_ensure_non_zero();
  DeviceIndex device = -1;
  C10_CUDA_CHECK(GetDevice(&device));
  return device;
}

void set_device(DeviceIndex device, bool force) {
  check_device("set_device", device);
  C10_CUDA_CHECK(SetDevice(device, force));
}

void device_synchronize() {
  device_count_ensure_non_zero();
  SetTargetDevice();
  C10_CUDA_CHECK(cudaDeviceSynchronize());
}

bool hasPrimaryContext(DeviceIndex device_index) {
  check_device("hasPrimaryContext", device_index);
  const PrimaryContextState state = primary_context_state();
  if (state == nullptr) return true;  // a driver that cannot say: going there is right, if dear
  unsigned flags = 0;
  int active = 0;
  // The driver's numbers of devices are the runtime's. CUDA_ERROR_NOT_INITIALIZED means that nobody has a context.
  return state(device_index, &flags, &active) == CUDA_SUCCESS && active != 0;
}

std::optional<DeviceIndex> getDeviceIndexWithPrimaryContext() {
  const DeviceIndex count = device_count();
  if (count == 0) return std::nullopt;
  const DeviceIndex current = current_device();
  if (hasPrimaryContext(current)) return current;
  for (DeviceIndex device = 0; device < count; ++device) {
    if (hasPrimaryContext(device)) return device;
  }
  return std::nullopt;
}

void warn_or_error_on_sync() {
  switch (warning_state().get_sync_debug_mode()) {
    case SyncDebugMode::L_DISABLED:
      return;
    case SyncDebugMode::L_WARN:
      TORCH_WARN("called a synchronizing CUDA operation");
      return;
    case SyncDebugMode::L_ERROR:
      TORCH_CHECK(false, "called a synchronizing CUDA operation");
  }
}

void memcpy_and_sync(void* dst, const void* src, int64_t nbytes, cudaMemcpyKind kind, cudaStream_t stream) {
  TORCH_CHECK(nbytes >= 0, "memcpy_and_sync: ", nbytes, " bytes cannot be copied");
  warn_or_error_on_sync();
  C10_CUDA_CHECK(cudaMemcpyAsync(dst, src, static_cast<size_t>(nbytes), kind, stream));
  C10_CUDA_CHECK(cudaStreamSynchronize(stream));
}

void stream_synchronize(cudaStream_t stream) {
  warn_or_error_on_sync();
  C10_CUDA_CHECK(cudaStreamSynchronize(stream));
}

}  // namespace c10::cuda

namespace at::cuda {
namespace {

using c10::DeviceIndex;

DeviceIndex index_or_current(const char* what, DeviceIndex device) {
  if (device == -1) return c10::cuda::current_device();
  c10::cuda::check_device(what, device);
  return device;
}

}  // namespace

cudaDeviceProp* getDeviceProperties(DeviceIndex device) {
  static std::mutex& reading = *new std::mutex;
  static std::atomic<cudaDeviceProp*> all[c10::cuda::kMaxDevices];
  const DeviceIndex index = index_or_current("getDeviceProperties", device);
  std::atomic<cudaDeviceProp*>& known = all[index];
  if (cudaDeviceProp* properties = known.load(std::memory_order_acquire)) return properties;
  std::lock_guard lock(reading);
  if (known.load(std::memory_order_relaxed) == nullptr) {
    auto fresh = std::make_unique<cudaDeviceProp>();
    C10_CUDA_CHECK(cudaGetDeviceProperties(fresh.get(), index));
    known.store(fresh.release(), std::memory_order_release);
  }
  return known.load(std::memory_order_relaxed);
}

cudaDeviceProp* getCurrentDeviceProperties() {
  return getDeviceProperties(c10::cuda::current_device());
}

int warp_size() {
  return getCurrentDeviceProperties()->warpSize;
}

bool canDeviceAccessPeer(DeviceIndex device, DeviceIndex peer_device) {
  const DeviceIndex from = index_or_current("canDeviceAccessPeer", device);
  const DeviceIndex to = index_or_current("canDeviceAccessPeer", peer_device);
  TORCH_CHECK(from != to, "canDeviceAccessPeer: two different devices are expected, got device ",
              static_cast<int>(from), " twice");
  int can = 0;
  C10_CUDA_CHECK(cudaDeviceCanAccessPeer(&can, from, to));
  return can != 0;
}

std::string get_device_name(DeviceIndex device) {
  return getDeviceProperties(device)->name;
}

std::pair<int, int> get_device_capability(DeviceIndex device) {
  const cudaDeviceProp* properties = getDeviceProperties(device);
  return {properties->major, properties->minor};
}

std::string get_device_uuid(DeviceIndex device) {
  constexpr char kDigits[] = "0123456789abcdef";
  const cudaUUID_t& uuid = getDeviceProperties(device)->uuid;
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

c10::Device getDeviceFromPtr(const void* data) {
  c10::cuda::device_count_ensure_non_zero();
  cudaPointerAttributes attributes{};
  C10_CUDA_CHECK(cudaPointerGetAttributes(&attributes, data));
  TORCH_CHECK(attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged,
              "getDeviceFromPtr: the pointer is of the host's memory, not of a CUDA device");
  return {c10::kCUDA, static_cast<DeviceIndex>(attributes.device)};
}

std::pair<size_t, size_t> mem_get_info(DeviceIndex device) {
  const DeviceIndex index = index_or_current("mem_get_info", device);
  const DeviceIndex before = c10::cuda::ExchangeDevice(index);
  size_t free = 0, total = 0;
  const cudaError_t status = cudaMemGetInfo(&free, &total);
  c10::cuda::RestoreDevice(before);
  c10::cuda::check_status(status, "cudaMemGetInfo");
  return {free, total};
}

}  // namespace at::cuda
