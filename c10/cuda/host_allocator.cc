#include "c10/cuda/host_allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "c10/cuda/allocator_config.h"
#include "c10/cuda/capture_mode.h"
#include "c10/cuda/device.h"
#include "c10/cuda/event_handle.h"
#include "c10/cuda/guard.h"
#include "c10/util/exception.h"

namespace at::cuda {
namespace {

using c10::DeviceIndex;
using c10::cuda::CUDAStreamCaptureModeGuard;
using c10::cuda::PooledEvent;
using c10::cuda::CUDACachingAllocator::allocator_settings;
using c10::cuda::CUDACachingAllocator::AllocatorSettings;

constexpr size_t kPage = 4096;

struct Block {
  void* data;
  int size_class;  // 2 to this many bytes
  bool is_registered;
  bool allocated = true;
  int events = 0;         // that must happen before it is free
  Block* next = nullptr;  // among the free ones
  std::vector<CUDAStream> streams = {};

  size_t size() const { return size_t{1} << size_class; }
};

// Writes to every page, so that the system maps it.
void map_pages(char* data, size_t size, size_t threads) {
  const size_t pages = (size + kPage - 1) / kPage;
  const size_t share = (pages + threads - 1) / threads;
  const auto touch = [=](size_t first) {
    for (size_t page = first; page < std::min(first + share, pages); ++page)
      *const_cast<volatile char*>(data + page * kPage) = 0;
  };
  std::vector<std::jthread> others;
  for (size_t first = share; first < pages; first += share) others.emplace_back(touch, first);
  touch(0);
}

// Memory is made where a context is already.
std::optional<c10::Device> device_for_pinning() {
  const std::optional<DeviceIndex> device = c10::cuda::getDeviceIndexWithPrimaryContext();
  return device.has_value() ? std::optional(c10::Device(c10::kCUDA, *device)) : std::nullopt;
}

// Null, with the status, where there is none.
void* make_memory(size_t size, const AllocatorSettings& settings, cudaError_t& status) {
  const OptionalCUDAGuard guard(device_for_pinning());
  const CUDAStreamCaptureModeGuard capture(cudaStreamCaptureModeRelaxed);
  void* data = nullptr;
  if (!settings.pinned_use_cuda_host_register) {
    status = C10_CUDA_ERROR_HANDLED(cudaHostAlloc(&data, size, cudaHostAllocDefault));
    if (status == cudaSuccess) return data;
    C10_CUDA_CLEAR_ERROR();
    return nullptr;
  }
  data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  status = data == MAP_FAILED ? cudaErrorMemoryAllocation : cudaSuccess;
  if (status != cudaSuccess) return nullptr;
  try {
    map_pages(static_cast<char*>(data), size, settings.pinned_num_register_threads);
  } catch (...) {
    ::munmap(data, size);
    throw;
  }
  status = C10_CUDA_ERROR_HANDLED(cudaHostRegister(data, size, cudaHostRegisterDefault));
  if (status == cudaSuccess) return data;
  C10_CUDA_CLEAR_ERROR();
  ::munmap(data, size);
  return nullptr;
}

void give_back(const Block& block) noexcept {
  std::optional<CUDAStreamCaptureModeGuard> capture;
  try {
    capture.emplace(cudaStreamCaptureModeRelaxed);
  } catch (...) {  // then the call may end a capture; to keep the memory for ever would be worse
  }
  try {
    if (!block.is_registered) {
      C10_CUDA_CHECK_WARN(cudaFreeHost(block.data));
      return;
    }
    C10_CUDA_CHECK_WARN(cudaHostUnregister(block.data));
    ::munmap(block.data, block.size());
  } catch (...) {  // a warning handler's
  }
}

int64_t microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
}

class CachingHostAllocator final : public HostAllocator {
 public:
  c10::DataPtr allocate(size_t n) override {
    if (n == 0) return {nullptr, c10::Device(c10::kCPU)};
    c10::cuda::device_count_ensure_non_zero();
    TORCH_CHECK_WITH(OutOfMemoryError, n <= size_t{1} << 62, "pinned memory: ", n, " bytes cannot be allocated");
    const int size_class = std::bit_width(n - 1);
    Block* block = take(size_class);
    if (block == nullptr) block = make(size_class, n);
    return {block->data, block->data, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* dest, const void* src, size_t count) const override { default_copy_data(dest, src, count); }

  bool record_event(void* ptr, void* ctx, c10::Stream stream) override {
    const CUDAStream on(stream);
    std::lock_guard lock(mutex_);
    const auto found = blocks_.find(ctx != nullptr ? ctx : ptr);
    if (found == blocks_.end() || !found->second->allocated) return false;
    std::vector<CUDAStream>& streams = found->second->streams;
    if (std::find(streams.begin(), streams.end(), on) == streams.end()) streams.push_back(on);
    return true;
  }

  void empty_cache() override {
    process_events();
    std::vector<std::unique_ptr<Block>> gone;
    {
      std::lock_guard lock(mutex_);
      for (Block*& first : free_) {
        for (; first != nullptr; first = first->next) {
          gone.push_back(std::move(blocks_.extract(first->data).mapped()));
          stats_.allocations.decrease(1);
          stats_.allocated_bytes.decrease(first->size());
        }
      }
    }
    for (const auto& block : gone) {
      const auto start = std::chrono::steady_clock::now();
      give_back(*block);
      std::lock_guard lock(mutex_);
      ++stats_.num_host_free;
      stats_.host_free_time.increase(microseconds_since(start));
    }
  }

  HostStats get_stats() override {
    std::lock_guard lock(mutex_);
    return stats_;
  }
  void reset_accumulated_stats() override {
    std::lock_guard lock(mutex_);
    for_each_stat([](auto& stat) { stat.reset_accumulated(); });
    stats_.num_host_alloc = stats_.num_host_free = 0;
  }
  void reset_peak_stats() override {
    std::lock_guard lock(mutex_);
    for_each_stat([](auto& stat) { stat.reset_peak(); });
  }

 private:
  // A mark behind the work of one stream that uses a block.
  struct Use {
    PooledEvent event;
    Block* block;
  };

  template <class F>
  void for_each_stat(F f) {
    f(stats_.allocations);
    f(stats_.active_requests);
    f(stats_.allocated_bytes);
    f(stats_.active_bytes);
    f(stats_.host_alloc_time);
    f(stats_.host_free_time);
  }

  // A free block of the class, or null.
  Block* take(int size_class) {
    const bool in_background = allocator_settings().pinned_use_background_threads;
    if (!in_background) process_events();
    std::lock_guard lock(mutex_);
    if (in_background && !has_thread_) {
      std::thread([this] { process_in_background(); }).detach();
      has_thread_ = true;
    }
    Block* block = free_[size_class];
    if (block == nullptr) return nullptr;
    free_[size_class] = block->next;
    block->allocated = true;
    count_active(*block);
    return block;
  }

  Block* make(int size_class, size_t asked) {
    const AllocatorSettings& settings = allocator_settings();
    auto block = std::make_unique<Block>(Block{nullptr, size_class, settings.pinned_use_cuda_host_register});
    const auto start = std::chrono::steady_clock::now();
    cudaError_t status = cudaSuccess;
    block->data = make_memory(block->size(), settings, status);
    if (block->data == nullptr && status == cudaErrorMemoryAllocation) {
      empty_cache();
      block->data = make_memory(block->size(), settings, status);
    }
    TORCH_CHECK_WITH(OutOfMemoryError, status != cudaErrorMemoryAllocation, "CUDA error: ", cudaGetErrorString(status),
                     " (", cudaGetErrorName(status), "): pinned host memory of ", asked, " bytes, rounded up to ",
                     block->size(), ", cannot be allocated");
    c10::cuda::check_status(status, block->is_registered ? "cudaHostRegister" : "cudaHostAlloc");
    std::lock_guard lock(mutex_);
    Block* made = block.get();
    try {
      blocks_[made->data] = std::move(block);
    } catch (...) {
      give_back(*block);
      throw;
    }
    stats_.allocations.increase(1);
    stats_.allocated_bytes.increase(made->size());
    ++stats_.num_host_alloc;
    stats_.host_alloc_time.increase(microseconds_since(start));
    count_active(*made);
    return made;
  }

  static void release(void* data);

  // Puts marks behind the work that uses the block; it is free when all are reached.
  void free(void* data) noexcept {
    Block* block;
    std::vector<CUDAStream> streams = {};
    {
      std::lock_guard lock(mutex_);
      block = blocks_.at(data).get();
      block->allocated = false;
      block->events = 1;  // this call's own, so that nobody else frees it meanwhile
      streams.swap(block->streams);
    }
    for (const CUDAStream& stream : streams) mark(stream, block);
    std::lock_guard lock(mutex_);
    reached(block);
    background_.notify_one();
  }

  void mark(const CUDAStream& stream, Block* block) noexcept {
    try {
      if (c10::cuda::capture_status(stream) == c10::cuda::CaptureStatus::Active) {
        std::lock_guard lock(mutex_);
        ++block->events;  // for ever: the graph uses the block whenever it is replayed
        return;
      }
      PooledEvent event(stream.device_index());
      event.record(stream);
      std::lock_guard lock(mutex_);
      uses_.push_back({std::move(event), block});
      ++block->events;
    } catch (...) {
      wait(stream);  // without a mark there is only waiting
    }
  }

  static void wait(const CUDAStream& stream) noexcept {
    try {
      const CUDAGuard guard(stream.device_index());
      C10_CUDA_IGNORE_ERROR(cudaStreamSynchronize(stream));
    } catch (...) {  // the device is lost, and nothing runs on it
    }
  }

  // The caller holds the mutex.
  void reached(Block* block) {
    if (--block->events != 0) return;
    block->next = std::exchange(free_[block->size_class], block);
    stats_.active_requests.decrease(1);
    stats_.active_bytes.decrease(block->size());
  }

  void count_active(const Block& block) {
    stats_.active_requests.increase(1);
    stats_.active_bytes.increase(block.size());
  }

  // Frees the blocks whose streams are done. Events of one stream happen in order, those of others may be ahead: all
  // are asked.
  void process_events() {
    std::deque<Use> asked;
    {
      std::lock_guard lock(mutex_);
      if (uses_.empty()) return;
      asked.swap(uses_);
    }
    const auto put_back = [&] {
      std::lock_guard lock(mutex_);
      while (!asked.empty()) {
        uses_.push_front(std::move(asked.back()));
        asked.pop_back();
      }
    };
    try {
      const CUDAStreamCaptureModeGuard capture(cudaStreamCaptureModeRelaxed);
      for (size_t i = asked.size(); i > 0; --i) {
        if (asked.front().event.query()) {
          std::lock_guard lock(mutex_);
          reached(asked.front().block);
        } else {
          asked.push_back(std::move(asked.front()));
        }
        asked.pop_front();
      }
    } catch (...) {
      put_back();
      throw;
    }
    put_back();
  }

  void process_in_background() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        background_.wait(lock, [this] { return !uses_.empty() && allocator_settings().pinned_use_background_threads; });
      }
      try {
        process_events();
      } catch (...) {  // whoever asks for memory without this thread hears of it
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  std::mutex mutex_;
  std::condition_variable background_;
  std::unordered_map<void*, std::unique_ptr<Block>> blocks_;
  Block* free_[64] = {};  // by size class
  std::deque<Use> uses_;
  HostStats stats_;
  bool has_thread_ = false;
};

// Never destroyed: memory may come back when the program ends.
CachingHostAllocator& allocator() {
  static CachingHostAllocator* one = new CachingHostAllocator;
  return *one;
}

void CachingHostAllocator::release(void* data) {
  allocator().free(data);
}

}  // namespace

HostAllocator* getCachingHostAllocator() {
  return &allocator();
}

bool is_pinned_ptr(const void* data) {
  const std::optional<c10::Device> device = device_for_pinning();
  if (!device.has_value()) return false;  // nobody can have pinned anything
  const CUDAGuard guard(*device);
  cudaPointerAttributes attributes{};
  const cudaError_t status = C10_CUDA_ERROR_HANDLED(cudaPointerGetAttributes(&attributes, data));
  if (status == cudaErrorInvalidValue) {
    C10_CUDA_CLEAR_ERROR();
    return false;
  }
  c10::cuda::check_status(status, "cudaPointerGetAttributes");
  return attributes.type == cudaMemoryTypeHost;
}

}  // namespace at::cuda
