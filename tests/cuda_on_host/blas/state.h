// What the sources of the stand-in share: its lock, the objects that are alive, and what they hold.
#pragma once

#include <cublas_api.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/cuda_on_host/blas/standin.h"

namespace cublas_standin {

enum class Kind { kMatmul, kLayout, kPreference };

// An attribute as the library documents it: its size is that of the value, which is a whole number of so many bytes.
struct Attribute {
  int name;
  size_t size;
  uint64_t initial;
};

// Values by name, each in the size that the library documents.
struct Descriptor {
  Kind kind = Kind::kMatmul;
  std::map<int, std::vector<char>> values;

  template <class T>
  void set(int name, T value) {
    std::vector<char>& bytes = values.at(name);
    bytes.assign(sizeof value, 0);
    std::memcpy(bytes.data(), &value, sizeof value);
  }
  template <class T>
  T get(int name) const {
    T value{};
    std::memcpy(&value, values.at(name).data(), sizeof value);
    return value;
  }
};

// A handle of either library.
struct Handle {
  int device = 0;
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
};

// Null where no such thing is alive, which is reported as misuse of `call`.
const Descriptor* find_descriptor(const void* descriptor, Kind kind, const char* call);
Handle* find_handle(const void* handle, const char* call);

cublasStatus_t new_handle(void** made);
cublasStatus_t delete_handle(void* handle);
Descriptor* new_descriptor(Kind kind);

const Options& options();
void count_heuristic_call();

// Counts a call, and says what it returns at once: CUBLAS_STATUS_SUCCESS where it goes on.
cublasStatus_t enter(const char* call);

// Reports misuse and returns CUBLAS_STATUS_INVALID_VALUE.
cublasStatus_t refuse(const char* call, const std::string& why);

// A call with a live handle.
template <class Body>
cublasStatus_t with_handle(cublasHandle_t handle, const char* call, const Body& body) {
  if (const cublasStatus_t status = enter(call); status != CUBLAS_STATUS_SUCCESS) return status;
  Handle* const h = find_handle(handle, call);
  return h == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : body(*h);
}

}  // namespace cublas_standin
