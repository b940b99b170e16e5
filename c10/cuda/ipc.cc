#include "c10/cuda/ipc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "c10/cuda/device.h"
#include "c10/cuda/event.h"
#include "c10/cuda/guard.h"
#include "c10/util/exception.h"

namespace c10::cuda::ipc {
namespace {

using Count = std::atomic<int64_t>;
static_assert(Count::is_always_lock_free, "processes share the count by its memory alone");

// A number that processes share by name.
class SharedCount {
 public:
  SharedCount(std::string name, bool create) : name_(std::move(name)) {
    const int file = ::shm_open(name_.c_str(), create ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, 0600);
    TORCH_CHECK(file >= 0, "IPC of CUDA memory: the shared memory ", name_,
                " cannot be opened: ", std::strerror(errno));
    void* memory = MAP_FAILED;
    if (!create || ::ftruncate(file, sizeof(Count)) == 0) {
      memory = ::mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    const int error = errno;
    ::close(file);
    if (memory == MAP_FAILED && create) ::shm_unlink(name_.c_str());
    TORCH_CHECK(memory != MAP_FAILED, "IPC of CUDA memory: the shared memory ", name_,
                " cannot be used: ", std::strerror(error));
    count_ = static_cast<Count*>(memory);
  }
  SharedCount(SharedCount&& other) noexcept
      : name_(std::move(other.name_)), count_(std::exchange(other.count_, nullptr)) {}
  SharedCount& operator=(SharedCount&& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~SharedCount() {
    if (count_ != nullptr) ::munmap(count_, sizeof(Count));
  }

  const std::string& name() const { return name_; }
  Count& operator*() const { return *count_; }
  void remove_name() const { ::shm_unlink(name_.c_str()); }

 private:
  std::string name_;
  Count* count_ = nullptr;
};

// Memory that receivers may still use.
struct Sent {
  DataPtr data;
  CUDAEvent ready;  // a receiver may open it as late as that
  SharedCount receivers;
};
struct SentList {
  std::mutex mutex;
  std::vector<Sent> all;
};
// Never destroyed: others may use the memory until the process ends. The names do not outlive it.
SentList& sent() {
  static SentList* list = [] {
    auto* made = new SentList;
    std::atexit([] {
      std::lock_guard lock(sent().mutex);
      for (const Sent& one : sent().all) one.receivers.remove_name();
    });
    return made;
  }();
  return *list;
}

struct OpenedMap {
  std::mutex mutex;
  std::map<std::pair<DeviceIndex, std::string>, std::weak_ptr<void>> all;
};
OpenedMap& opened() {
  static OpenedMap* map = new OpenedMap;
  return *map;
}

struct Received {
  std::shared_ptr<void> memory;
  SharedCount receivers;
  DeviceIndex device;
};

DeviceIndex find_device(const cudaUUID_t& uuid) {
  const DeviceIndex count = device_count_ensure_non_zero();
  for (DeviceIndex device = 0; device < count; ++device) {
    if (std::memcmp(&at::cuda::getDeviceProperties(device)->uuid, &uuid, sizeof(uuid)) == 0) return device;
  }
  TORCH_CHECK(false, "IPC: this process does not have the device that the memory is on");
}

void release(void* context) {
  const std::unique_ptr<Received> received(static_cast<Received*>(context));
  const ReleaseGuard guard(received->device);
  try {
    C10_CUDA_CHECK_WARN(cudaStreamSynchronize(getCurrentCUDAStream(received->device)));
  } catch (...) {  // the device is lost
  }
  (*received->receivers).fetch_sub(1);
}

}  // namespace

MemoryHandle send(DataPtr data, const void* base, size_t bytes, const CUDAStream& stream, int receivers) {
  TORCH_CHECK(data.device().is_cuda() && data.get() != nullptr, "IPC: expected memory of a CUDA device, got ",
              data.device());
  TORCH_CHECK(data.device() == stream.device(), "IPC: the memory is of ", data.device(), ", the stream of ",
              stream.device());
  const ptrdiff_t offset = static_cast<const char*>(data.get()) - static_cast<const char*>(base);
  TORCH_CHECK(base != nullptr && offset >= 0, "IPC: the memory does not lie behind the start of its allocation");
  TORCH_CHECK(receivers > 0, "IPC: expected a receiver, got ", receivers);

  MemoryHandle handle{};
  handle.offset = offset;
  handle.bytes = bytes;
  handle.device = at::cuda::getDeviceProperties(stream.device_index())->uuid;
  CUDAEvent ready(cudaEventDisableTiming | cudaEventInterprocess);
  ready.record(stream);
  ready.ipc_handle(&handle.ready);
  {
    const CUDAGuard guard(stream.device_index());
    C10_CUDA_CHECK(cudaIpcGetMemHandle(&handle.memory, const_cast<void*>(base)));
  }
  // Processes of other containers may have this one's number and see the same names.
  std::random_device random;
  std::snprintf(handle.receivers, sizeof(handle.receivers), "/kindling_%d_%08x%08x", static_cast<int>(::getpid()),
                random(), random());
  collect();
  SentList& list = sent();
  std::lock_guard lock(list.mutex);
  list.all.reserve(list.all.size() + 1);
  SharedCount count(handle.receivers, /*create=*/true);
  *count = receivers;
  list.all.push_back({std::move(data), std::move(ready), std::move(count)});
  return handle;
}

DataPtr receive(const MemoryHandle& handle) {
  TORCH_CHECK(handle.receivers[sizeof(handle.receivers) - 1] == '\0' && handle.offset >= 0,
              "IPC: this is no handle of memory");
  const DeviceIndex device = find_device(handle.device);
  const CUDAStream stream = getCurrentCUDAStream(device);
  const CUDAEvent ready(device, &handle.ready);
  auto received = std::make_unique<Received>(
      Received{open_memory(device, handle.memory), SharedCount(handle.receivers, /*create=*/false), device});
  ready.block(stream);
  void* data = static_cast<char*>(received->memory.get()) + handle.offset;
  return {data, received.release(), &release, Device(DeviceType::CUDA, device)};
}

size_t collect() {
  SentList& list = sent();
  std::vector<Sent> done;
  std::lock_guard lock(list.mutex);
  for (size_t i = list.all.size(); i > 0; --i) {
    Sent& one = list.all[i - 1];
    if (*one.receivers > 0) continue;
    one.receivers.remove_name();
    done.push_back(std::move(one));
    list.all.erase(list.all.begin() + static_cast<ptrdiff_t>(i) - 1);
  }
  return list.all.size();
}

size_t pending() {
  std::lock_guard lock(sent().mutex);
  return sent().all.size();
}

std::shared_ptr<void> open_memory(DeviceIndex device, const cudaIpcMemHandle_t& memory) {
  OpenedMap& map = opened();
  std::lock_guard lock(map.mutex);
  std::erase_if(map.all, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<void>& known = map.all[{device, std::string(memory.reserved, sizeof(memory.reserved))}];
  if (std::shared_ptr<void> open = known.lock()) return open;
  const CUDAGuard guard(device);
  void* base = nullptr;
  C10_CUDA_CHECK(cudaIpcOpenMemHandle(&base, memory, cudaIpcMemLazyEnablePeerAccess));
  std::shared_ptr<void> open(base, [device](void* opened_base) {
    const ReleaseGuard closing(device);
    try {
      C10_CUDA_CHECK_WARN(cudaIpcCloseMemHandle(opened_base));
    } catch (...) {  // a warning handler's
    }
  });
  known = open;
  return open;
}

}  // namespace c10::cuda::ipc
