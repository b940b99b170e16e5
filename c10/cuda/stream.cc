#include "c10/cuda/stream.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"

namespace c10::cuda {
namespace {

constexpr int kMaxDevices = C10_COMPILE_TIME_MAX_GPUS;
constexpr int kLevels = max_compile_time_stream_priorities;
constexpr int kStreams = 32;  // a pool

// The streams of one device and one priority: level 0 is the lowest, 0, level 3 is -3.
struct Pool {
  std::atomic<unsigned> next{0};
  std::atomic<cudaStream_t> streams[kStreams] = {};
};
constinit Pool g_pools[kMaxDevices][kLevels];
std::mutex& making() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}

constinit thread_local StreamId t_current[kMaxDevices] = {};  // 0: the default stream

// A pool's stream as a number: from -1 down, where no handle is.
struct Place {
  int level, index;
};
StreamId to_id(Place place) {
  return -1 - (place.level * kStreams + place.index);
}
bool is_of_pool(StreamId id) {
  return id < 0 && id >= -kLevels * kStreams;
}
Place to_place(StreamId id) {
  const auto number = static_cast<int>(-1 - id);
  return {number / kStreams, number % kStreams};
}

DeviceIndex checked(const char* what, DeviceIndex device) {
  if (device == -1) return current_device();
  const DeviceIndex count = device_count_ensure_non_zero();
  TORCH_CHECK(device >= 0 && device < count, what, ": there is no CUDA device ", static_cast<int>(device), " among ",
              static_cast<int>(count));
  return device;
}

CUDAStream make(DeviceIndex device, StreamId id) {
  return CUDAStream(CUDAStream::UNCHECKED, Stream(Stream::UNSAFE, Device(DeviceType::CUDA, device), id));
}

// How many priorities the current device has above 0.
int levels_above() {
  int least = 0, greatest = 0;
  C10_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  return std::clamp(-greatest, 0, kLevels - 1);
}

cudaStream_t pool_stream(DeviceIndex device, Place place) {
  std::atomic<cudaStream_t>& slot = g_pools[device][place.level].streams[place.index];
  if (cudaStream_t stream = slot.load(std::memory_order_acquire)) return stream;
  const CUDAGuard guard(device);
  std::lock_guard lock(making());
  if (slot.load(std::memory_order_relaxed) == nullptr) {
    cudaStream_t stream = nullptr;
    C10_CUDA_CHECK(
        cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -std::min(place.level, levels_above())));
    slot.store(stream, std::memory_order_release);
  }
  return slot.load(std::memory_order_relaxed);
}

}  // namespace

cudaStream_t CUDAStream::stream() const {
  const StreamId number = id();
  if (!is_of_pool(number)) return reinterpret_cast<cudaStream_t>(number);
  return pool_stream(checked("CUDAStream::stream", device_index()), to_place(number));
}

bool CUDAStream::query() const {
  const CUDAGuard guard(device_index());
  const cudaError_t status = C10_CUDA_ERROR_HANDLED(cudaStreamQuery(stream()));
  if (status == cudaErrorNotReady) {
    C10_CUDA_CLEAR_ERROR();
    return false;
  }
  check_status(status, "cudaStreamQuery");
  return true;
}

void CUDAStream::synchronize() const {
  const CUDAGuard guard(device_index());
  stream_synchronize(stream());
}

int CUDAStream::priority() const {
  const CUDAGuard guard(device_index());
  int priority = 0;
  C10_CUDA_CHECK(cudaStreamGetPriority(stream(), &priority));
  return priority;
}

std::tuple<int, int> CUDAStream::priority_range() {
  device_count_ensure_non_zero();
  return {0, -levels_above()};
}

CUDAStream getStreamFromPool(int priority, DeviceIndex device) {
  const DeviceIndex index = checked("getStreamFromPool", device);
  const CUDAGuard guard(index);
  const int level = std::min(-std::clamp(priority, -kLevels, 0), levels_above());
  const auto turn = static_cast<int>(g_pools[index][level].next.fetch_add(1, std::memory_order_relaxed) % kStreams);
  pool_stream(index, {level, turn});  // now, so that who gets a stream has it
  return make(index, to_id({level, turn}));
}

CUDAStream getStreamFromPool(bool isHighPriority, DeviceIndex device) {
  return getStreamFromPool(isHighPriority ? -kLevels : 0, device);
}

CUDAStream getStreamFromExternal(cudaStream_t ext_stream, DeviceIndex device_index) {
  return make(checked("getStreamFromExternal", device_index), reinterpret_cast<StreamId>(ext_stream));
}

CUDAStream getDefaultCUDAStream(DeviceIndex device_index) {
  return make(checked("getDefaultCUDAStream", device_index), 0);
}

CUDAStream getCurrentCUDAStream(DeviceIndex device_index) {
  if (device_index == -1)
    SetTargetDevice();  // work on it follows, perhaps by the default stream's handle, which means the driver's device
  const DeviceIndex device = checked("getCurrentCUDAStream", device_index);
  return make(device, t_current[device]);
}

void setCurrentCUDAStream(CUDAStream stream) {
  t_current[checked("setCurrentCUDAStream", stream.device_index())] = stream.id();
}

}  // namespace c10::cuda
