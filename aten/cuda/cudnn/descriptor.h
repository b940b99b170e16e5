// Descriptors of cuDNN's graph interface: attributes by name, finalized before they are used.
#pragma once

#include <cudnn_graph.h>

#include <cstdint>
#include <string>
#include <utility>

#include "c10/macros/macros.h"

namespace at::cuda::cudnn {

/// Throws c10::Error "cuDNN error: CUDNN_STATUS_... when calling `cudnnCreate`" with what the library says of it;
/// forgets the runtime's error, so that no later call reports it again.
[[noreturn]] void throw_cudnn_error(cudnnStatus_t status, const char* call);
inline void check(cudnnStatus_t status, const char* call) {
  if (C10_UNLIKELY(status != CUDNN_STATUS_SUCCESS)) throw_cudnn_error(status, call);
}
/// Whether the library says that it has not what was asked for, or cannot compile it.
inline bool is_unsupported(cudnnStatus_t status) {
  return CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED ||
         status == CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED;
}

/// Movable only.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }

  cudnnBackendDescriptor_t get() const { return value_; }

  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T* values, int64_t count) {
    set_any(name, type, values, count);
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, T value) {
    set_any(name, type, &value, 1);
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.get());
  }
  /// A number of type double or float, as the operation has it.
  void set_number(cudnnBackendAttributeName_t name, bool is_double, double value);

  /// At most `room` values, and how many there are in all.
  int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, void* values, int64_t room) const;

  void finalize();
  /// False where the library has not what it describes.
  bool try_finalize();

 private:
  void set_any(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const void* values, int64_t count);

  cudnnBackendDescriptor_t value_ = nullptr;
};

}  // namespace at::cuda::cudnn
