#include "tests/cuda_on_host/blas/state.h"

#include <cublasLt.h>

#include <memory>
#include <mutex>

#include "tests/cuda_on_host/runtime/own_time.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace cublas_standin {
namespace {

struct State {
  std::mutex mutex;
  Options options;
  uint64_t calls = 0, heuristic_calls = 0;
  std::map<const void*, std::unique_ptr<Descriptor>> descriptors;
  std::map<const void*, std::unique_ptr<Handle>> handles;
};
State& state() {
  static State* const it = new State;  // threads may still be in a call when the process ends
  return *it;
}

cublasStatus_t destroy(const void* descriptor, Kind kind, const char* call) {
  const cuda_standin::OwnTime own_time;
  if (descriptor == nullptr) return CUBLAS_STATUS_SUCCESS;
  if (find_descriptor(descriptor, kind, call) == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const std::lock_guard lock(state().mutex);
  state().descriptors.erase(descriptor);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

void reset(const Options& options) {
  const std::lock_guard lock(state().mutex);
  state().options = options;
  state().calls = state().heuristic_calls = 0;
}
uint64_t calls() {
  const std::lock_guard lock(state().mutex);
  return state().calls;
}
uint64_t heuristic_calls() {
  const std::lock_guard lock(state().mutex);
  return state().heuristic_calls;
}
size_t live_handles() {
  const std::lock_guard lock(state().mutex);
  return state().handles.size();
}
size_t live_descriptors() {
  const std::lock_guard lock(state().mutex);
  return state().descriptors.size();
}

const Options& options() {
  return state().options;
}
void count_heuristic_call() {
  const std::lock_guard lock(state().mutex);
  ++state().heuristic_calls;
}

cublasStatus_t enter(const char*) {
  const std::lock_guard lock(state().mutex);
  const auto number = static_cast<int64_t>(state().calls++);
  return number == state().options.fail_call ? state().options.fail_with : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t refuse(const char* call, const std::string& why) {
  cuda_standin::report_misuse(std::string(call) + ": " + why);
  return CUBLAS_STATUS_INVALID_VALUE;
}

const Descriptor* find_descriptor(const void* descriptor, Kind kind, const char* call) {
  if (descriptor == nullptr) return nullptr;
  const std::lock_guard lock(state().mutex);
  const auto place = state().descriptors.find(descriptor);
  if (place != state().descriptors.end() && place->second->kind == kind) return place->second.get();
  cuda_standin::report_misuse(std::string(call) + ": a descriptor that is none, or was destroyed");
  return nullptr;
}

Descriptor* new_descriptor(Kind kind) {
  auto made = std::make_unique<Descriptor>();
  made->kind = kind;
  Descriptor* const d = made.get();
  const std::lock_guard lock(state().mutex);
  state().descriptors.emplace(d, std::move(made));
  return d;
}

Handle* find_handle(const void* handle, const char* call) {
  if (handle == nullptr) return nullptr;
  const std::lock_guard lock(state().mutex);
  const auto place = state().handles.find(handle);
  if (place != state().handles.end()) return place->second.get();
  cuda_standin::report_misuse(std::string(call) + ": a handle that is none, or was destroyed");
  return nullptr;
}

cublasStatus_t new_handle(void** made) {
  if (made == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  auto handle = std::make_unique<Handle>();
  if (cudaGetDevice(&handle->device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *made = handle.get();
  const std::lock_guard lock(state().mutex);
  state().handles.emplace(handle.get(), std::move(handle));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t delete_handle(void* handle) {
  if (handle == nullptr || find_handle(handle, "destruction of a handle") == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  const std::lock_guard lock(state().mutex);
  state().handles.erase(handle);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace cublas_standin

using cublas_standin::Kind;

extern "C" {

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) {
  return cublas_standin::destroy(d, Kind::kMatmul, __func__);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t d) {
  return cublas_standin::destroy(d, Kind::kLayout, __func__);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t d) {
  return cublas_standin::destroy(d, Kind::kPreference, __func__);
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* made) {
  if (const cublasStatus_t status = cublas_standin::enter(__func__); status != CUBLAS_STATUS_SUCCESS) return status;
  return cublas_standin::new_handle(reinterpret_cast<void**>(made));
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return cublas_standin::delete_handle(handle);
}
size_t cublasLtGetVersion() {
  return CUBLAS_VERSION;
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "unrecognized status";
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "the function requires an architectural feature absent from the device";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "an access to GPU memory space failed";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the function failed to launch on the GPU";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "an internal operation failed";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the requested functionality is not supported";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "the license check failed";
  }
  return "unrecognized status";
}

}  // extern "C"
