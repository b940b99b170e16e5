#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "tests/cuda_on_host/cusparse/standin.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace {

struct Handle {
  cudaStream_t stream = nullptr;
};

std::mutex g_mutex;
std::map<cusparseHandle_t, std::unique_ptr<Handle>>& handles() {
  static auto* const all = new std::map<cusparseHandle_t, std::unique_ptr<Handle>>;
  return *all;
}

cusparseStatus_t with(const char* function, cusparseHandle_t handle, auto&& use) {
  const std::lock_guard lock(g_mutex);
  const auto found = handles().find(handle);
  if (found == handles().end()) {
    cuda_standin::report_misuse(std::string(function) + ": a handle that is none, or was destroyed");
    return CUSPARSE_STATUS_NOT_INITIALIZED;
  }
  use(found);
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace

namespace cusparse_standin {

size_t live_handles() {
  const std::lock_guard lock(g_mutex);
  return handles().size();
}
cudaStream_t stream_of(cusparseHandle_t handle) {
  cudaStream_t stream = nullptr;
  with("stream_of", handle, [&](auto found) { stream = found->second->stream; });
  return stream;
}

}  // namespace cusparse_standin

extern "C" {

cusparseStatus_t cusparseCreate(cusparseHandle_t* handle) {
  if (handle == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return CUSPARSE_STATUS_NOT_INITIALIZED;
  auto made = std::make_unique<Handle>();
  *handle = reinterpret_cast<cusparseHandle_t>(made.get());
  const std::lock_guard lock(g_mutex);
  handles().emplace(*handle, std::move(made));
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) {
  return with(__func__, handle, [](auto found) { handles().erase(found); });
}
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
  return with(__func__, handle, [&](auto found) { found->second->stream = stream; });
}
cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t* stream) {
  if (stream == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  return with(__func__, handle, [&](auto found) { *stream = found->second->stream; });
}
const char* cusparseGetErrorString(cusparseStatus_t status) {
  switch (status) {
    case CUSPARSE_STATUS_SUCCESS:
      return "success";
    case CUSPARSE_STATUS_NOT_INITIALIZED:
      return "initialization error";
    case CUSPARSE_STATUS_ALLOC_FAILED:
      return "insufficient resources";
    case CUSPARSE_STATUS_INVALID_VALUE:
      return "invalid value";
    default:
      return "another error";
  }
}

}  // extern "C"
