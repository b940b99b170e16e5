// Eigenvalues.
#include "aten/cuda/solver/call.h"
#include "aten/cuda/solver/solver.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::cuda::solver {

void syevd(const Tensor& a, bool upper, bool vectors, const Tensor& values, const Tensor& info) {
  const Batch m(a);
  const cusolverDnHandle_t handle = getCurrentCUDASolverDnHandle();
  const cudaDataType type = data_type(a.scalar_type()), real = data_type(values.scalar_type());
  const cusolverEigMode_t job = job_of(vectors);
  char* const w = elements<char>(values);
  Workspace work;
  if (m.is_small()) {
    check(cusolverDnXsyevBatched_bufferSize(handle, default_params(), job, triangle(upper), m.rows, type, m[0], m.ld,
                                            real, w, type, &work.device_bytes, &work.host_bytes, m.count),
          "cusolverDnXsyevBatched_bufferSize");
    work.allocate();
    check(
        cusolverDnXsyevBatched(handle, default_params(), job, triangle(upper), m.rows, type, m[0], m.ld, real, w, type,
                               work.device(), work.device_bytes, work.host(), work.host_bytes, ints(info), m.count),
        "cusolverDnXsyevBatched");
    return;
  }
  check(cusolverDnXsyevd_bufferSize(handle, default_params(), job, triangle(upper), m.rows, type, m[0], m.ld, real, w,
                                    type, &work.device_bytes, &work.host_bytes),
        "cusolverDnXsyevd_bufferSize");
  work.allocate();
  for (int64_t i = 0; i < m.count; ++i) {
    check(cusolverDnXsyevd(handle, default_params(), job, triangle(upper), m.rows, type, m[i], m.ld, real,
                           w + i * m.rows * static_cast<int64_t>(values.itemsize()), type, work.device(),
                           work.device_bytes, work.host(), work.host_bytes, ints(info) + i),
          "cusolverDnXsyevd");
  }
}

void geev(const Tensor& a, const Tensor& values, const Tensor& vectors, const Tensor& info) {
  const Batch m(a);
  const bool is_complex = a.is_complex();
  const cusolverDnHandle_t handle = getCurrentCUDASolverDnHandle();
  const cudaDataType type = data_type(a.scalar_type()), complex = data_type(values.scalar_type());
  const cusolverEigMode_t job = job_of(vectors.defined());
  // Of a real matrix two columns hold the real and the imaginary parts of a pair of vectors.
  const Tensor packed = !vectors.defined() ? Tensor() : is_complex ? vectors : columns_like(a, m.rows, m.columns);
  char* const w = elements<char>(values);
  char* const v = packed.defined() ? elements<char>(packed) : nullptr;
  Workspace work;
  check(cusolverDnXgeev_bufferSize(handle, default_params(), CUSOLVER_EIG_MODE_NOVECTOR, job, m.rows, type, m[0], m.ld,
                                   complex, w, type, nullptr, 1, type, v, m.ld, type, &work.device_bytes,
                                   &work.host_bytes),
        "cusolverDnXgeev_bufferSize");
  work.allocate();
  for (int64_t i = 0; i < m.count; ++i) {
    check(cusolverDnXgeev(handle, default_params(), CUSOLVER_EIG_MODE_NOVECTOR, job, m.rows, type, m[i], m.ld, complex,
                          w + i * m.rows * static_cast<int64_t>(values.itemsize()), type, nullptr, 1, type,
                          v == nullptr ? nullptr : v + i * m.bytes, m.ld, type, work.device(), work.device_bytes,
                          work.host(), work.host_bytes, ints(info) + i),
          "cusolverDnXgeev");
  }
  if (is_complex || !vectors.defined()) return;
  // A pair's first eigenvalue is that above the real axis.
  const Tensor parts = at::unsqueeze(at::imag(values), -2);
  const Tensor is_first = at::gt(parts, Scalar(0)), is_second = at::lt(parts, Scalar(0));
  const Tensor real = at::where(is_second, at::roll(packed, IntArrayRef{1}, IntArrayRef{-1}), packed);
  const Tensor paired = at::where(is_second, at::neg(packed), at::zeros_like(packed));
  const Tensor imaginary = at::where(is_first, at::roll(packed, IntArrayRef{-1}, IntArrayRef{-1}), paired);
  at::copy_(const_cast<Tensor&>(vectors), at::complex(real, imaginary));
}

}  // namespace at::cuda::solver
