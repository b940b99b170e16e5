// How a function of the stand-in checks its arguments and queues its work.
#pragma once

#include <cusolverDn.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>

#include "aten/cpu/lapack/lapack.h"
#include "tests/cuda_on_host/solver/standin.h"

namespace cusolver_standin {

namespace lapack = at::cpu::lapack;

/// Bytes beside the operands.
struct Sizes {
  size_t device, host;
};
/// What a function asks for that works on an m x n matrix of such elements.
Sizes workspace_for(int64_t m, int64_t n, cudaDataType type);

size_t bytes_of(cudaDataType type);
bool is_complex(cudaDataType type);
cudaDataType real_of(cudaDataType type);

template <class T>
struct Tag {
  using type = T;
};
/// f(Tag<T>) with LAPACK's type of elements.
template <class F>
void visit(cudaDataType type, const F& f) {
  switch (type) {
    case CUDA_R_32F:
      return f(Tag<float>{});
    case CUDA_R_64F:
      return f(Tag<double>{});
    case CUDA_C_32F:
      return f(Tag<c10::complex<float>>{});
    default:
      return f(Tag<c10::complex<double>>{});
  }
}

/// One call: checks in the order in which they stand, of which the first that fails is reported and decides the status.
///
///   return Call(__func__, handle).matrix("A", a, m, n, lda, type).info(info).run([=] { ... });
class Call {
 public:
  Call(const char* name, cusolverDnHandle_t handle);
  /// Reports misuse.
  Call& require(bool condition, const std::string& why);
  /// Something that the library refuses, and says so.
  Call& supported(bool condition);
  Call& params(cusolverDnParams_t params);
  Call& jacobi(gesvdjInfo_t params);
  /// All the same, and one of float, double and complex numbers of these.
  Call& types(std::initializer_list<cudaDataType> all);
  Call& not_negative(std::initializer_list<int64_t> sizes);
  Call& matrix(const char* what, const void* data, int64_t rows, int64_t columns, int64_t ld, cudaDataType type,
               int64_t count = 1);
  Call& array(const char* what, const void* data, size_t bytes);
  Call& info(const int* data, int64_t count = 1) {
    return array("info", data, static_cast<size_t>(count) * sizeof(int));
  }
  Call& workspace(Sizes asked, void* device, size_t device_bytes, void* host, size_t host_bytes);
  /// Of functions with a workspace on the device of so many elements.
  Call& elements(Sizes asked, void* device, int64_t size, cudaDataType type);
  cusolverStatus_t run(std::function<void()> work);
  /// For functions that say how large a workspace is.
  cusolverStatus_t answer(Sizes sizes, size_t* device, size_t* host);
  cusolverStatus_t answer(Sizes sizes, cudaDataType type, int* elements);

 private:
  const char* name_;
  cusolverStatus_t status_;
  cudaStream_t stream_ = nullptr;
  void* work_ = nullptr;
  size_t work_bytes_ = 0;
};

/// All bits 1: NaN.
void spoil(void* data, size_t bytes);

}  // namespace cusolver_standin
