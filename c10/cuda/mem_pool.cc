#include <atomic>
#include <thread>

#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/device.h"
#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

thread_local MemPool* t_active = nullptr;

}  // namespace

MempoolId_t MemPool::graph_pool_handle(bool is_user_created) {
  static std::atomic<CaptureId_t> of_programs{1};
  static std::atomic<CaptureId_t> of_graphs{1};
  return is_user_created ? MempoolId_t{0, of_programs++} : MempoolId_t{of_graphs++, 0};
}

MemPool::MemPool(CUDACachingAllocator::CUDAAllocator* allocator, bool is_user_created, bool use_on_oom, bool no_split)
    : allocator_(allocator), id_(graph_pool_handle(is_user_created)), device_(current_device()) {
  CUDACachingAllocator::createOrIncrefPool(device_, id_, allocator);
  if (use_on_oom) CUDACachingAllocator::setUseOnOOM(device_, id_);
  if (no_split) CUDACachingAllocator::setNoSplit(device_, id_);
}

MemPool::~MemPool() {
  try {
    CUDACachingAllocator::releasePool(device_, id_);
    CUDACachingAllocator::emptyCache(id_);
  } catch (const c10::Error& error) {
    TORCH_WARN("the memory of a MemPool was not given back: ", error.what_without_backtrace());
  }
}

int MemPool::use_count() const {
  return CUDACachingAllocator::getPoolUseCount(device_, id_);
}

std::vector<CUDACachingAllocator::SegmentInfo> MemPool::snapshot() const {
  return CUDACachingAllocator::snapshot(id_).segments;
}

MemPoolContext::MemPoolContext(MemPool* pool) : pool_(pool), before_(t_active) {
  TORCH_CHECK(pool != nullptr, "MemPoolContext: expected a pool");
  if (pool != before_) {
    CUDACachingAllocator::beginAllocateToPool(
        pool->device(), pool->id(),
        [thread = std::this_thread::get_id()](cudaStream_t) { return std::this_thread::get_id() == thread; });
  }
  t_active = pool;
}

MemPoolContext::~MemPoolContext() {
  t_active = before_;
  if (pool_ == before_) return;
  try {
    CUDACachingAllocator::endAllocateToPool(pool_->device(), pool_->id());
    CUDACachingAllocator::releasePool(pool_->device(), pool_->id());
  } catch (const c10::Error& error) {
    TORCH_WARN("a MemPoolContext did not end: ", error.what_without_backtrace());
  }
}

MemPool* MemPoolContext::getActiveMemPool() {
  return t_active;
}

}  // namespace c10::cuda
