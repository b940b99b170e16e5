#include "compile/cuda/kernel_cache.h"

#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "c10/core/device_guard.h"
#include "c10/cuda/capture_mode.h"
#include "c10/cuda/device.h"
#include "c10/cuda/loaded_kernels.h"
#include "c10/util/exception.h"
#include "compile/cuda/group_source.h"
#include "compile/cuda/nvrtc.h"

namespace torch::compiler::cuda {
namespace {

using KernelPointer = std::shared_ptr<const GroupKernel>;

constexpr size_t kDefaultLimit = size_t{256} << 20;

struct Entry {
  std::string key;
  KernelPointer kernel;
};

struct KernelCache {
  std::mutex mutex;
  std::list<Entry> entries;  // the latest used first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key;
  size_t limit = kDefaultLimit;
  KernelCacheStatistics counts;

  // Takes out what is too much; it is let go without the lock.
  std::vector<KernelPointer> trim() {
    std::vector<KernelPointer> gone;
    while (!entries.empty() && counts.bytes > limit) {
      Entry& last = entries.back();
      counts.bytes -= last.kernel->bytes();
      ++counts.evictions;
      gone.push_back(std::move(last.kernel));
      by_key.erase(last.key);
      entries.pop_back();
    }
    return gone;
  }
};
KernelCache& cache() {
  static KernelCache* const it = new KernelCache;  // devices may be gone when the process ends
  return *it;
}

}  // namespace

GroupKernel::GroupKernel(const std::string& text, c10::DeviceIndex device) {
  const cudaDeviceProp* const properties = at::cuda::getDeviceProperties(device);
  const std::vector<char> image = compile_source(prelude() + text, properties->major, properties->minor);
  // What is loaded has nothing to do with what is being captured.
  const c10::cuda::CUDAStreamCaptureModeGuard relaxed(cudaStreamCaptureModeRelaxed);
  library_ = std::make_unique<c10::cuda::LoadedKernels>(image.data());
  kernel_ = library_->find(kKernel);
  bytes_ = image.size() + text.size();
}
GroupKernel::~GroupKernel() {
  if (library_ == nullptr) return;
  bool idle = !captured_.load();
  try {
    const c10::cuda::CUDAStreamCaptureModeGuard relaxed(cudaStreamCaptureModeRelaxed);
    const uint64_t devices = devices_.load();
    for (int d = 0; idle && d < 64; ++d) {
      if ((devices >> d & 1) == 0) continue;
      const c10::DeviceGuard guard(c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(d)));
      c10::cuda::device_synchronize();
    }
    if (idle) library_.reset();
  } catch (const c10::Error& error) {
    idle = false;
    TORCH_WARN("a kernel of a group stays loaded: ", error.msg());
  }
  if (!idle) static_cast<void>(library_.release());
}
void GroupKernel::prepare(c10::DeviceIndex device) const {
  const c10::DeviceGuard guard(c10::Device(c10::DeviceType::CUDA, device));
  const c10::cuda::CUDAStreamCaptureModeGuard relaxed(cudaStreamCaptureModeRelaxed);
  c10::cuda::prepare(kernel_);
}
void GroupKernel::note_launch(c10::DeviceIndex device, bool captured) const {
  const uint64_t bit = uint64_t{1} << (device & 63);
  if ((devices_.load(std::memory_order_relaxed) & bit) == 0) devices_ |= bit;
  if (captured && !captured_.load(std::memory_order_relaxed)) captured_ = true;
}

KernelPointer kernel_of(const std::string& text, c10::DeviceIndex device) {
  const cudaDeviceProp* const properties = at::cuda::getDeviceProperties(device);
  const std::string key = std::to_string(properties->major) + "." + std::to_string(properties->minor) + "\n" + text;
  KernelCache& all = cache();
  KernelPointer known;
  {
    const std::lock_guard lock(all.mutex);
    if (const auto found = all.by_key.find(key); found != all.by_key.end()) {
      ++all.counts.hits;
      all.entries.splice(all.entries.begin(), all.entries, found->second);
      known = found->second->kernel;
    }
  }
  if (known != nullptr) {
    known->prepare(device);
    return known;
  }
  auto made = std::make_shared<const GroupKernel>(text, device);
  made->prepare(device);
  std::vector<KernelPointer> gone;
  {
    const std::lock_guard lock(all.mutex);
    ++all.counts.misses;
    // Another thread was faster.
    if (const auto found = all.by_key.find(key); found != all.by_key.end()) return found->second->kernel;
    all.entries.push_front({key, made});
    all.by_key.emplace(key, all.entries.begin());
    all.counts.bytes += made->bytes();
    gone = all.trim();
  }
  return made;
}

KernelCacheStatistics kernel_cache_statistics() {
  const std::lock_guard lock(cache().mutex);
  KernelCacheStatistics now = cache().counts;
  now.entries = cache().entries.size();
  return now;
}
void set_kernel_cache_limit(size_t bytes) {
  std::vector<KernelPointer> gone;
  const std::lock_guard lock(cache().mutex);
  cache().limit = bytes;
  gone = cache().trim();
}
void clear_kernel_cache() {
  std::vector<KernelPointer> gone;
  {
    const std::lock_guard lock(cache().mutex);
    for (Entry& entry : cache().entries) gone.push_back(std::move(entry.kernel));
    cache().entries.clear();
    cache().by_key.clear();
    cache().counts.bytes = 0;
  }
}

}  // namespace torch::compiler::cuda
