#include "c10/cuda/frontend.h"

#include <mutex>

#include "c10/core/accelerator.h"
#include "c10/core/device_guard.h"
#include "c10/cuda/hooks.h"
#include "c10/cuda/sync_debug_mode.h"
#include "c10/util/exception.h"

namespace torch::cuda {
namespace {

using c10::DeviceIndex;
using c10::cuda::CUDAHooks;
using c10::cuda::SyncDebugMode;

const CUDAHooks& hooks() {
  TORCH_CHECK(is_available(), "No CUDA GPUs are available");
  return *c10::cuda::registered_hooks();
}

const c10::impl::DeviceGuardImplInterface& guard_impl() {
  hooks();
  return *c10::impl::getDeviceGuardImpl(c10::kCUDA);
}

c10::Device device_at(DeviceIndex device) {
  return c10::Device(c10::kCUDA, device >= 0 ? device : hooks().getCurrentDevice());
}

void seed_device(const CUDAHooks& cuda, DeviceIndex device, uint64_t seed) {
  at::Generator generator = cuda.getDefaultGenerator(device);
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed);
}

}  // namespace

DeviceIndex device_count() noexcept {
  const CUDAHooks* cuda = c10::cuda::registered_hooks();
  return cuda != nullptr ? cuda->deviceCount() : DeviceIndex{0};
}

bool cudnn_is_available() noexcept {
  return is_available() && c10::cuda::library_version(c10::cuda::Library::kCuDNN) > 0;
}

bool is_initialized() {
  const CUDAHooks* cuda = c10::cuda::registered_hooks();
  return cuda != nullptr && cuda->isInitialized();
}

void init() {
  hooks().init();
}

void manual_seed(uint64_t seed) {
  if (is_available()) seed_device(hooks(), hooks().getCurrentDevice(), seed);
}

void manual_seed_all(uint64_t seed) {
  for (DeviceIndex device = 0; device < device_count(); ++device) seed_device(hooks(), device, seed);
}

void seed() {
  manual_seed(c10::detail::getNonDeterministicRandom());
}

void seed_all() {
  manual_seed_all(c10::detail::getNonDeterministicRandom());
}

uint64_t initial_seed() {
  const CUDAHooks& cuda = hooks();
  at::Generator generator = cuda.getDefaultGenerator(cuda.getCurrentDevice());
  std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.current_seed();
}

void synchronize(int64_t device_index) {
  const auto& cuda = guard_impl();
  TORCH_CHECK(device_index < device_count(), "Device index out of range: ", device_index);
  cuda.synchronizeDevice(device_at(static_cast<DeviceIndex>(device_index < 0 ? -1 : device_index)).index());
}

DeviceIndex current_device() {
  return hooks().getCurrentDevice();
}
void set_device(DeviceIndex device) {
  hooks().setCurrentDevice(device);
}

std::string get_device_name(DeviceIndex device) {
  return hooks().deviceName(device);
}
std::pair<int, int> get_device_capability(DeviceIndex device) {
  return hooks().deviceCapability(device);
}
std::pair<size_t, size_t> mem_get_info(DeviceIndex device) {
  return hooks().memoryInfo(device);
}
bool can_device_access_peer(DeviceIndex device, DeviceIndex peer_device) {
  return hooks().canDeviceAccessPeer(device, peer_device);
}

void ipc_collect() {
  hooks().ipcCollect();
}

void set_sync_debug_mode(int debug_mode) {
  TORCH_CHECK(debug_mode >= 0 && debug_mode <= 2, "set_sync_debug_mode: the mode is 0, 1 or 2, got ", debug_mode);
  c10::cuda::warning_state().set_sync_debug_mode(static_cast<SyncDebugMode>(debug_mode));
}

void set_sync_debug_mode(std::string_view debug_mode) {
  constexpr std::string_view kNames[] = {"default", "warn", "error"};
  for (int mode = 0; mode < 3; ++mode) {
    if (debug_mode == kNames[mode]) return set_sync_debug_mode(mode);
  }
  TORCH_CHECK(false, "set_sync_debug_mode: the mode is `default`, `warn` or `error`, got `", debug_mode, "`");
}

int get_sync_debug_mode() {
  return static_cast<int>(c10::cuda::warning_state().get_sync_debug_mode());
}

c10::Stream current_stream(DeviceIndex device) {
  return guard_impl().getStream(device_at(device));
}
c10::Stream default_stream(DeviceIndex device) {
  return guard_impl().getDefaultStream(device_at(device));
}
c10::Stream stream_from_pool(int priority, DeviceIndex device) {
  return guard_impl().getNewStream(device_at(device), priority);
}

void set_stream(c10::Stream stream) {
  const auto& cuda = guard_impl();
  TORCH_CHECK(stream.device_type() == c10::kCUDA, "set_stream: expected a stream of a CUDA device, got one of ",
              stream.device());
  cuda.setDevice(stream.device());
  cuda.exchangeStream(stream);
}

namespace nvtx {

void mark(const std::string& message) {
  if (const CUDAHooks* cuda = c10::cuda::registered_hooks()) cuda->nvtxMark(message.c_str());
}
int range_push(const std::string& message) {
  const CUDAHooks* cuda = c10::cuda::registered_hooks();
  return cuda != nullptr ? cuda->nvtxRangePush(message.c_str()) : -1;
}
int range_pop() {
  const CUDAHooks* cuda = c10::cuda::registered_hooks();
  return cuda != nullptr ? cuda->nvtxRangePop() : -1;
}
uint64_t range_start(const std::string& message) {
  const CUDAHooks* cuda = c10::cuda::registered_hooks();
  return cuda != nullptr ? cuda->nvtxRangeStart(message.c_str()) : 0;
}
void range_end(uint64_t range_id) {
  if (const CUDAHooks* cuda = c10::cuda::registered_hooks()) cuda->nvtxRangeEnd(range_id);
}

}  // namespace nvtx
}  // namespace torch::cuda
