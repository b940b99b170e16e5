// Eigenvalues and singular values.
#include <algorithm>
#include <vector>

#include "tests/cuda_on_host/solver/call.h"

namespace cusolver_standin {
namespace {

char letter(cublasFillMode_t uplo) {
  return uplo == CUBLAS_FILL_MODE_UPPER ? 'U' : 'L';
}

// Eigenvalues of one matrix, which becomes the vectors or is spoilt.
template <class T>
int find_eigen(bool vectors, cublasFillMode_t uplo, int64_t n, T* a, int64_t lda, lapack::Real<T>* values) {
  lapack::Workspace<T> w;
  const int order = static_cast<int>(n);
  const int info = lapack::syevd(vectors, letter(uplo), order, a, static_cast<int>(lda), values, w);
  if (!vectors) {
    for (int64_t j = 0; j < n; ++j) spoil(a + j * lda, static_cast<size_t>(n) * sizeof(T));
  }
  return info;
}

Call& check_syev(Call& call, cusolverDnParams_t params, cusolverEigMode_t job, int64_t n, cudaDataType type,
                 const void* a, int64_t lda, cudaDataType w_type, const void* w, cudaDataType compute, int64_t count) {
  return call.params(params)
      .require(job == CUSOLVER_EIG_MODE_NOVECTOR || job == CUSOLVER_EIG_MODE_VECTOR, "no mode of eigenvectors")
      .types({type, compute})
      .require(w_type == real_of(type), "type of eigenvalues")
      .matrix("A", a, n, n, lda, type, count)
      .array("W", w, static_cast<size_t>(n * count) * bytes_of(w_type));
}

Sizes batch_workspace(int64_t n, cudaDataType type, int64_t count) {
  const Sizes one = workspace_for(n, n, type);
  return {one.device * static_cast<size_t>(count), one.host};
}

// What a decomposition takes and leaves: u m x uc, s, v^H vr x n.
template <class T>
int decompose(int64_t m, int64_t n, T* a, int64_t lda, lapack::Real<T>* s, T* u, int64_t ldu, int64_t u_columns, T* vh,
              int64_t ldv, int64_t v_rows) {
  lapack::Workspace<T> w;
  const auto rows = static_cast<int>(m), columns = static_cast<int>(n);
  T none{};
  if (u == nullptr && vh == nullptr) {
    const int info = lapack::gesdd('N', rows, columns, a, static_cast<int>(lda), s, &none, rows, &none, 1, w);
    for (int64_t j = 0; j < n; ++j) spoil(a + j * lda, static_cast<size_t>(m) * sizeof(T));
    return info;
  }
  std::vector<T> left(static_cast<size_t>(m * m)), right(static_cast<size_t>(n * n));
  const int info =
      lapack::gesdd('A', rows, columns, a, static_cast<int>(lda), s, left.data(), rows, right.data(), columns, w);
  for (int64_t j = 0; j < u_columns; ++j) std::copy_n(left.data() + j * m, m, u + j * ldu);
  for (int64_t j = 0; j < n; ++j) std::copy_n(right.data() + j * n, v_rows, vh + j * ldv);
  for (int64_t j = 0; j < n; ++j) spoil(a + j * lda, static_cast<size_t>(m) * sizeof(T));
  return info;
}

// gesvd: how many vectors a job asks for.
int64_t vectors_of(signed char job, int64_t all, int64_t few) {
  return job == 'A' ? all : job == 'S' ? few : 0;
}

Call& check_gesvd(Call& call, cusolverDnParams_t params, signed char jobu, signed char jobvt, int64_t m, int64_t n,
                  cudaDataType type, const void* a, int64_t lda, cudaDataType s_type, const void* s,
                  cudaDataType u_type, const void* u, int64_t ldu, cudaDataType vt_type, const void* vt, int64_t ldvt,
                  cudaDataType compute) {
  const int64_t k = std::min(m, n);
  call.params(params)
      .require(m >= n, "fewer rows than columns")
      .types({type, u_type, vt_type, compute})
      .require(s_type == real_of(type), "type of singular values")
      .require(jobu == 'A' || jobu == 'S' || jobu == 'N', "the stand-in has jobs A, S and N")
      .require(jobvt == 'A' || jobvt == 'S' || jobvt == 'N', "the stand-in has jobs A, S and N")
      .require((jobu == 'N') == (jobvt == 'N'), "the stand-in has both or no singular vectors")
      .matrix("A", a, m, n, lda, type)
      .array("S", s, static_cast<size_t>(k) * bytes_of(s_type));
  if (jobu == 'N') return call;
  return call.matrix("U", u, m, vectors_of(jobu, m, k), ldu, type)
      .matrix("VT", vt, vectors_of(jobvt, n, k), n, ldvt, type);
}

// Jacobi's: V and not V^H, n x columns.
template <class T>
int decompose_jacobi(bool vectors, int64_t m, int64_t n, T* a, int64_t lda, lapack::Real<T>* s, T* u, int64_t ldu,
                     int64_t u_columns, T* v, int64_t ldv, int64_t v_columns) {
  if (!vectors) {
    spoil(u, static_cast<size_t>(m) * sizeof(T));
    spoil(v, static_cast<size_t>(n) * sizeof(T));
    return decompose<T>(m, n, a, lda, s, nullptr, 1, 0, nullptr, 1, 0);
  }
  std::vector<T> right(static_cast<size_t>(n * n));
  const int info = decompose(m, n, a, lda, s, u, ldu, u_columns, right.data(), n, n);
  for (int64_t j = 0; j < v_columns; ++j) {
    for (int64_t i = 0; i < n; ++i) v[i + j * ldv] = lapack::conjugate(right[static_cast<size_t>(j + i * n)]);
  }
  return info;
}

Call& check_gesvdj(Call& call, gesvdjInfo_t params, cusolverEigMode_t job, int econ, int m, int n, const void* a,
                   int lda, const void* s, const void* u, int ldu, const void* v, int ldv, cudaDataType type,
                   int count) {
  const int k = std::min(m, n);
  call.jacobi(params)
      .not_negative({m, n, count})
      .matrix("A", a, m, n, lda, type, count)
      .array("S", s, static_cast<size_t>(k) * static_cast<size_t>(count) * bytes_of(real_of(type)))
      .require(ldu >= std::max(m, 1), "leading dimension of U")
      .require(ldv >= std::max(n, 1), "leading dimension of V");
  // The documents do not say that the arrays are left alone where no vectors are asked for.
  return call.require(job == CUSOLVER_EIG_MODE_NOVECTOR || job == CUSOLVER_EIG_MODE_VECTOR, "no mode of vectors")
      .matrix("U", u, m, econ != 0 ? k : m, ldu, type, count)
      .matrix("V", v, n, econ != 0 ? k : n, ldv, type, count);
}

Sizes jacobi_sizes(int m, int n, cudaDataType type, int count) {
  return {workspace_for(m, n, type).device * static_cast<size_t>(count), 0};
}

cusolverStatus_t gesvdj_size(const char* name, cusolverDnHandle_t handle, cusolverEigMode_t job, int econ, int m, int n,
                             const void* a, int lda, const void* s, const void* u, int ldu, const void* v, int ldv,
                             int* size, gesvdjInfo_t params, cudaDataType type, int count, bool is_batch) {
  Call call(name, handle);
  return check_gesvdj(call, params, job, econ, m, n, a, lda, s, u, ldu, v, ldv, type, count)
      .supported(!is_batch || (m <= 32 && n <= 32))
      .answer(jacobi_sizes(m, n, type, count), type, size);
}
cusolverStatus_t gesvdj(const char* name, cusolverDnHandle_t handle, cusolverEigMode_t job, int econ, int m, int n,
                        void* a, int lda, void* s, void* u, int ldu, void* v, int ldv, void* work, int size, int* info,
                        gesvdjInfo_t params, cudaDataType type, int count, bool is_batch) {
  Call call(name, handle);
  const int k = std::min(m, n), u_columns = econ != 0 ? k : m, v_columns = econ != 0 ? k : n;
  return check_gesvdj(call, params, job, econ, m, n, a, lda, s, u, ldu, v, ldv, type, count)
      .supported(!is_batch || (m <= 32 && n <= 32))
      .info(info, count)
      .elements(jacobi_sizes(m, n, type, count), work, size, type)
      .run([=] {
        visit(type, [&](auto tag) {
          using T = typename decltype(tag)::type;
          for (int64_t i = 0; i < count; ++i) {
            info[i] =
                decompose_jacobi(job == CUSOLVER_EIG_MODE_VECTOR, m, n, static_cast<T*>(a) + i * lda * n, lda,
                                 static_cast<lapack::Real<T>*>(s) + i * k, static_cast<T*>(u) + i * ldu * u_columns,
                                 ldu, u_columns, static_cast<T*>(v) + i * ldv * v_columns, ldv, v_columns);
          }
        });
      });
}

// gesvda: of tall matrices, which it leaves as they are; each operand has a stride.
struct Approximate {
  cusolverEigMode_t job;
  int rank, m, n;
  const void* a;
  int lda;
  int64_t a_step;
  void* s;
  int64_t s_step;
  void* u;
  int ldu;
  int64_t u_step;
  void* v;
  int ldv;
  int64_t v_step;
  int count;
  cudaDataType type;

  Sizes sizes() const { return {workspace_for(m, n, type).device * static_cast<size_t>(count), 0}; }
  Call& check(Call& call) const {
    const auto item = static_cast<int64_t>(bytes_of(type)), real = static_cast<int64_t>(bytes_of(real_of(type)));
    const auto all = [&](int64_t step, int64_t elements, int64_t bytes) {
      return static_cast<size_t>(((count - 1) * step + elements) * bytes);
    };
    call.not_negative({m, n, count})
        .require(m >= n && rank == n, "the stand-in has tall matrices and all their singular values only")
        .require(lda >= std::max(m, 1), "leading dimension of A")
        .require(ldu >= std::max(m, 1), "leading dimension of U")
        .require(ldv >= std::max(n, 1), "leading dimension of V")
        .require(a_step >= int64_t{lda} * n && s_step >= n && u_step >= int64_t{ldu} * n && v_step >= int64_t{ldv} * n,
                 "matrices overlap");
    if (count == 0 || m == 0 || n == 0) return call;
    return call.array("A", a, all(a_step, int64_t{lda} * (n - 1) + m, item))
        .array("S", s, all(s_step, n, real))
        .array("U", u, all(u_step, int64_t{ldu} * (n - 1) + m, item))
        .array("V", v, all(v_step, int64_t{ldv} * (n - 1) + n, item));
  }
  void run(int* info) const {
    visit(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < count; ++i) {
        std::vector<T> copy(static_cast<size_t>(m) * static_cast<size_t>(n));
        for (int64_t j = 0; j < n; ++j)
          std::copy_n(static_cast<const T*>(a) + i * a_step + j * lda, m, copy.data() + j * m);
        info[i] = decompose_jacobi(job == CUSOLVER_EIG_MODE_VECTOR, m, n, copy.data(), m,
                                   static_cast<lapack::Real<T>*>(s) + i * s_step, static_cast<T*>(u) + i * u_step, ldu,
                                   n, static_cast<T*>(v) + i * v_step, ldv, n);
      }
    });
  }
};

cusolverStatus_t gesvda_size(const char* name, cusolverDnHandle_t handle, const Approximate& problem, int* size) {
  Call call(name, handle);
  return problem.check(call).answer(problem.sizes(), problem.type, size);
}
// Residuals come to the host: the call waits.
cusolverStatus_t gesvda(const char* name, cusolverDnHandle_t handle, const Approximate& problem, void* work, int size,
                        int* info, double* residuals) {
  Call call(name, handle);
  const cusolverStatus_t status = problem.check(call)
                                      .require(residuals != nullptr, "nowhere to write the residuals to")
                                      .info(info, problem.count)
                                      .elements(problem.sizes(), work, size, problem.type)
                                      .run([=] { problem.run(info); });
  if (status != CUSOLVER_STATUS_SUCCESS) return status;
  cudaStream_t stream = nullptr;
  if (cusolverDnGetStream(handle, &stream) != CUSOLVER_STATUS_SUCCESS || cudaStreamSynchronize(stream) != cudaSuccess)
    return CUSOLVER_STATUS_EXECUTION_FAILED;
  std::fill_n(residuals, problem.count, 0.0);
  return CUSOLVER_STATUS_SUCCESS;
}

Call& check_geev(Call& call, cusolverDnParams_t params, cusolverEigMode_t jobvl, cusolverEigMode_t jobvr, int64_t n,
                 cudaDataType type, const void* a, int64_t lda, cudaDataType w_type, const void* w,
                 cudaDataType vl_type, int64_t ldvl, cudaDataType vr_type, const void* vr, int64_t ldvr,
                 cudaDataType compute) {
  call.params(params)
      .supported(jobvl == CUSOLVER_EIG_MODE_NOVECTOR)
      .types({type, vl_type, vr_type, compute})
      .require(w_type == (real_of(type) == CUDA_R_32F ? CUDA_C_32F : CUDA_C_64F),
               "the stand-in has complex eigenvalues only")
      .require(ldvl >= 1 && ldvr >= 1, "leading dimension of VL or VR")
      .matrix("A", a, n, n, lda, type)
      .array("W", w, static_cast<size_t>(n) * bytes_of(w_type));
  return jobvr == CUSOLVER_EIG_MODE_VECTOR ? call.matrix("VR", vr, n, n, ldvr, type) : call;
}

template <class T>
int find_any_eigen(bool vectors, int64_t n, T* a, int64_t lda, void* w, T* vr, int64_t ldvr) {
  using Complex = c10::complex<lapack::Real<T>>;
  lapack::Workspace<T> work;
  Complex* const values = static_cast<Complex*>(w);
  std::vector<Complex> all(static_cast<size_t>(vectors ? n * n : 0));
  const auto order = static_cast<int>(n);
  const int info = lapack::geev(order, a, static_cast<int>(lda), values, vectors ? all.data() : nullptr, order, work);
  for (int64_t j = 0; j < n; ++j) spoil(a + j * lda, static_cast<size_t>(n) * sizeof(T));
  if (!vectors) return info;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; ++i) {
      const Complex x = all[static_cast<size_t>(i + j * n)];
      if constexpr (lapack::is_complex<T>) {
        vr[i + j * ldvr] = x;
      } else if (values[j].imag() < 0) {  // the column before is the first of the pair
        vr[i + j * ldvr] = all[static_cast<size_t>(i + (j - 1) * n)].imag();
      } else {
        vr[i + j * ldvr] = x.real();
      }
    }
  }
  return info;
}

}  // namespace
}  // namespace cusolver_standin

using cusolver_standin::Call;
using cusolver_standin::visit;
using cusolver_standin::workspace_for;
namespace lapack = at::cpu::lapack;

extern "C" {

cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             cusolverEigMode_t job, cublasFillMode_t, int64_t n, cudaDataType type,
                                             const void* a, int64_t lda, cudaDataType w_type, const void* w,
                                             cudaDataType compute, size_t* device, size_t* host) {
  Call call(__func__, handle);
  return cusolver_standin::check_syev(call, params, job, n, type, a, lda, w_type, w, compute, 1)
      .answer(workspace_for(n, n, type), device, host);
}
cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t job,
                                  cublasFillMode_t uplo, int64_t n, cudaDataType type, void* a, int64_t lda,
                                  cudaDataType w_type, void* w, cudaDataType compute, void* device, size_t device_bytes,
                                  void* host, size_t host_bytes, int* info) {
  Call call(__func__, handle);
  return cusolver_standin::check_syev(call, params, job, n, type, a, lda, w_type, w, compute, 1)
      .info(info)
      .workspace(workspace_for(n, n, type), device, device_bytes, host, host_bytes)
      .run([=] {
        visit(type, [&](auto tag) {
          using T = typename decltype(tag)::type;
          *info = cusolver_standin::find_eigen(job == CUSOLVER_EIG_MODE_VECTOR, uplo, n, static_cast<T*>(a), lda,
                                               static_cast<lapack::Real<T>*>(w));
        });
      });
}

cusolverStatus_t cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                   cusolverEigMode_t job, cublasFillMode_t, int64_t n,
                                                   cudaDataType type, const void* a, int64_t lda, cudaDataType w_type,
                                                   const void* w, cudaDataType compute, size_t* device, size_t* host,
                                                   int64_t count) {
  Call call(__func__, handle);
  return cusolver_standin::check_syev(call, params, job, n, type, a, lda, w_type, w, compute, count)
      .answer(cusolver_standin::batch_workspace(n, type, count), device, host);
}
cusolverStatus_t cusolverDnXsyevBatched(cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t job,
                                        cublasFillMode_t uplo, int64_t n, cudaDataType type, void* a, int64_t lda,
                                        cudaDataType w_type, void* w, cudaDataType compute, void* device,
                                        size_t device_bytes, void* host, size_t host_bytes, int* info, int64_t count) {
  Call call(__func__, handle);
  return cusolver_standin::check_syev(call, params, job, n, type, a, lda, w_type, w, compute, count)
      .info(info, count)
      .workspace(cusolver_standin::batch_workspace(n, type, count), device, device_bytes, host, host_bytes)
      .run([=] {
        visit(type, [&](auto tag) {
          using T = typename decltype(tag)::type;
          for (int64_t i = 0; i < count; ++i) {
            info[i] =
                cusolver_standin::find_eigen(job == CUSOLVER_EIG_MODE_VECTOR, uplo, n, static_cast<T*>(a) + i * lda * n,
                                             lda, static_cast<lapack::Real<T>*>(w) + i * n);
          }
        });
      });
}

cusolverStatus_t cusolverDnXgeev_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                            cusolverEigMode_t jobvl, cusolverEigMode_t jobvr, int64_t n,
                                            cudaDataType type, const void* a, int64_t lda, cudaDataType w_type,
                                            const void* w, cudaDataType vl_type, const void*, int64_t ldvl,
                                            cudaDataType vr_type, const void* vr, int64_t ldvr, cudaDataType compute,
                                            size_t* device, size_t* host) {
  Call call(__func__, handle);
  return cusolver_standin::check_geev(call, params, jobvl, jobvr, n, type, a, lda, w_type, w, vl_type, ldvl, vr_type,
                                      vr, ldvr, compute)
      .answer(workspace_for(n, n, type), device, host);
}
cusolverStatus_t cusolverDnXgeev(cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t jobvl,
                                 cusolverEigMode_t jobvr, int64_t n, cudaDataType type, void* a, int64_t lda,
                                 cudaDataType w_type, void* w, cudaDataType vl_type, void*, int64_t ldvl,
                                 cudaDataType vr_type, void* vr, int64_t ldvr, cudaDataType compute, void* device,
                                 size_t device_bytes, void* host, size_t host_bytes, int* info) {
  Call call(__func__, handle);
  return cusolver_standin::check_geev(call, params, jobvl, jobvr, n, type, a, lda, w_type, w, vl_type, ldvl, vr_type,
                                      vr, ldvr, compute)
      .info(info)
      .workspace(workspace_for(n, n, type), device, device_bytes, host, host_bytes)
      .run([=] {
        visit(type, [&](auto tag) {
          using T = typename decltype(tag)::type;
          *info = cusolver_standin::find_any_eigen(jobvr == CUSOLVER_EIG_MODE_VECTOR, n, static_cast<T*>(a), lda, w,
                                                   static_cast<T*>(vr), ldvr);
        });
      });
}

cusolverStatus_t cusolverDnXgesvd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, signed char jobu,
                                             signed char jobvt, int64_t m, int64_t n, cudaDataType type, const void* a,
                                             int64_t lda, cudaDataType s_type, const void* s, cudaDataType u_type,
                                             const void* u, int64_t ldu, cudaDataType vt_type, const void* vt,
                                             int64_t ldvt, cudaDataType compute, size_t* device, size_t* host) {
  Call call(__func__, handle);
  return cusolver_standin::check_gesvd(call, params, jobu, jobvt, m, n, type, a, lda, s_type, s, u_type, u, ldu,
                                       vt_type, vt, ldvt, compute)
      .answer(workspace_for(m, n, type), device, host);
}
cusolverStatus_t cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t params, signed char jobu,
                                  signed char jobvt, int64_t m, int64_t n, cudaDataType type, void* a, int64_t lda,
                                  cudaDataType s_type, void* s, cudaDataType u_type, void* u, int64_t ldu,
                                  cudaDataType vt_type, void* vt, int64_t ldvt, cudaDataType compute, void* device,
                                  size_t device_bytes, void* host, size_t host_bytes, int* info) {
  Call call(__func__, handle);
  const int64_t k = std::min(m, n);
  return cusolver_standin::check_gesvd(call, params, jobu, jobvt, m, n, type, a, lda, s_type, s, u_type, u, ldu,
                                       vt_type, vt, ldvt, compute)
      .info(info)
      .workspace(workspace_for(m, n, type), device, device_bytes, host, host_bytes)
      .run([=] {
        visit(type, [&](auto tag) {
          using T = typename decltype(tag)::type;
          const bool vectors = jobu != 'N';
          *info = cusolver_standin::decompose(
              m, n, static_cast<T*>(a), lda, static_cast<lapack::Real<T>*>(s), vectors ? static_cast<T*>(u) : nullptr,
              ldu, cusolver_standin::vectors_of(jobu, m, k), vectors ? static_cast<T*>(vt) : nullptr, ldvt,
              cusolver_standin::vectors_of(jobvt, n, k));
        });
      });
}

#define KD_SOLVER_JACOBI(letter, T, R, type)                                                                         \
  cusolverStatus_t cusolverDn##letter##gesvdaStridedBatched_bufferSize(                                              \
      cusolverDnHandle_t handle, cusolverEigMode_t job, int rank, int m, int n, const T* a, int lda,                 \
      long long int a_step, const R* s, long long int s_step, const T* u, int ldu, long long int u_step, const T* v, \
      int ldv, long long int v_step, int* size, int count) {                                                         \
    return cusolver_standin::gesvda_size(                                                                            \
        __func__, handle,                                                                                            \
        {job, rank, m, n, a, lda, a_step, const_cast<R*>(s), s_step, const_cast<T*>(u), ldu, u_step,                 \
         const_cast<T*>(v), ldv, v_step, count, type},                                                               \
        size);                                                                                                       \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##letter##gesvdaStridedBatched(                                                         \
      cusolverDnHandle_t handle, cusolverEigMode_t job, int rank, int m, int n, const T* a, int lda,                 \
      long long int a_step, R* s, long long int s_step, T* u, int ldu, long long int u_step, T* v, int ldv,          \
      long long int v_step, T* work, int size, int* info, double* residuals, int count) {                            \
    return cusolver_standin::gesvda(                                                                                 \
        __func__, handle, {job, rank, m, n, a, lda, a_step, s, s_step, u, ldu, u_step, v, ldv, v_step, count, type}, \
        work, size, info, residuals);                                                                                \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##letter##gesvdj_bufferSize(                                                            \
      cusolverDnHandle_t handle, cusolverEigMode_t job, int econ, int m, int n, const T* a, int lda, const R* s,     \
      const T* u, int ldu, const T* v, int ldv, int* size, gesvdjInfo_t params) {                                    \
    return cusolver_standin::gesvdj_size(__func__, handle, job, econ, m, n, a, lda, s, u, ldu, v, ldv, size, params, \
                                         type, 1, false);                                                            \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##letter##gesvdj(cusolverDnHandle_t handle, cusolverEigMode_t job, int econ, int m,     \
                                              int n, T* a, int lda, R* s, T* u, int ldu, T* v, int ldv, T* work,     \
                                              int size, int* info, gesvdjInfo_t params) {                            \
    return cusolver_standin::gesvdj(__func__, handle, job, econ, m, n, a, lda, s, u, ldu, v, ldv, work, size, info,  \
                                    params, type, 1, false);                                                         \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##letter##gesvdjBatched_bufferSize(                                                     \
      cusolverDnHandle_t handle, cusolverEigMode_t job, int m, int n, const T* a, int lda, const R* s, const T* u,   \
      int ldu, const T* v, int ldv, int* size, gesvdjInfo_t params, int count) {                                     \
    return cusolver_standin::gesvdj_size(__func__, handle, job, 0, m, n, a, lda, s, u, ldu, v, ldv, size, params,    \
                                         type, count, true);                                                         \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##letter##gesvdjBatched(cusolverDnHandle_t handle, cusolverEigMode_t job, int m, int n, \
                                                     T* a, int lda, R* s, T* u, int ldu, T* v, int ldv, T* work,     \
                                                     int size, int* info, gesvdjInfo_t params, int count) {          \
    return cusolver_standin::gesvdj(__func__, handle, job, 0, m, n, a, lda, s, u, ldu, v, ldv, work, size, info,     \
                                    params, type, count, true);                                                      \
  }
KD_SOLVER_JACOBI(S, float, float, CUDA_R_32F)
KD_SOLVER_JACOBI(D, double, double, CUDA_R_64F)
KD_SOLVER_JACOBI(C, cuComplex, float, CUDA_C_32F)
KD_SOLVER_JACOBI(Z, cuDoubleComplex, double, CUDA_C_64F)
#undef KD_SOLVER_JACOBI

}  // extern "C"
