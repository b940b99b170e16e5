// What calls of the libraries share: types, batches, workspaces.
#pragma once

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cuda/blas/cublas_handle.h"
#include "aten/cuda/solver/handle.h"
#include "aten/cuda/solver/solver_kernels.h"
#include "aten/ops/view/ops.h"
#include "c10/memory/allocator.h"
#include "c10/util/exception.h"

namespace at::cuda::solver {

/// The largest matrices of which the libraries' batched functions take several at once; larger ones fill the device one
/// by one. Not measured yet.
inline constexpr int64_t kSmall = 256;

/// Like these functions the libraries' names tell types by a letter.
#define AT_CUDA_SOLVER_TYPES(F) F(float, S) F(double, D) F(cuComplex, C) F(cuDoubleComplex, Z)

template <class T>
struct Tag {
  using type = T;
};

/// f(Tag<T>) with the library's type of elements.
template <class F>
void visit(ScalarType type, const F& f) {
  switch (type) {
    case ScalarType::Float:
      return f(Tag<float>{});
    case ScalarType::Double:
      return f(Tag<double>{});
    case ScalarType::ComplexFloat:
      return f(Tag<cuComplex>{});
    case ScalarType::ComplexDouble:
      return f(Tag<cuDoubleComplex>{});
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "linalg: not implemented for '", c10::toString(type), "'");
  }
}

inline cudaDataType data_type(ScalarType type) {
  switch (type) {
    case ScalarType::Float:
      return CUDA_R_32F;
    case ScalarType::Double:
      return CUDA_R_64F;
    case ScalarType::ComplexFloat:
      return CUDA_C_32F;
    case ScalarType::ComplexDouble:
      return CUDA_C_64F;
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "linalg: not implemented for '", c10::toString(type), "'");
  }
}

/// The matrices of a tensor.
struct Batch {
  explicit Batch(const Tensor& t)
      : data(static_cast<char*>(t.mutable_data_ptr())),
        rows(checked(t.size(-2))),
        columns(checked(t.size(-1))),
        ld(std::max(rows, 1)),
        bytes(int64_t{rows} * columns * static_cast<int64_t>(t.itemsize())),
        count(bytes == 0 ? 0 : static_cast<int64_t>(t.nbytes()) / bytes) {}
  void* operator[](int64_t i) const { return data + i * bytes; }
  template <class T>
  T* at(int64_t i) const {
    return reinterpret_cast<T*>(data + i * bytes);
  }
  /// Whether a batched function takes them at once.
  bool is_small() const { return count > 1 && count <= INT_MAX && rows <= kSmall && columns <= kSmall; }

  static int checked(int64_t size) {
    TORCH_CHECK(size <= INT_MAX, "linalg: matrices of more than ", INT_MAX, " rows or columns are not supported");
    return static_cast<int>(size);
  }

  char* data;
  int rows, columns, ld;
  int64_t bytes;
  int64_t count;  // 0 where they have no elements
};

/// The addresses of matrices that lie `bytes` apart, in device memory.
class Addresses {
 public:
  Addresses(const void* first, int64_t bytes, int64_t count)
      : memory_(c10::GetAllocator(c10::kCUDA)->allocate(static_cast<size_t>(count) * sizeof(void*))) {
    launch_addresses(static_cast<const char*>(first), bytes, count, static_cast<const char**>(memory_.get()));
  }
  explicit Addresses(const Batch& batch) : Addresses(batch.data, batch.bytes, batch.count) {}
  template <class T>
  T** get() const {
    return static_cast<T**>(memory_.get());
  }

 private:
  c10::DataPtr memory_;
};

/// What a call needs beside its operands.
class Workspace {
 public:
  size_t device_bytes = 0, host_bytes = 0;  // the library says how much
  void allocate() {
    device_ = c10::GetAllocator(c10::kCUDA)->allocate(device_bytes);
    host_.resize(host_bytes);
  }
  void* device() const { return device_.get(); }
  void* host() { return host_.data(); }

 private:
  c10::DataPtr device_;
  std::vector<char> host_;
};

/// An int for each matrix, of functions whose `info` says of arguments only.
inline Tensor scratch_ints(int64_t count, const Tensor& like) {
  return empty_contiguous({count}, ScalarType::Int, like.device());
}
inline int* ints(const Tensor& t) {
  return static_cast<int*>(t.mutable_data_ptr());
}
template <class T>
T* elements(const Tensor& t) {
  return static_cast<T*>(t.mutable_data_ptr());
}

inline cublasFillMode_t triangle(bool upper) {
  return upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
}
inline cublasOperation_t operation(char trans) {
  return trans == 'N' ? CUBLAS_OP_N : trans == 'T' ? CUBLAS_OP_T : CUBLAS_OP_C;
}

inline cusolverEigMode_t job_of(bool vectors) {
  return vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
}

/// Unwritten column-major matrices [.., rows, columns] with the batch, dtype and device of `t`.
inline Tensor columns_like(const Tensor& t, int64_t rows, int64_t columns) {
  DimVector sizes(t.sizes().begin(), t.sizes().end());
  sizes[sizes.size() - 2] = columns;
  sizes[sizes.size() - 1] = rows;
  return at::transpose(empty_contiguous(sizes, t.scalar_type(), t.device()), -2, -1);
}

inline void check_blas(cublasStatus_t status, const char* call) {
  if (C10_UNLIKELY(status != CUBLAS_STATUS_SUCCESS)) blas::throw_cublas_error(status, call);
}

/// The handle of the current device and stream, without TF32: that is for products.
inline cublasHandle_t exact_blas_handle() {
  const cublasHandle_t handle = getCurrentCUDABlasHandle();
  check_blas(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
  return handle;
}

}  // namespace at::cuda::solver
