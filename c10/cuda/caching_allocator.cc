#include "c10/cuda/caching_allocator.h"

#include <cuda_runtime_api.h>

#include <mutex>

#include "c10/cuda/allocator/backends.h"
#include "c10/cuda/allocator/callbacks.h"
#include "c10/cuda/allocator_config.h"
#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/guard_impl.h"
#include "c10/cuda/peer_access.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

// Programs register and are asked before main and after it.
struct Callbacks {
  std::mutex mutex;
  std::vector<std::shared_ptr<FreeMemoryCallback>> all;
  std::atomic<bool> has_any{false};
};
Callbacks& callbacks() {
  static Callbacks* const callbacks = new Callbacks;
  return *callbacks;
}

}  // namespace

void register_free_memory_callback(std::unique_ptr<FreeMemoryCallback> callback) {
  Callbacks& c = callbacks();
  std::lock_guard lock(c.mutex);
  c.all.push_back(std::move(callback));
  c.has_any.store(true);
}

namespace CUDACachingAllocator {

bool has_free_memory_callbacks() {
  return callbacks().has_any.load(std::memory_order_relaxed);
}

bool run_free_memory_callbacks() {
  Callbacks& c = callbacks();
  std::unique_lock lock(c.mutex);
  const auto all = c.all;
  lock.unlock();
  bool freed = false;
  for (const auto& callback : all) freed |= callback->Execute();
  return freed;
}

namespace {

constinit std::atomic<CUDAAllocator*> g_allocator{nullptr};

std::mutex& choosing() {
  static std::mutex* const mutex = new std::mutex;
  return *mutex;
}

// The caller holds choosing().
CUDAAllocator* chosen() {
  if (CUDAAllocator* const allocator = g_allocator.load()) return allocator;
  CUDAAllocator* const made = allocator_settings().use_async_backend ? make_async_allocator() : make_native_allocator();
  g_allocator.store(made, std::memory_order_release);
  return made;
}

void delete_by_current(void* data) {
  get()->raw_delete(data);
}

void record_stream(const DataPtr& data, CUDAStream stream) {
  get()->recordStream(data, stream);
}
void allow_access(DeviceIndex dev, DeviceIndex dev_to_access) {
  get()->enablePeerAccess(dev, dev_to_access);
}

// What the core knows as the allocator of CUDA devices: which one it is, is decided when it is used first.
struct Front final : c10::Allocator {
  DataPtr allocate(size_t n) override { return get()->allocate(n); }
  DeleterFnPtr raw_deleter() const override { return get()->raw_deleter(); }
  void copy_data(void* dest, const void* src, size_t count) const override { get()->copy_data(dest, src, count); }
};

[[maybe_unused]] const bool g_registered = [] {
  SetAllocator(DeviceType::CUDA, new Front);
  set_record_stream(&record_stream);
  set_enable_peer_access(&allow_access);
  return true;
}();

[[noreturn]] void unsupported(CUDAAllocator& allocator, const char* function) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, function, " is not supported by the CUDA allocator \"", allocator.name(), "\"");
}

}  // namespace

CUDAAllocator* get() {
  if (CUDAAllocator* const allocator = g_allocator.load(std::memory_order_acquire)) [[likely]]
    return allocator;
  std::lock_guard lock(choosing());
  return chosen();
}

void set(CUDAAllocator* allocator) {
  TORCH_CHECK(allocator != nullptr, "expected an allocator of CUDA memory");
  std::lock_guard lock(choosing());
  CUDAAllocator* const present = g_allocator.load();
  TORCH_CHECK(present == nullptr || !present->initialized(), "Can't swap an already initialized allocator");
  g_allocator.store(allocator, std::memory_order_release);
}

void recordStream(const DataPtr& ptr, CUDAStream stream) {
  get()->recordStream(ptr, stream);
}

DeleterFnPtr raw_deleter_of_current() {
  return &delete_by_current;
}

DataPtr allocate_data(CUDAAllocator& allocator, size_t bytes) {
  const DeviceIndex device = current_device();
  void* const data = bytes == 0 ? nullptr : allocator.raw_alloc(bytes);
  return DataPtr(data, data, raw_deleter_of_current(), Device(DeviceType::CUDA, device));
}

void copy_on_current_stream(void* destination, const void* source, size_t bytes) {
  if (bytes == 0) return;
  C10_CUDA_CHECK(
      cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDeviceToDevice, getCurrentCUDAStream().stream()));
}

cudaError_t copy_between_devices(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                 cudaStream_t stream, bool p2p_enabled) {
  if (p2p_enabled || to_device == from_device)
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
  return cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream);
}

int CUDAAllocator::getPoolUseCount(DeviceIndex, MempoolId_t) {
  unsupported(*this, "getPoolUseCount");
}
void CUDAAllocator::createOrIncrefPool(DeviceIndex, MempoolId_t, CUDAAllocator*) {
  unsupported(*this, "createOrIncrefPool");
}
void CUDAAllocator::setUseOnOOM(DeviceIndex, MempoolId_t) {
  unsupported(*this, "setUseOnOOM");
}
void CUDAAllocator::setNoSplit(DeviceIndex, MempoolId_t) {
  unsupported(*this, "setNoSplit");
}
bool CUDAAllocator::checkPoolLiveAllocations(DeviceIndex, MempoolId_t, const std::unordered_set<void*>&) {
  unsupported(*this, "checkPoolLiveAllocations");
}
bool CUDAAllocator::isHistoryEnabled() {
  return false;
}

}  // namespace CUDACachingAllocator
}  // namespace c10::cuda
