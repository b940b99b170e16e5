// Linear algebra of CUDA tensors: which function of the libraries serves what, drivers, memory, waiting, errors.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cuda/blas/cublas_handle.h"
#include "aten/cuda/solver/handle.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/matrix_test_support.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"
#include "c10/cuda/testing.h"
#include "tests/cuda_on_host/runtime/standin.h"
#include "tests/cuda_on_host/simt/simt.h"
#include "tests/cuda_on_host/solver/standin.h"

namespace at {
namespace {

using c10::cuda::testing::in_all_orders;
using c10::cuda::testing::in_own_process;
using matrix_testing::error_of;

constexpr ScalarType kTypes[] = {kFloat, kDouble, kComplexFloat, kComplexDouble};
const Device kGpu(DeviceType::CUDA, 0);

Tensor to_gpu(const Tensor& t, Device device = kGpu) {
  return at::to(t, device, t.scalar_type());
}
Tensor numbers(std::vector<int64_t> sizes, ScalarType type = kDouble) {
  return to_gpu(matrix_testing::random_tensor(std::move(sizes), type));
}
// Far from singular.
Tensor regular(std::vector<int64_t> sizes, ScalarType type = kDouble) {
  const Tensor t = numbers(std::move(sizes), type);
  return at::add(t, at::mul(at::eye(t.size(-1), t.size(-1), t.options()), Scalar(5)));
}

void expect_near(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  const double tolerance = toRealValueType(a.scalar_type()) == kFloat ? 2e-4 : 1e-11;
  const std::vector<matrix_testing::Number> x = matrix_testing::values(a), y = matrix_testing::values(b);
  double largest = 1;
  for (const auto& v : y) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < x.size(); ++i) ASSERT_LT(std::abs(x[i] - y[i]), tolerance * largest) << "element " << i;
}

// In every order of execution; nothing may leak or be misused.
void on_device(const std::function<void()>& body) {
  in_all_orders([&] {
    body();
    cuda::clearCublasWorkspaces();
    c10::cuda::CUDACachingAllocator::emptyCache();
  });
}

// What of the libraries ran while `body` did.
std::set<std::string> calls_of(const std::function<void()>& body) {
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cuda_standin::clear_trace();
  body();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::set<std::string> names;
  for (const cuda_standin::Executed& done : cuda_standin::trace()) {
    if (done.kind == cuda_standin::WorkKind::kLibrary && done.name.find("cublasLt") == std::string::npos) {
      names.insert(done.name);
    }
  }
  return names;
}
using Names = std::set<std::string>;

TEST(CudaLinalg, BatchesOfSmallMatricesTakeOneCall) {
  on_device([] {
    const Tensor one = regular({4, 4}), few = regular({3, 4, 4}), wide = numbers({3, 4, 6}), b = numbers({3, 4, 2});
    const Tensor large = numbers({2, 300, 300}), tall = numbers({2, 40, 3});
    const Tensor positive = at::matmul(few, at::adjoint(few));
    EXPECT_EQ(calls_of([&] { at::linalg_lu_factor_ex(one); }), Names{"cusolverDnXgetrf"});
    EXPECT_EQ(calls_of([&] { at::linalg_lu_factor_ex(few); }), Names{"cublasDgetrfBatched"});
    EXPECT_EQ(calls_of([&] { at::linalg_lu_factor_ex(wide); }), Names{"cusolverDnXgetrf"});
    EXPECT_EQ(calls_of([&] { at::linalg_lu_factor_ex(large); }), Names{"cusolverDnXgetrf"});
    EXPECT_EQ(calls_of([&] { at::linalg_inv_ex(few); }), (Names{"cublasDgetrfBatched", "cublasDgetrsBatched"}));
    EXPECT_EQ(calls_of([&] { at::linalg_inv_ex(one); }), (Names{"cusolverDnXgetrf", "cusolverDnXgetrs"}));
    EXPECT_EQ(calls_of([&] { at::linalg_cholesky_ex(positive); }), Names{"cusolverDnDpotrfBatched"});
    EXPECT_EQ(calls_of([&] { at::linalg_cholesky_ex(at::select(positive, 0, 0)); }), Names{"cusolverDnXpotrf"});
    EXPECT_EQ(calls_of([&] { at::linalg_solve_triangular(few, b, true); }), Names{"cublasDtrsmBatched"});
    EXPECT_EQ(calls_of([&] { at::linalg_solve_triangular(one, at::select(b, 0, 0), true); }), Names{"cublasDtrsm"});
    EXPECT_EQ(calls_of([&] { at::linalg_qr(few); }), (Names{"cublasDgeqrfBatched", "cusolverDnDorgqr"}));
    EXPECT_EQ(calls_of([&] { at::linalg_qr(one, "r"); }), Names{"cusolverDnXgeqrf"});
    EXPECT_EQ(calls_of([&] { at::linalg_eigh(positive); }), Names{"cusolverDnXsyevBatched"});
    EXPECT_EQ(calls_of([&] { at::linalg_eigh(one); }), Names{"cusolverDnXsyevd"});
    EXPECT_EQ(calls_of([&] { at::linalg_eig(few); }), Names{"cusolverDnXgeev"});
    EXPECT_EQ(calls_of([&] { at::linalg_svd(few); }), Names{"cusolverDnDgesvdjBatched"});
    EXPECT_EQ(calls_of([&] { at::linalg_svd(tall); }), Names{"cusolverDnXgesvd"});
    EXPECT_EQ(calls_of([&] { at::linalg_svd(few, true, "gesvd"); }), Names{"cusolverDnXgesvd"});
    EXPECT_EQ(calls_of([&] { at::linalg_svd(few, true, "gesvdj"); }), Names{"cusolverDnDgesvdj"});
    EXPECT_EQ(calls_of([&] { at::linalg_svd(tall, false, "gesvda"); }), Names{"cusolverDnDgesvdaStridedBatched"});
    EXPECT_EQ(calls_of([&] { at::linalg_svd(tall, true, "gesvda"); }), Names{"cusolverDnXgesvd"});
  });
}

TEST(CudaLinalg, DriversOfSingularValues) {
  on_device([] {
    for (const ScalarType type : kTypes) {
      for (const std::vector<int64_t>& sizes :
           std::vector<std::vector<int64_t>>{{5, 3}, {3, 5}, {2, 4, 4}, {2, 40, 3}}) {
        const Tensor A = numbers(sizes, type);
        for (const char* const driver : {"gesvd", "gesvdj", "gesvda"}) {
          const auto [U, S, Vh] = at::linalg_svd(A, false, driver);
          expect_near(at::matmul(U, at::mul(at::unsqueeze(S, -1), Vh)), A);
          const auto [all_U, all_S, all_Vh] = at::linalg_svd(A, true, driver);
          expect_near(all_S, S);
          const int64_t m = A.size(-2), n = A.size(-1);
          const Tensor unit = at::expand(at::eye(m, m, A.options()), all_U.sizes());
          expect_near(at::matmul(all_U, at::adjoint(all_U)), unit);
          expect_near(at::matmul(all_Vh, at::adjoint(all_Vh)), at::expand(at::eye(n, n, A.options()), all_Vh.sizes()));
          expect_near(at::linalg_svdvals(A, driver), S);
        }
      }
    }
    EXPECT_NE(error_of([] {
                at::linalg_svd(numbers({2, 2}), true, "gesdd");
              }).find("unknown svd driver gesdd"),
              std::string::npos);
  });
}

TEST(CudaLinalg, LeastSquaresAreThoseOfFullRankUnlessAskedFor) {
  on_device([] {
    const Tensor A = numbers({2, 5, 3}), B = numbers({2, 5, 2});
    EXPECT_EQ(calls_of([&] { at::linalg_lstsq(A, B); }),
              (Names{"cublasDgeqrfBatched", "cusolverDnDormqr", "cublasDtrsmBatched"}));
    const auto [X, residuals, rank, values] = at::linalg_lstsq(A, B);
    EXPECT_EQ(rank.numel(), 0);
    const auto [Y, same_residuals, full_rank, S] = at::linalg_lstsq(A, B, std::nullopt, "gelsd");
    expect_near(Y, X);
    expect_near(same_residuals, residuals);
    expect_near(full_rank, at::full({2}, Scalar(3), full_rank.options()));
    expect_near(S, at::linalg_svdvals(A));
    // The shortest of many solutions.
    const Tensor wide = numbers({3, 5}), b = numbers({3, 1});
    const Tensor shortest = at::matmul(at::linalg_pinv(wide, 1e-10), b);
    for (const char* const driver : {"gels", "gelsy", "gelsd", "gelss"}) {
      expect_near(std::get<0>(at::linalg_lstsq(wide, b, std::nullopt, driver)), shortest);
    }
    // Of rank 1.
    const Tensor ones = at::ones({4, 2}, A.options()), column = at::narrow(ones, 1, 0, 1);
    const auto [half, none, one, sizes] = at::linalg_lstsq(ones, column, std::nullopt, "gelsy");
    expect_near(half, at::full({2, 1}, Scalar(0.5), A.options()));
    EXPECT_EQ(at::item(one).toLong(), 1);
  });
}

TEST(CudaLinalg, FactorsWithoutExchanges) {
  on_device([] {
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{4, 4}, {3, 4, 4}, {2, 3, 5}, {5, 3}}) {
      Tensor A = numbers(sizes);
      Tensor diagonal = at::diagonal(A, 0, -2, -1);
      at::fill_(diagonal, Scalar(6));
      const auto [LU, pivots, info] = at::linalg_lu_factor_ex(A, false);
      const Tensor order = at::arange(Scalar(1), Scalar(pivots.size(-1) + 1), pivots.options());
      EXPECT_TRUE(at::item(at::all(at::eq(pivots, order))).toBool());
      EXPECT_FALSE(at::item(at::any(info)).toBool());
      const auto [P, L, U] = at::lu_unpack(LU, pivots);
      expect_near(at::matmul(L, U), A);
      const auto [none, lower, upper] = at::linalg_lu(A, false);
      EXPECT_EQ(none.numel(), 0);
      expect_near(at::matmul(lower, upper), A);
      if (A.size(-1) != A.size(-2)) continue;
      expect_near(at::matmul(A, at::linalg_lu_solve(LU, pivots, A)),
                  at::matmul(A, at::expand(at::eye(4, 4, A.options()), A.sizes())));
    }
    EXPECT_NE(error_of([] {
                at::linalg_lu_factor(at::zeros({2, 2}, TensorOptions().device(kGpu)), false);
              }).find("torch.linalg.lu_factor: U[1,1] is zero"),
              std::string::npos);
  });
}

TEST(CudaLinalg, NothingWaitsForFactorsThatMayFail) {
  in_own_process([] {
    cuda_standin::reset({.execution = cuda_standin::Execution::kLazy});
    const Tensor A = regular({3, 4, 4}), B = numbers({3, 4, 2}), one = regular({4, 4});
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    cuda_standin::clear_trace();
    const auto [inverse, info] = at::linalg_inv_ex(A);
    const auto [solution, solved] = at::linalg_solve_ex(A, B);
    const auto [L, found] = at::linalg_cholesky_ex(one);
    const auto [LU, pivots, factored] = at::linalg_lu_factor_ex(one);
    const auto [sign, log] = at::linalg_slogdet(A);
    const Tensor det = at::linalg_det(one);
    const auto [Q, R] = at::linalg_qr(A);
    const auto [LD, order, done] = at::linalg_ldl_factor_ex(A);
    const Tensor again = at::linalg_ldl_solve(LD, order, B);
    const Tensor product = at::lu_solve(at::narrow(B, 0, 0, 1), at::unsqueeze(LU, 0), at::unsqueeze(pivots, 0));
    EXPECT_TRUE(cuda_standin::trace().empty()) << cuda_standin::trace()[0].name;
    expect_near(at::matmul(A, inverse), at::expand(at::eye(4, 4, A.options()), {3, 4, 4}));
    expect_near(at::matmul(A, solution), B);
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaLinalg, SingularMatricesNameTheirPlace) {
  on_device([] {
    Tensor A = regular({3, 4, 4});
    Tensor second = at::select(A, 0, 1);
    at::zero_(second);
    EXPECT_NE(error_of([&] { at::linalg_inv(A); })
                  .find("linalg.inv: (Batch element 1): The diagonal element 1 is zero, the inversion could not be "
                        "completed because the input matrix is singular."),
              std::string::npos);
    EXPECT_NE(error_of([&] { at::linalg_cholesky(A); }).find("linalg.cholesky: (Batch element"), std::string::npos);
    EXPECT_EQ(at::item(at::linalg_det(second)).toDouble(), 0);
    at::fill_(second, Scalar(NAN));
    EXPECT_NE(error_of([&] { at::linalg_svd(A); })
                  .find("linalg.svd: (Batch element 1): The algorithm failed to converge because the input matrix "
                        "contained non-finite values."),
              std::string::npos);
    EXPECT_NE(error_of([&] { at::linalg_eig(A); }).find("input tensor should not contain infs or NaNs."),
              std::string::npos);
  });
}

// Kernels of L D L^H: sizes around a warp, every kind of pivot, and the same bits in every order of threads.
void check_hermitian_factors() {
  for (const ScalarType type : kTypes) {
    for (const int64_t n : {1, 2, 5, 33}) {
      for (const bool hermitian : {false, true}) {
        const Tensor half = numbers({2, n, n}, type);
        const Tensor A = at::add(half, hermitian ? at::adjoint(half) : at::transpose(half, -2, -1));
        const Tensor B = numbers({2, n, 3}, type);
        std::vector<Tensor> first;
        for (const simt::Order order : {simt::Order::kForward, simt::Order::kReverse, simt::Order::kRandom}) {
          simt::options() = {.order = order, .seed = 5};
          const auto [LD, pivots, info] = at::linalg_ldl_factor_ex(A, hermitian);
          const Tensor X = at::linalg_ldl_solve(LD, pivots, B, hermitian);
          if (first.empty()) {
            first = {LD, pivots, X};
            expect_near(at::matmul(A, X), B);
            const Tensor host = at::to(A, Device(DeviceType::CPU), type);
            const auto [expected, expected_pivots, none] = at::linalg_ldl_factor_ex(host, hermitian);
            expect_near(LD, expected);
            expect_near(pivots, expected_pivots);
            EXPECT_FALSE(at::item(at::any(info)).toBool());
          } else {
            EXPECT_TRUE(at::equal(LD, first[0]));
            EXPECT_TRUE(at::equal(pivots, first[1]));
            EXPECT_TRUE(at::equal(X, first[2]));
          }
        }
        simt::options() = {};
      }
    }
  }
  const auto [LD, pivots, info] = at::linalg_ldl_factor_ex(at::zeros({2, 3, 3}, TensorOptions().device(kGpu)));
  expect_near(info, at::ones({2}, info.options()));
}

TEST(CudaLinalg, HermitianFactors) {
  in_own_process([] {
    cuda_standin::reset();
    check_hermitian_factors();
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

TEST(CudaLinalg, PivotsOfNoFactorizationEndTheLaunch) {
  const auto ends_with = [](const std::function<void()>& body, const std::string& text) {
    in_own_process([&] {
      cuda_standin::reset();
      EXPECT_NE(error_of([&] {
                  body();
                  C10_CUDA_CHECK(cudaDeviceSynchronize());
                }).find(text),
                std::string::npos);
    });
  };
  const auto pivots = [](int number) {
    return at::full({3}, Scalar(number), TensorOptions().dtype(kInt).device(kGpu));
  };
  const std::string launch = "unspecified launch failure";
  ends_with([&] { at::lu_unpack(regular({3, 3}), pivots(0)); }, launch);
  ends_with([&] { at::linalg_lu_solve(regular({3, 3}), pivots(4), regular({3, 3})); }, launch);
  ends_with([&] { at::linalg_ldl_solve(regular({3, 3}), pivots(7), regular({3, 3})); }, launch);
}

TEST(CudaLinalg, HandlesAreOneAThreadAndDevice) {
  on_device([] {
    const size_t before = cusolver_standin::live_handles();
    at::linalg_inv(regular({4, 4}));
    at::linalg_inv(regular({4, 4}));
    EXPECT_EQ(cusolver_standin::live_handles(), before + 1);
    for (int i = 0; i < 2; ++i) {
      std::thread([&] { at::linalg_inv(regular({4, 4})); }).join();
    }
    EXPECT_EQ(cusolver_standin::live_handles(), before + 2);  // the second thread has what the first one left
    const Device other(DeviceType::CUDA, 1);
    const Tensor A = to_gpu(matrix_testing::random_tensor({4, 4}, kDouble), other);
    const Tensor X = at::linalg_solve(A, A);
    EXPECT_EQ(X.device(), other);
    EXPECT_EQ(cusolver_standin::live_handles(), before + 3);
    const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
    const c10::cuda::CUDAStreamGuard guard(stream);
    const Tensor B = regular({3, 4, 4});
    cuda_standin::clear_trace();
    const Tensor inverse = at::linalg_inv(B);
    for (const cuda_standin::Executed& done : cuda_standin::trace()) {
      if (done.kind == cuda_standin::WorkKind::kLibrary) EXPECT_EQ(done.stream, stream.stream());
    }
  });
}

TEST(CudaLinalg, EachCallOfTheRuntimeMayFail) {
  const auto body = [] {
    const Tensor A = regular({3, 4, 4});
    expect_near(at::matmul(A, at::linalg_solve(A, A)), A);
    const auto [LD, pivots] = at::linalg_ldl_factor(A);
    at::item(at::sum(std::get<1>(at::linalg_svd(A))));
  };
  // How many there are, found in a process of its own.
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  in_own_process([&] {
    cuda_standin::reset();
    body();
    const auto count = static_cast<int64_t>(cuda_standin::calls());
    EXPECT_EQ(::write(ends[1], &count, sizeof count), static_cast<ssize_t>(sizeof count));
  });
  int64_t calls = 0;
  ASSERT_EQ(::read(ends[0], &calls, sizeof calls), static_cast<ssize_t>(sizeof calls));
  ::close(ends[0]);
  ::close(ends[1]);
  ASSERT_GT(calls, 20);
  for (int64_t n = 0; n < calls; ++n) {
    in_own_process([&] {
      SCOPED_TRACE("call " + std::to_string(n) + " fails");
      cuda_standin::reset({.fail_call = n, .fail_releases = false});
      const std::string error = error_of(body);
      if (cuda_standin::failed_call() == "cudaGetDeviceCount") return;  // no device is seen from then on
      const auto names = [&](const char* text) { return error.find(text) != std::string::npos; };
      // Of some, as an allocation that is tried again, nothing is seen.
      EXPECT_TRUE(error.empty() || names("CUDA error: ") || names("cusolver error: ") || names("CUDA out of memory"))
          << error;
      body();
      cuda::clearCublasWorkspaces();
      c10::cuda::testing::empty_caches();
      EXPECT_EQ(cuda_standin::misuse(), "");
      EXPECT_EQ(c10::cuda::testing::leaks_but_streams(), "");
    });
  }
}

TEST(CudaLinalg, FailingCallsAreNamed) {
  in_own_process([] {
    cuda_standin::reset();
    const Tensor A = regular({4, 4});
    const auto body = [&] { at::linalg_svd(at::linalg_inv(A)); };
    body();
    cusolver_standin::reset();
    body();
    const auto calls = static_cast<int64_t>(cusolver_standin::calls());
    ASSERT_GT(calls, 5);
    for (int64_t n = 0; n < calls; ++n) {
      cusolver_standin::reset({.fail_call = n, .fail_with = CUSOLVER_STATUS_INTERNAL_ERROR});
      const std::string error = error_of(body);
      EXPECT_NE(error.find("cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDn"),
                std::string::npos)
          << n << ": " << error;
    }
    cusolver_standin::reset();
    body();
    EXPECT_EQ(cuda_standin::misuse(), "");
  });
}

}  // namespace
}  // namespace at
