// Singular values.
#include <string_view>
#include <vector>

#include "aten/cuda/solver/call.h"
#include "aten/cuda/solver/solver.h"
#include "aten/ops/copy/ops.h"
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

#define AT_CUDA_SOLVER_GESVDA(T, R, letter)                                                                            \
  cusolverStatus_t gesvda_size(cusolverDnHandle_t handle, cusolverEigMode_t job, int m, int n, const T* a, const R* s, \
                               const T* u, const T* v, int* size, int count) {                                         \
    return cusolverDn##letter##gesvdaStridedBatched_bufferSize(handle, job, n, m, n, a, m, int64_t{m} * n, s, n, u, m, \
                                                               int64_t{m} * n, v, n, int64_t{n} * n, size, count);     \
  }                                                                                                                    \
  cusolverStatus_t gesvda(cusolverDnHandle_t handle, cusolverEigMode_t job, int m, int n, const T* a, R* s, T* u,      \
                          T* v, T* work, int size, int* info, double* residuals, int count) {                          \
    return cusolverDn##letter##gesvdaStridedBatched(handle, job, n, m, n, a, m, int64_t{m} * n, s, n, u, m,            \
                                                    int64_t{m} * n, v, n, int64_t{n} * n, work, size, info, residuals, \
                                                    count);                                                            \
  }
AT_CUDA_SOLVER_GESVDA(float, float, S)
AT_CUDA_SOLVER_GESVDA(double, double, D)
AT_CUDA_SOLVER_GESVDA(cuComplex, float, C)
AT_CUDA_SOLVER_GESVDA(cuDoubleComplex, double, Z)
#undef AT_CUDA_SOLVER_GESVDA

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

Tensor adjoint_columns(const Tensor& t) {
  Tensor copy = columns_like(t, t.size(-1), t.size(-2));
  return at::copy_(copy, at::adjoint(t));
}

// Below, `u` and `v` (V, and not V^H) are there also where no vectors are asked for: what the library does with them
// then is not documented.

// Of so many columns of U and V as u and v have. One matrix after the other, of any size.
void jacobi(const Tensor& a, bool vectors, const Tensor& u, const Tensor& values, const Tensor& v, const Tensor& info) {
  const Batch m(a);
  const int k = std::min(m.rows, m.columns);
  const int economic = u.size(-1) == k && v.size(-1) == k ? 1 : 0;
  const int64_t left_step = m.rows * u.size(-1), right_step = m.columns * v.size(-1);
  const cusolverDnHandle_t handle = getCurrentCUDASolverDnHandle();
  const JacobiParams params;
  visit(a.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* const s = elements<typename Real<T>::type>(values);
    T *const left = elements<T>(u), *const right = elements<T>(v);
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
void jacobi_batch(const Tensor& a, bool vectors, const Tensor& u, const Tensor& values, const Tensor& v,
                  const Tensor& info) {
  const Batch m(a);
  const cusolverDnHandle_t handle = getCurrentCUDASolverDnHandle();
  const JacobiParams params;
  visit(a.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* const s = elements<typename Real<T>::type>(values);
    T *const left = elements<T>(u), *const right = elements<T>(v);
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

// Of matrices with at least as many rows as columns n, less exactly: n columns of U and V.
void approximate(const Tensor& a, bool vectors, const Tensor& u, const Tensor& values, const Tensor& v,
                 const Tensor& info) {
  const Batch m(a);
  TORCH_CHECK(m.count <= INT_MAX, "torch.linalg.svd: gesvda takes batches of up to ", INT_MAX, " matrices");
  const cusolverDnHandle_t handle = getCurrentCUDASolverDnHandle();
  const int count = static_cast<int>(m.count);
  std::vector<double> residuals(static_cast<size_t>(m.count));
  visit(a.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* const s = elements<typename Real<T>::type>(values);
    int size = 0;
    check(gesvda_size(handle, job_of(vectors), m.rows, m.columns, m.at<T>(0), s, elements<T>(u), elements<T>(v), &size,
                      count),
          "cusolverDn<t>gesvdaStridedBatched_bufferSize");
    Workspace w;
    w.device_bytes = static_cast<size_t>(size) * sizeof(T);
    w.allocate();
    check(gesvda(handle, job_of(vectors), m.rows, m.columns, m.at<T>(0), s, elements<T>(u), elements<T>(v),
                 static_cast<T*>(w.device()), size, ints(info), residuals.data(), count),
          "cusolverDn<t>gesvdaStridedBatched");
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

void svd(const Tensor& a, std::optional<std::string_view> driver, const Tensor& u, const Tensor& values,
         const Tensor& vh, const Tensor& info) {
  const Batch m(a);
  const bool vectors = u.defined(), wide = m.rows < m.columns;
  const int64_t k = std::min(m.rows, m.columns);
  const int64_t left_count = vectors ? u.size(-1) : k, right_count = vectors ? vh.size(-2) : k;
  // u and vh from U and V.
  const auto write = [&](const Tensor& left, const Tensor& right) {
    if (!vectors) return;
    at::copy_(const_cast<Tensor&>(u), at::narrow(left, -1, 0, left_count));
    at::copy_(const_cast<Tensor&>(vh), at::adjoint(at::narrow(right, -1, 0, right_count)));
  };
  if (!driver && m.count > 1 && m.count <= INT_MAX && m.rows <= kJacobiBatch && m.columns <= kJacobiBatch) {
    const Tensor left = columns_like(a, m.rows, m.rows), right = columns_like(a, m.columns, m.columns);
    jacobi_batch(a, vectors, left, values, right, info);
    return write(left, right);
  }
  if (driver && *driver == "gesvdj") {
    const Tensor left = columns_like(a, m.rows, left_count), right = columns_like(a, m.columns, right_count);
    jacobi(a, vectors, left, values, right, info);
    return write(left, right);
  }
  // Matrices that are wide are turned: A^H = V S U^H.
  const Tensor tall = wide ? adjoint_columns(a) : a;
  if (driver && *driver == "gesvda" && left_count == k && right_count == k) {
    const Tensor long_vectors = columns_like(a, std::max(m.rows, m.columns), k), others = columns_like(a, k, k);
    approximate(tall, vectors, long_vectors, values, others, info);
    return wide ? write(others, long_vectors) : write(long_vectors, others);
  }
  if (!wide || !vectors) return qr_iterations(tall, u, values, vh, info);
  const Tensor right = columns_like(a, m.columns, right_count), left_adjoint = columns_like(a, left_count, m.rows);
  qr_iterations(tall, right, values, left_adjoint, info);
  write(at::adjoint(left_adjoint), right);
}

}  // namespace at::cuda::solver
