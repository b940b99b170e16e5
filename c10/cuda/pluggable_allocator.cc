#include "c10/cuda/pluggable_allocator.h"

#include <dlfcn.h>

#include "c10/cuda/allocator/backends.h"
#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/peer_access.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace torch::cuda::CUDAPluggableAllocator {
namespace {

namespace native = c10::cuda::CUDACachingAllocator;
using c10::DeviceIndex;
using c10::MempoolId_t;

[[noreturn]] void unsupported(const char* function) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "CUDAPluggableAllocator does not yet support ", function);
}

std::mutex& changing() {
  static std::mutex* const mutex = new std::mutex;
  return *mutex;
}
std::shared_ptr<CUDAAllocator>& current() {
  // Memory may be freed after main.
  static auto* const allocator = new std::shared_ptr<CUDAAllocator>;
  return *allocator;
}

}  // namespace

CUDAPluggableAllocator::CUDAPluggableAllocator(std::function<MallocFuncType> alloc_fn,
                                               std::function<FreeFuncType> free_fn)
    : alloc_fn_(std::move(alloc_fn)), free_fn_(std::move(free_fn)) {
  TORCH_CHECK(alloc_fn_ != nullptr && free_fn_ != nullptr,
              "CUDAPluggableAllocator: expected a function that allocates and one that frees");
}

void* CUDAPluggableAllocator::malloc(size_t size, DeviceIndex device, cudaStream_t stream) {
  void* const data = alloc_fn_(size, device, stream);
  TORCH_CHECK_WITH(OutOfMemoryError, data != nullptr, "CUDA out of memory: the program's allocator gave none of ", size,
                   " bytes on device ", static_cast<int>(device));
  std::lock_guard lock(mutex_);
  initialized_ = true;
  allocations_[data] = {size, device, stream};
  return data;
}

c10::DataPtr CUDAPluggableAllocator::allocate(size_t size) {
  return native::allocate_data(*this, size);
}
c10::DeleterFnPtr CUDAPluggableAllocator::raw_deleter() const {
  return native::raw_deleter_of_current();
}
void CUDAPluggableAllocator::copy_data(void* dest, const void* src, size_t count) const {
  native::copy_on_current_stream(dest, src, count);
}

void* CUDAPluggableAllocator::raw_alloc(size_t nbytes) {
  if (nbytes == 0) return nullptr;
  const DeviceIndex device = c10::cuda::current_device();
  return malloc(nbytes, device, c10::cuda::getCurrentCUDAStream(device).stream());
}

void* CUDAPluggableAllocator::raw_alloc_with_stream(size_t nbytes, cudaStream_t stream) {
  return nbytes == 0 ? nullptr : malloc(nbytes, c10::cuda::current_device(), stream);
}

void CUDAPluggableAllocator::raw_delete(void* ptr) {
  if (ptr == nullptr) return;
  std::unique_lock lock(mutex_);
  const auto it = allocations_.find(ptr);
  TORCH_CHECK(it != allocations_.end(), "CUDAPluggableAllocator: ", ptr, " is no allocation of it");
  const Allocation allocation = it->second;
  allocations_.erase(it);
  lock.unlock();
  free_fn_(ptr, allocation.size, allocation.device, allocation.stream);
}

void CUDAPluggableAllocator::init(int device_count) {
  if (init_fn_ != nullptr) init_fn_(device_count);
  std::lock_guard lock(mutex_);
  initialized_ = true;
}

bool CUDAPluggableAllocator::initialized() {
  std::lock_guard lock(mutex_);
  return initialized_;
}

double CUDAPluggableAllocator::getMemoryFraction(DeviceIndex) {
  unsupported("getMemoryFraction");
}
void CUDAPluggableAllocator::setMemoryFraction(double fraction, DeviceIndex device) {
  if (memory_fraction_fn_ == nullptr) unsupported("setMemoryFraction");
  memory_fraction_fn_(fraction, device);
}
void CUDAPluggableAllocator::emptyCache(MempoolId_t) {
  if (reset_fn_ != nullptr) reset_fn_();
}
void CUDAPluggableAllocator::cacheInfo(DeviceIndex, size_t*) {
  unsupported("cacheInfo");
}
void* CUDAPluggableAllocator::getBaseAllocation(void* ptr, size_t* size) {
  return base_alloc_fn_ != nullptr ? base_alloc_fn_(ptr, size) : ptr;
}
void CUDAPluggableAllocator::recordStream(const c10::DataPtr& ptr, c10::cuda::CUDAStream stream) {
  if (record_stream_fn_ != nullptr && ptr.get() != nullptr) record_stream_fn_(ptr.get(), stream.stream());
}
native::DeviceStats CUDAPluggableAllocator::getDeviceStats(DeviceIndex) {
  unsupported("getDeviceStats");
}
void CUDAPluggableAllocator::resetAccumulatedStats(DeviceIndex) {
  unsupported("resetAccumulatedStats");
}
void CUDAPluggableAllocator::resetPeakStats(DeviceIndex) {
  unsupported("resetPeakStats");
}
native::SnapshotInfo CUDAPluggableAllocator::snapshot(MempoolId_t) {
  unsupported("snapshot");
}

void CUDAPluggableAllocator::beginAllocateToPool(DeviceIndex device, MempoolId_t id,
                                                 std::function<bool(cudaStream_t)> filter) {
  if (begin_pool_fn_ != nullptr) begin_pool_fn_(device, id, std::move(filter));
}
void CUDAPluggableAllocator::endAllocateToPool(DeviceIndex device, MempoolId_t id) {
  if (end_pool_fn_ != nullptr) end_pool_fn_(device, id);
}
void CUDAPluggableAllocator::releasePool(DeviceIndex device, MempoolId_t id) {
  if (release_pool_fn_ != nullptr) release_pool_fn_(device, id);
}
std::shared_ptr<native::AllocatorState> CUDAPluggableAllocator::getCheckpointState(DeviceIndex, MempoolId_t) {
  unsupported("getCheckpointState");
}
native::CheckpointDelta CUDAPluggableAllocator::setCheckpointPoolState(DeviceIndex,
                                                                       std::shared_ptr<native::AllocatorState>) {
  unsupported("setCheckpointPoolState");
}
native::ShareableHandle CUDAPluggableAllocator::shareIpcHandle(void*) {
  unsupported("shareIpcHandle");
}
std::shared_ptr<void> CUDAPluggableAllocator::getIpcDevPtr(std::string) {
  unsupported("getIpcDevPtr");
}
void CUDAPluggableAllocator::enablePeerAccess(DeviceIndex dev, DeviceIndex dev_to_access) {
  c10::cuda::enable_peer_access(dev, dev_to_access);
}
cudaError_t CUDAPluggableAllocator::memcpyAsync(void* dst, int dst_device, const void* src, int src_device,
                                                size_t count, cudaStream_t stream, bool p2p_enabled) {
  return native::copy_between_devices(dst, dst_device, src, src_device, count, stream, p2p_enabled);
}
void CUDAPluggableAllocator::recordHistory(bool, native::CreateContextFn, size_t, native::RecordContext, bool) {
  unsupported("recordHistory");
}
void CUDAPluggableAllocator::attachOutOfMemoryObserver(native::OutOfMemoryObserver) {
  unsupported("attachOutOfMemoryObserver");
}
void CUDAPluggableAllocator::attachAllocatorTraceTracker(native::AllocatorTraceTracker) {
  unsupported("attachAllocatorTraceTracker");
}

std::shared_ptr<CUDAAllocator> createCustomAllocator(std::function<MallocFuncType> alloc_fn,
                                                     std::function<FreeFuncType> free_fn) {
  return std::make_shared<CUDAPluggableAllocator>(std::move(alloc_fn), std::move(free_fn));
}

std::shared_ptr<CUDAAllocator> loadCustomAllocator(const std::string& path_to_so_file, const std::string& alloc_fn_name,
                                                   const std::string& free_fn_name) {
  // Never closed: the functions are needed as long as memory is there.
  void* const library = dlopen(path_to_so_file.c_str(), RTLD_NOW | RTLD_LOCAL);
  TORCH_CHECK(library != nullptr, "CUDAPluggableAllocator: ", dlerror());
  const auto function = [&](const std::string& name) {
    void* const address = dlsym(library, name.c_str());
    TORCH_CHECK(address != nullptr, "CUDAPluggableAllocator: ", path_to_so_file, " has no function ", name);
    return address;
  };
  return createCustomAllocator(reinterpret_cast<MallocFuncType*>(function(alloc_fn_name)),
                               reinterpret_cast<FreeFuncType*>(function(free_fn_name)));
}

std::shared_ptr<CUDAAllocator> getCurrentAllocator() {
  std::lock_guard lock(changing());
  return current();
}

void changeCurrentAllocator(const std::shared_ptr<CUDAAllocator>& allocator) {
  std::lock_guard lock(changing());
  native::set(allocator.get());
  current() = allocator;
}

}  // namespace torch::cuda::CUDAPluggableAllocator
