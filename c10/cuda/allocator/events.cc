#include "c10/cuda/allocator/events.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "c10/cuda/exception.h"
#include "c10/cuda/guard.h"

namespace c10::cuda::CUDACachingAllocator {

Event::Event(c10::DeviceIndex device) : device_(device) {
  const CUDAGuard guard(device);
  C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
}

Event::~Event() {
  if (event_ != nullptr) C10_CUDA_CHECK_WARN(cudaEventDestroy(event_));
}

void Event::destroy() {
  C10_CUDA_CHECK(cudaEventDestroy(event_));
  event_ = nullptr;
}

Event EventPool::record(c10::DeviceIndex device, cudaStream_t stream) {
  const auto idle = std::find_if(idle_.begin(), idle_.end(), [&](const Event& e) { return e.device() == device; });
  Event event = idle == idle_.end() ? Event(device) : std::move(*idle);
  if (idle != idle_.end()) idle_.erase(idle);
  const cudaError_t status = cudaEventRecord(event.get(), stream);
  if (status != cudaSuccess) give_back(std::move(event));
  C10_CUDA_CHECK(status);
  return event;
}

}  // namespace c10::cuda::CUDACachingAllocator
