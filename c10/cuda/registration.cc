#include "c10/cuda/registration.h"

#include <cuda_runtime_api.h>

#include <atomic>

#include "c10/core/device_guard_impl.h"
#include "c10/cuda/capture_mode.h"
#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/guard_impl.h"
#include "c10/cuda/hooks.h"
#include "c10/cuda/host_allocator.h"
#include "c10/cuda/ipc.h"
#include "c10/cuda/nvtx.h"
#include "c10/util/exception.h"

namespace c10::cuda {
namespace {

constinit std::atomic<const GeneratorFunctions*> g_generators{nullptr};
constinit std::atomic<bool> g_initialized{false};
constinit std::atomic<int64_t (*)()> g_versions[static_cast<size_t>(Library::kCount)] = {};

const GeneratorFunctions& generators() {
  const GeneratorFunctions* functions = g_generators.load();
  TORCH_CHECK_NOT_IMPLEMENTED(functions != nullptr, "no generator of CUDA devices is linked");
  return *functions;
}

DeviceIndex index_or_current(DeviceIndex device) {
  if (device == -1) return current_device();
  const DeviceIndex count = device_count_ensure_non_zero();
  TORCH_CHECK(device >= 0 && device < count, "there is no CUDA device ", static_cast<int>(device), " among ",
              static_cast<int>(count));
  return device;
}

struct Hooks final : CUDAHooks {
  void init() const override {
    device_count_ensure_non_zero();
    g_initialized.store(true);
  }
  bool isInitialized() const override { return g_initialized.load() || getDeviceIndexWithPrimaryContext().has_value(); }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device_count() > 0; }
  bool hasPrimaryContext(DeviceIndex device) const override { return cuda::hasPrimaryContext(device); }
  DeviceIndex deviceCount() const override { return device_count(); }
  void setCurrentDevice(DeviceIndex device) const override { set_device(device); }
  DeviceIndex getCurrentDevice() const override { return current_device(); }
  DeviceIndex exchangeDevice(DeviceIndex device) const override {
    return device < 0 ? DeviceIndex{-1} : ExchangeDevice(device);
  }
  DeviceIndex maybeExchangeDevice(DeviceIndex device) const override {
    return device < 0 ? DeviceIndex{-1} : MaybeExchangeDevice(device);
  }

  bool isCurrentStreamCapturing() const override {
    return cuda::hasPrimaryContext(current_device()) && currentStreamCaptureStatusMayInitCtx() != CaptureStatus::None;
  }
  Device getDeviceFromPtr(void* data) const override { return at::cuda::getDeviceFromPtr(data); }
  bool isPinnedPtr(const void* data) const override { return at::cuda::is_pinned_ptr(data); }
  Allocator* getPinnedMemoryAllocator() const override { return at::cuda::getPinnedMemoryAllocator(); }

  const at::Generator& getDefaultGenerator(DeviceIndex device) const override {
    return generators().default_generator(index_or_current(device));
  }
  at::Generator getNewGenerator(DeviceIndex device) const override {
    return generators().new_generator(index_or_current(device));
  }

  std::string deviceName(DeviceIndex device) const override { return at::cuda::get_device_name(device); }
  std::pair<int, int> deviceCapability(DeviceIndex device) const override {
    return at::cuda::get_device_capability(device);
  }
  std::pair<size_t, size_t> memoryInfo(DeviceIndex device) const override { return at::cuda::mem_get_info(device); }
  bool canDeviceAccessPeer(DeviceIndex device, DeviceIndex peer) const override {
    return at::cuda::canDeviceAccessPeer(device, peer);
  }
  void ipcCollect() const override { ipc::collect(); }
  void nvtxMark(const char* message) const override { nvtx::mark(message); }
  int nvtxRangePush(const char* message) const override { return nvtx::range_push(message); }
  int nvtxRangePop() const override { return nvtx::range_pop(); }
  uint64_t nvtxRangeStart(const char* message) const override { return nvtx::range_start(message); }
  void nvtxRangeEnd(uint64_t range) const override { nvtx::range_end(range); }
  int64_t libraryVersion(Library library) const override {
    if (library == Library::kRuntime) {
      int version = 0;
      C10_CUDA_CHECK(cudaRuntimeGetVersion(&version));
      return version;
    }
    const auto version = g_versions[static_cast<size_t>(library)].load();
    return version != nullptr ? version() : 0;
  }
};

C10_REGISTER_GUARD_IMPL(CUDA, impl::CUDAGuardImpl);

[[maybe_unused]] const bool g_registered = [] {
  at::detail::registerAcceleratorHooks(DeviceType::CUDA, new Hooks);
  return true;
}();

}  // namespace

void register_generators(const GeneratorFunctions& functions) {
  g_generators.store(new GeneratorFunctions(functions));
}

void register_library(Library library, int64_t (*version)()) {
  g_versions[static_cast<size_t>(library)].store(version);
}

}  // namespace c10::cuda
