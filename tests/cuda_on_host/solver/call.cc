#include "tests/cuda_on_host/solver/call.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "tests/cuda_on_host/runtime/standin.h"

namespace cusolver_standin {
namespace {

struct Handle {
  int device = 0;
  cudaStream_t stream = nullptr;
};

struct State {
  std::mutex mutex;
  Options options;
  uint64_t calls = 0;
  std::map<const void*, std::unique_ptr<Handle>> handles;
  std::set<const void*> params, jacobi;
};
State& state() {
  static State* const it = new State;  // threads may still be in a call when the process ends
  return *it;
}

cusolverStatus_t enter() {
  const std::lock_guard lock(state().mutex);
  const auto number = static_cast<int64_t>(state().calls++);
  return number == state().options.fail_call ? state().options.fail_with : CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t refuse(const char* call, const std::string& why) {
  cuda_standin::report_misuse(std::string(call) + ": " + why);
  return CUSOLVER_STATUS_INVALID_VALUE;
}

Handle* find(const void* handle) {
  const std::lock_guard lock(state().mutex);
  const auto place = state().handles.find(handle);
  return place == state().handles.end() ? nullptr : place->second.get();
}

// Objects that are nothing but their address.
cusolverStatus_t make(std::set<const void*> State::*all, void** made) {
  if (const cusolverStatus_t status = enter(); status != CUSOLVER_STATUS_SUCCESS) return status;
  if (made == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *made = new char;
  const std::lock_guard lock(state().mutex);
  (state().*all).insert(*made);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t destroy(std::set<const void*> State::*all, void* object, const char* call) {
  {
    const std::lock_guard lock(state().mutex);
    if ((state().*all).erase(object) == 1) {
      delete static_cast<char*>(object);
      return CUSOLVER_STATUS_SUCCESS;
    }
  }
  return refuse(call, "an object that is none, or was destroyed");
}
bool is_alive(std::set<const void*> State::*all, const void* object) {
  const std::lock_guard lock(state().mutex);
  return (state().*all).count(object) == 1;
}

}  // namespace

void reset(const Options& options) {
  const std::lock_guard lock(state().mutex);
  state().options = options;
  state().calls = 0;
}
uint64_t calls() {
  const std::lock_guard lock(state().mutex);
  return state().calls;
}
size_t live_handles() {
  const std::lock_guard lock(state().mutex);
  return state().handles.size();
}
size_t live_params() {
  const std::lock_guard lock(state().mutex);
  return state().params.size() + state().jacobi.size();
}

size_t bytes_of(cudaDataType type) {
  return type == CUDA_R_32F ? 4 : type == CUDA_C_64F ? 16 : 8;
}
bool is_complex(cudaDataType type) {
  return type == CUDA_C_32F || type == CUDA_C_64F;
}
cudaDataType real_of(cudaDataType type) {
  return type == CUDA_C_32F ? CUDA_R_32F : type == CUDA_C_64F ? CUDA_R_64F : type;
}

Sizes workspace_for(int64_t m, int64_t n, cudaDataType type) {
  const auto elements = static_cast<size_t>(m + 3 * n + 5);
  return {elements * bytes_of(type), static_cast<size_t>(n) + 7};
}

void spoil(void* data, size_t bytes) {
  if (bytes > 0) std::memset(data, 0xFF, bytes);
}

Call::Call(const char* name, cusolverDnHandle_t handle) : name_(name), status_(enter()) {
  if (status_ != CUSOLVER_STATUS_SUCCESS) return;
  const Handle* const h = find(handle);
  int device = -1;
  require(h != nullptr, "a handle that is none, or was destroyed");
  if (h == nullptr) return;
  if (cudaGetDevice(&device) != cudaSuccess) {
    status_ = CUSOLVER_STATUS_NOT_INITIALIZED;
    return;
  }
  require(device == h->device, "the handle is another device's");
  stream_ = h->stream;
}

Call& Call::require(bool condition, const std::string& why) {
  if (status_ == CUSOLVER_STATUS_SUCCESS && !condition) status_ = refuse(name_, why);
  return *this;
}
Call& Call::supported(bool condition) {
  if (status_ == CUSOLVER_STATUS_SUCCESS && !condition) status_ = CUSOLVER_STATUS_INVALID_VALUE;
  return *this;
}
Call& Call::params(cusolverDnParams_t params) {
  return require(is_alive(&State::params, params), "parameters that are none, or were destroyed");
}
Call& Call::jacobi(gesvdjInfo_t params) {
  return require(is_alive(&State::jacobi, params), "parameters that are none, or were destroyed");
}
Call& Call::types(std::initializer_list<cudaDataType> all) {
  for (const cudaDataType type : all) {
    const bool known = type == CUDA_R_32F || type == CUDA_R_64F || type == CUDA_C_32F || type == CUDA_C_64F;
    require(known && type == *all.begin(), "types of operands and of the computation");
  }
  return *this;
}
Call& Call::not_negative(std::initializer_list<int64_t> sizes) {
  for (const int64_t size : sizes) require(size >= 0, "a negative size");
  return *this;
}
Call& Call::matrix(const char* what, const void* data, int64_t rows, int64_t columns, int64_t ld, cudaDataType type,
                   int64_t count) {
  not_negative({rows, columns, count});
  require(ld >= std::max<int64_t>(rows, 1), std::string("leading dimension of ") + what);
  if (status_ != CUSOLVER_STATUS_SUCCESS || rows == 0 || columns == 0 || count == 0) return *this;
  const int64_t elements = (count - 1) * ld * columns + (columns - 1) * ld + rows;
  return array(what, data, static_cast<size_t>(elements) * bytes_of(type));
}
Call& Call::array(const char* what, const void* data, size_t bytes) {
  if (status_ != CUSOLVER_STATUS_SUCCESS || bytes == 0) return *this;
  return require(cuda_standin::device_accessible(data, bytes), std::string(what) + " leaves the device's memory");
}
Call& Call::workspace(Sizes asked, void* device, size_t device_bytes, void* host, size_t host_bytes) {
  require(device_bytes == asked.device && host_bytes == asked.host, "another workspace than was asked for");
  require(asked.host == 0 || (host != nullptr && !cuda_standin::device_accessible(host)),
          "the workspace of the host is not the host's");
  array("the workspace", device, device_bytes);
  if (status_ != CUSOLVER_STATUS_SUCCESS) return *this;
  spoil(host, host_bytes);
  work_ = device;
  work_bytes_ = device_bytes;
  return *this;
}
Call& Call::elements(Sizes asked, void* device, int64_t size, cudaDataType type) {
  require(size >= 0 && static_cast<size_t>(size) * bytes_of(type) == asked.device,
          "another workspace than was asked for");
  array("the workspace", device, asked.device);
  work_ = device;
  work_bytes_ = asked.device;
  return *this;
}
cusolverStatus_t Call::run(std::function<void()> work) {
  if (status_ != CUSOLVER_STATUS_SUCCESS) return status_;
  const cudaError_t status =
      cuda_standin::enqueue(stream_, name_, [work = std::move(work), memory = work_, bytes = work_bytes_] {
        spoil(memory, bytes);
        lapack::use_one_thread();
        work();
      });
  return status == cudaSuccess ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_EXECUTION_FAILED;
}
cusolverStatus_t Call::answer(Sizes sizes, size_t* device, size_t* host) {
  require(device != nullptr && host != nullptr, "nowhere to write the sizes to");
  if (status_ != CUSOLVER_STATUS_SUCCESS) return status_;
  *device = sizes.device;
  *host = sizes.host;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t Call::answer(Sizes sizes, cudaDataType type, int* elements) {
  require(elements != nullptr, "nowhere to write the size to");
  if (status_ != CUSOLVER_STATUS_SUCCESS) return status_;
  *elements = static_cast<int>(sizes.device / bytes_of(type));
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace cusolver_standin

using cusolver_standin::State;

extern "C" {

cusolverStatus_t cusolverGetVersion(int* version) {
  if (version == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *version = CUSOLVER_VERSION;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* made) {
  if (const cusolverStatus_t status = cusolver_standin::enter(); status != CUSOLVER_STATUS_SUCCESS) return status;
  if (made == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  auto handle = std::make_unique<cusolver_standin::Handle>();
  if (cudaGetDevice(&handle->device) != cudaSuccess) return CUSOLVER_STATUS_NOT_INITIALIZED;
  *made = reinterpret_cast<cusolverDnHandle_t>(handle.get());
  const std::lock_guard lock(cusolver_standin::state().mutex);
  cusolver_standin::state().handles.emplace(*made, std::move(handle));
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  if (cusolver_standin::find(handle) == nullptr)
    return cusolver_standin::refuse(__func__, "a handle that is none, or was destroyed");
  const std::lock_guard lock(cusolver_standin::state().mutex);
  cusolver_standin::state().handles.erase(handle);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  if (const cusolverStatus_t status = cusolver_standin::enter(); status != CUSOLVER_STATUS_SUCCESS) return status;
  cusolver_standin::Handle* const h = cusolver_standin::find(handle);
  if (h == nullptr) return cusolver_standin::refuse(__func__, "a handle that is none, or was destroyed");
  h->stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t* stream) {
  if (const cusolverStatus_t status = cusolver_standin::enter(); status != CUSOLVER_STATUS_SUCCESS) return status;
  const cusolver_standin::Handle* const h = cusolver_standin::find(handle);
  if (h == nullptr) return cusolver_standin::refuse(__func__, "a handle that is none, or was destroyed");
  *stream = h->stream;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* made) {
  return cusolver_standin::make(&State::params, reinterpret_cast<void**>(made));
}
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params) {
  return cusolver_standin::destroy(&State::params, params, __func__);
}
cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t* made) {
  return cusolver_standin::make(&State::jacobi, reinterpret_cast<void**>(made));
}
cusolverStatus_t cusolverDnDestroyGesvdjInfo(gesvdjInfo_t params) {
  return cusolver_standin::destroy(&State::jacobi, params, __func__);
}

}  // extern "C"
