#include "aten/cuda/cudnn/handle.h"

#include <mutex>
#include <vector>

#include "aten/cuda/cudnn/descriptor.h"
#include "c10/cuda/device.h"
#include "c10/cuda/registration.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace at::native {
namespace {

// What outlives threads.
struct Shared {
  std::mutex mutex;
  std::vector<cudnnHandle_t> free[C10_COMPILE_TIME_MAX_GPUS];
};
Shared& shared() {
  static Shared* const all = new Shared;
  return *all;
}

// A thread's handles, which it gives back at its end.
struct Mine {
  cudnnHandle_t of_device[C10_COMPILE_TIME_MAX_GPUS] = {};

  Mine() = default;
  Mine(const Mine&) = delete;
  Mine& operator=(const Mine&) = delete;
  ~Mine() {
    const std::lock_guard lock(shared().mutex);
    for (int i = 0; i < C10_COMPILE_TIME_MAX_GPUS; ++i) {
      if (of_device[i] != nullptr) shared().free[i].push_back(of_device[i]);
    }
  }
};

[[maybe_unused]] const bool g_registered = [] {
  c10::cuda::register_library(c10::cuda::Library::kCuDNN, [] { return static_cast<int64_t>(cudnnGetVersion()); });
  return true;
}();

cudnnHandle_t handle_for(c10::DeviceIndex device) {
  static thread_local Mine mine;
  cudnnHandle_t& handle = mine.of_device[device];
  if (handle != nullptr) return handle;
  const std::lock_guard lock(shared().mutex);
  std::vector<cudnnHandle_t>& free = shared().free[device];
  if (!free.empty()) {
    handle = free.back();
    free.pop_back();
  } else {
    cudnnHandle_t made = nullptr;
    cuda::cudnn::check(cudnnCreate(&made), "cudnnCreate");
    handle = made;
  }
  return handle;
}

}  // namespace

cudnnHandle_t getCudnnHandle() {
  const c10::DeviceIndex device = c10::cuda::current_device();
  TORCH_CHECK(device < C10_COMPILE_TIME_MAX_GPUS, "cuDNN: no more than ", C10_COMPILE_TIME_MAX_GPUS,
              " devices are supported");
  c10::cuda::SetTargetDevice();
  const cudnnHandle_t handle = handle_for(device);
  cuda::cudnn::check(cudnnSetStream(handle, c10::cuda::getCurrentCUDAStream()), "cudnnSetStream");
  return handle;
}

}  // namespace at::native
