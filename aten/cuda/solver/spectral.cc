// Eigenvalues and singular values.
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
namespace {

#define AT_CUDA_SOLVER_GESVDJ(T, R, letter)                                                                            \
  cusolverStatus_t gesvdj_size(cusolverDnHandle_t handle, cusolverEigMode_t job, int econ, int m, int n, const T* a,   \
                               int lda, const R* s, const T* u, int ldu, const T* v, int ldv, int* size,               \
                               gesvdjInfo_t params) {                                                                  \
    return cusolverDn##letter##gesvdj_bufferSize(handle, job, econ, m, n, a, lda, s, u, ldu, v, ldv, size, params);    \
  }                                                                                                                    \
  cusolverStatus_t gesvdj_one(cusolverDnHandle_t handle, cusolverEigMode_t job, int econ, int m, int n, T* a, int lda, \
                              R* s, T* u, int ldu, T* v, int ldv, T* work, int size, int* info, gesvdjInfo_t params) { \
    return cusolverDn##letter##gesvdj(handle, job, econ, m, n, a, lda, s, u, ldu, v, ldv, work, size, info, params);   \
  }                                                                                                                    \
  cusolverStatus_t gesvdj_batched_size(cusolverDnHandle_t handle, cusolverEigMode_t job, int m, int n, const T* a,     \
                                       int lda, const R* s, const T* u, int ldu, const T* v, int ldv, int* size,       \
                                       gesvdjInfo_t params, int count) {                                               \
    return cusolverDn##letter##gesvdjBatched_bufferSize(handle, job, m, n, a, lda, s, u, ldu, v, ldv, size, params,    \
                                                        count);                                                        \
  }                                                                                                                    \
  cusolverStatus_t gesvdj_batched(cusolverDnHandle_t handle, cusolverEigMode_t job, int m, int n, T* a, int lda, R* s, \
                                  T* u, int ldu, T* v, int ldv, T* work, int size, int* info, gesvdjInfo_t params,     \
                                  int count) {                                                                         \
    return cusolverDn##letter##gesvdjBatched(handle, job, m, n, a, lda, s, u, ldu, v, ldv, work, size, info, params,   \
                                             count);                                                                   \
  }
AT_CUDA_SOLVER_GESVDJ(float, float, S)
AT_CUDA_SOLVER_GESVDJ(double, double, D)
AT_CUDA_SOLVER_GESVDJ(cuComplex, float, C)
AT_CUDA_SOLVER_GESVDJ(cuDoubleComplex, double, Z)
#undef AT_CUDA_SOLVER_GESVDJ

template <class T>
struct Real {
  using type = T;
};
template <>
struct Real<cuComplex> {
  using type = float;
};
template <>
struct Real<cuDoubleComplex> {
  using type = double;
};

// The largest matrices that gesvdjBatched takes.
constexpr int kJacobiBatch = 32;

// Tolerances and sweeps as the library chooses them.
class JacobiParams {
 public:
  JacobiParams() { check(cusolverDnCreateGesvdjInfo(&params_), "cusolverDnCreateGesvdjInfo"); }
  ~JacobiParams() { cusolverDnDestroyGesvdjInfo(params_); }
  JacobiParams(const JacobiParams&) = delete;
  JacobiParams& operator=(const JacobiParams&) = delete;
  operator gesvdjInfo_t() const { return params_; }

 private:
  gesvdjInfo_t params_ = nullptr;
};

cusolverEigMode_t job_of(bool vectors) {
  return vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
}

// Column-major matrices [.., rows, columns] like those of `t`.
Tensor columns_like(const Tensor& t, int64_t rows, int64_t columns) {
  DimVector sizes(t.sizes().begin(), t.sizes().end());
  sizes[sizes.size() - 2] = columns;
  sizes[sizes.size() - 1] = rows;
  return at::transpose(empty_contiguous(sizes, t.scalar_type(), t.device()), -2, -1);
}
Tensor adjoint_columns(const Tensor& t) {
  Tensor copy = columns_like(t, t.size(-1), t.size(-2));
  return at::copy_(copy, at::adjoint(t));
}

// U and V, not V^H, of so many columns as u and v have. One by one, of any size.
void jacobi(const Tensor& a, const Tensor& u, const Tensor& values, const Tensor& v, const Tensor& info) {
  const Batch m(a);
  const bool vectors = u.defined();
  const int k = std::min(m.rows, m.columns);
  const int economic = vectors && u.size(-1) == k && v.size(-1) == k ? 1 : 0;
  const cusolverDnHandle_t handle = getCurrentCUDASolverDnHandle();
  const JacobiParams params;
  visit(a.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* const s = elements<typename Real<T>::type>(values);
    T* const left = vectors ? elements<T>(u) : nullptr;
    T* const right = vectors ? elements<T>(v) : nullptr;
    const int64_t left_step = vectors ? m.rows * u.size(-1) : 0, right_step = vectors ? m.columns * v.size(-1) : 0;
    int size = 0;
    check(gesvdj_size(handle, job_of(vectors), economic, m.rows, m.columns, m.at<T>(0), m.ld, s, left, m.rows, right,
                      m.columns, &size, params),
          "cusolverDn<t>gesvdj_bufferSize");
    Workspace w;
    w.device_bytes = static_cast<size_t>(size) * sizeof(T);
    w.allocate();
    for (int64_t i = 0; i < m.count; ++i) {
      check(gesvdj_one(handle, job_of(vectors), economic, m.rows, m.columns, m.at<T>(i), m.ld, s + i * k,
                       left + i * left_step, m.rows, right + i * right_step, m.columns, static_cast<T*>(w.device()),
                       size, ints(info) + i, params),
            "cusolverDn<t>gesvdj");
    }
  });
}

// The same of a batch of small matrices, with all columns of U and V.
void jacobi_batch(const Tensor& a, const Tensor& u, const Tensor& values, const Tensor& v, const Tensor& info) {
  const Batch m(a);
  const bool vectors = u.defined();
  const cusolverDnHandle_t handle = getCurrentCUDASolverDnHandle();
  const JacobiParams params;
  visit(a.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* const s = elements<typename Real<T>::type>(values);
    T* const left = vectors ? elements<T>(u) : nullptr;
    T* const right = vectors ? elements<T>(v) : nullptr;
    const int count = static_cast<int>(m.count);
    int size = 0;
    check(gesvdj_batched_size(handle, job_of(vectors), m.rows, m.columns, m.at<T>(0), m.ld, s, left, m.rows, right,
                              m.columns, &size, params, count),
          "cusolverDn<t>gesvdjBatched_bufferSize");
    Workspace w;
    w.device_bytes = static_cast<size_t>(size) * sizeof(T);
    w.allocate();
    check(gesvdj_batched(handle, job_of(vectors), m.rows, m.columns, m.at<T>(0), m.ld, s, left, m.rows, right,
                         m.columns, static_cast<T*>(w.device()), size, ints(info), params, count),
          "cusolverDn<t>gesvdjBatched");
  });
}

// By QR iterations: matrices with at least as many rows as columns.
void qr_iterations(const Tensor& a, const Tensor& u, const Tensor& values, const Tensor& vh, const Tensor& info) {
  const Batch m(a);
  const bool vectors = u.defined();
  const int k = std::min(m.rows, m.columns);
  const signed char left_job = !vectors ? 'N' : u.size(-1) == k ? 'S' : 'A';
  const signed char right_job = !vectors ? 'N' : vh.size(-2) == k ? 'S' : 'A';
  const int ldv = vectors ? static_cast<int>(vh.size(-2)) : m.columns;
  const cudaDataType type = data_type(a.scalar_type()), real = data_type(values.scalar_type());
  char* const s = elements<char>(values);
  char* const left = vectors ? elements<char>(u) : nullptr;
  char* const right = vectors ? elements<char>(vh) : nullptr;
  const int64_t left_step = vectors ? Batch(u).bytes : 0, right_step = vectors ? Batch(vh).bytes : 0;
  const cusolverDnHandle_t handle = getCurrentCUDASolverDnHandle();
  Workspace w;
  check(
      cusolverDnXgesvd_bufferSize(handle, default_params(), left_job, right_job, m.rows, m.columns, type, m[0], m.ld,
                                  real, s, type, left, m.rows, type, right, ldv, type, &w.device_bytes, &w.host_bytes),
      "cusolverDnXgesvd_bufferSize");
  w.allocate();
  for (int64_t i = 0; i < m.count; ++i) {
    check(cusolverDnXgesvd(handle, default_params(), left_job, right_job, m.rows, m.columns, type, m[i], m.ld, real,
                           s + i * k * static_cast<int64_t>(values.itemsize()), type, left + i * left_step, m.rows,
                           type, right + i * right_step, ldv, type, w.device(), w.device_bytes, w.host(), w.host_bytes,
                           ints(info) + i),
          "cusolverDnXgesvd");
  }
}

}  // namespace

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

void svd(const Tensor& a, std::optional<std::string_view> driver, const Tensor& u, const Tensor& values,
         const Tensor& vh, const Tensor& info) {
  const Batch m(a);
  const bool vectors = u.defined();
  if (!driver && m.count > 1 && m.rows <= kJacobiBatch && m.columns <= kJacobiBatch && m.count <= INT_MAX) {
    const Tensor left = vectors ? columns_like(a, m.rows, m.rows) : Tensor();
    const Tensor right = vectors ? columns_like(a, m.columns, m.columns) : Tensor();
    jacobi_batch(a, left, values, right, info);
    if (!vectors) return;
    at::copy_(const_cast<Tensor&>(u), at::narrow(left, -1, 0, u.size(-1)));
    at::copy_(const_cast<Tensor&>(vh), at::adjoint(at::narrow(right, -1, 0, vh.size(-2))));
    return;
  }
  if (driver && *driver == "gesvdj") {
    const Tensor right = vectors ? columns_like(a, m.columns, vh.size(-2)) : Tensor();
    jacobi(a, u, values, right, info);
    if (vectors) at::copy_(const_cast<Tensor&>(vh), at::adjoint(right));
    return;
  }
  if (m.rows >= m.columns) return qr_iterations(a, u, values, vh, info);
  // A^H = V S U^H.
  const Tensor turned = adjoint_columns(a);
  if (!vectors) return qr_iterations(turned, Tensor(), values, Tensor(), info);
  const Tensor left = columns_like(a, m.columns, vh.size(-2)), right = columns_like(a, u.size(-1), m.rows);
  qr_iterations(turned, left, values, right, info);
  at::copy_(const_cast<Tensor&>(u), at::adjoint(right));
  at::copy_(const_cast<Tensor&>(vh), at::adjoint(left));
}

}  // namespace at::cuda::solver
