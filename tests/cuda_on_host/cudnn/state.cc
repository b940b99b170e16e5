#include "tests/cuda_on_host/cudnn/state.h"

#include <algorithm>
#include <mutex>

#include "tests/cuda_on_host/runtime/standin.h"

namespace cudnn_standin {
namespace {

struct State {
  std::mutex mutex;
  Options options;
  uint64_t calls = 0, plans = 0, executions = 0, last_notes = 0;
  std::map<const void*, std::shared_ptr<Descriptor>> descriptors;
  std::map<const void*, std::unique_ptr<Handle>> handles;
};
State& state() {
  static State* const it = new State;  // threads may still be in a call when the process ends
  return *it;
}
std::string& last_error() {
  static thread_local std::string text;
  return text;
}

}  // namespace

void reset(const Options& options) {
  const std::lock_guard lock(state().mutex);
  state().options = options;
  state().calls = state().plans = state().executions = state().last_notes = 0;
}
uint64_t calls() {
  const std::lock_guard lock(state().mutex);
  return state().calls;
}
uint64_t plans() {
  const std::lock_guard lock(state().mutex);
  return state().plans;
}
uint64_t executions() {
  const std::lock_guard lock(state().mutex);
  return state().executions;
}
uint64_t last_notes() {
  const std::lock_guard lock(state().mutex);
  return state().last_notes;
}
size_t live_handles() {
  const std::lock_guard lock(state().mutex);
  return state().handles.size();
}
size_t live_descriptors() {
  const std::lock_guard lock(state().mutex);
  return state().descriptors.size() + live_rnn_descriptors();
}

Busy::Busy(std::atomic<int>& running, const char* what) : running_(running) {
  if (running_.fetch_add(1) != 0) report(std::string("two threads run ") + what + " at once");
}

void overwrite(void* workspace, size_t bytes) {
  constexpr size_t kEnd = size_t{4} << 10;
  std::memset(workspace, 0xFF, std::min(bytes, kEnd));
  if (bytes > kEnd) std::memset(static_cast<char*>(workspace) + bytes - kEnd, 0xFF, kEnd);
}

double Descriptor::number(int name, double missing) const {
  const auto place = values.find(name);
  if (place == values.end()) return missing;
  return place->second.type == CUDNN_TYPE_FLOAT ? get<float>(name, 0) : get<double>(name, 0);
}

const Descriptor* Descriptor::part(int name) const {
  const auto place = values.find(name);
  return place == values.end() || place->second.parts.empty() ? nullptr : place->second.parts[0].get();
}

std::shared_ptr<Descriptor> find_descriptor(const void* descriptor) {
  const std::lock_guard lock(state().mutex);
  const auto place = state().descriptors.find(descriptor);
  return place == state().descriptors.end() ? nullptr : place->second;
}
Handle* find_handle(const void* handle) {
  const std::lock_guard lock(state().mutex);
  const auto place = state().handles.find(handle);
  return place == state().handles.end() ? nullptr : place->second.get();
}

const Options& options() {
  return state().options;
}
void count_plan() {
  const std::lock_guard lock(state().mutex);
  ++state().plans;
}
uint64_t count_execution(uint64_t notes) {
  const std::lock_guard lock(state().mutex);
  state().last_notes = notes;
  return state().executions++;
}

cudnnStatus_t enter() {
  const std::lock_guard lock(state().mutex);
  const auto number = static_cast<int64_t>(state().calls++);
  return number == state().options.fail_call ? state().options.fail_with : CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t refuse(cudnnStatus_t status, const std::string& why) {
  last_error() = why;
  return status;
}
void report(const std::string& why) {
  cuda_standin::report_misuse("cuDNN: " + why);
}

}  // namespace cudnn_standin

using cudnn_standin::Descriptor;
using cudnn_standin::state;

extern "C" {

size_t cudnnGetVersion() {
  return CUDNN_VERSION;
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (static_cast<int>(status)) {
#define KD_STATUS(name) \
  case name:            \
    return #name;
    KD_STATUS(CUDNN_STATUS_SUCCESS)
    KD_STATUS(CUDNN_STATUS_NOT_INITIALIZED)
    KD_STATUS(CUDNN_STATUS_BAD_PARAM)
    KD_STATUS(CUDNN_STATUS_BAD_PARAM_NULL_POINTER)
    KD_STATUS(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER)
    KD_STATUS(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED)
    KD_STATUS(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE)
    KD_STATUS(CUDNN_STATUS_NOT_SUPPORTED)
    KD_STATUS(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN)
    KD_STATUS(CUDNN_STATUS_INTERNAL_ERROR)
    KD_STATUS(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED)
    KD_STATUS(CUDNN_STATUS_EXECUTION_FAILED)
#undef KD_STATUS
    default:
      return "CUDNN_UNKNOWN_STATUS";
  }
}

void cudnnGetLastErrorString(char* message, size_t size) {
  if (message == nullptr || size == 0) return;
  std::string& text = cudnn_standin::last_error();
  const size_t length = std::min(size - 1, text.size());
  std::memcpy(message, text.data(), length);
  message[length] = '\0';
  text.clear();
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* made) {
  if (const cudnnStatus_t status = cudnn_standin::enter(); status != CUDNN_STATUS_SUCCESS) return status;
  if (made == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  auto handle = std::make_unique<cudnn_standin::Handle>();
  if (cudaGetDevice(&handle->device) != cudaSuccess) return CUDNN_STATUS_NOT_INITIALIZED;
  const std::lock_guard lock(state().mutex);
  *made = reinterpret_cast<cudnnHandle_t>(handle.get());
  state().handles.emplace(handle.get(), std::move(handle));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  const std::lock_guard lock(state().mutex);
  return state().handles.erase(handle) != 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (const cudnnStatus_t status = cudnn_standin::enter(); status != CUDNN_STATUS_SUCCESS) return status;
  cudnn_standin::Handle* const found = cudnn_standin::find_handle(handle);
  if (found == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  found->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  if (const cudnnStatus_t status = cudnn_standin::enter(); status != CUDNN_STATUS_SUCCESS) return status;
  const cudnn_standin::Handle* const found = cudnn_standin::find_handle(handle);
  if (found == nullptr || stream == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  *stream = found->stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* made) {
  if (const cudnnStatus_t status = cudnn_standin::enter(); status != CUDNN_STATUS_SUCCESS) return status;
  if (made == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (static_cast<int>(type) < 0 || static_cast<int>(type) > CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR)
    return cudnn_standin::refuse(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "a type that is none");
  auto descriptor = std::make_shared<Descriptor>();
  descriptor->type = type;
  const std::lock_guard lock(state().mutex);
  *made = descriptor.get();
  state().descriptors.emplace(descriptor.get(), descriptor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  const std::lock_guard lock(state().mutex);
  if (state().descriptors.erase(descriptor) != 0) return CUDNN_STATUS_SUCCESS;
  cudnn_standin::report("cudnnBackendDestroyDescriptor: a descriptor that is none, or was destroyed");
  return CUDNN_STATUS_BAD_PARAM;
}

}  // extern "C"
