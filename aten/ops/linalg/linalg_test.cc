// Factorizations, systems and inverses: residuals, layouts, batches, sizes of nothing, arguments that do not fit.
#include "aten/ops/linalg/ops.h"

#include <cmath>
#include <tuple>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/parallel/parallel.h"

namespace {

using namespace at;
using namespace at::testing;

constexpr ScalarType kTypes[] = {kFloat, kDouble, kComplexFloat, kComplexDouble};

Tensor numbers(IntArrayRef sizes, ScalarType dtype = kDouble, unsigned seed = 1) {
  if (!isComplexType(dtype)) return sample(sizes, dtype, seed);
  const ScalarType real = toRealValueType(dtype);
  return at::complex(sample(sizes, real, seed), sample(sizes, real, seed + 1));
}

Tensor unit(int64_t n, const Tensor& like) {
  return at::eye(n, n, like.options());
}

// Far from singular.
Tensor regular(IntArrayRef sizes, ScalarType dtype = kDouble, unsigned seed = 1) {
  const Tensor t = numbers(sizes, dtype, seed);
  return at::add(t, at::mul(unit(t.size(-1), t), Scalar(5)));
}

Tensor positive(IntArrayRef sizes, ScalarType dtype = kDouble) {
  const Tensor t = numbers(sizes, dtype);
  return at::add(at::matmul(t, at::adjoint(t)), unit(t.size(-1), t));
}

double tolerance_of(const Tensor& t) {
  return toRealValueType(t.scalar_type()) == kFloat ? 2e-4 : 1e-11;
}

void expect_near(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(sizes(a), sizes(b));
  ASSERT_EQ(a.scalar_type(), b.scalar_type());
  if (a.numel() == 0) return;
  const std::vector<double> size = values(at::abs(b)), off = values(at::abs(at::sub(a, b)));
  double largest = 1;
  for (double x : size) largest = std::max(largest, x);
  for (double x : off) ASSERT_LT(x, tolerance_of(a) * largest);
}

void expect_orthonormal(const Tensor& q) {
  const Tensor product = at::matmul(at::adjoint(q), q);
  expect_near(product, at::clone(at::expand(unit(q.size(-1), q), product.sizes())));
}

Tensor diagonal(const Tensor& values, const Tensor& like) {
  return at::diag_embed(at::to(values, like.scalar_type()));
}

TEST(LinalgTest, SystemsOfAllDtypesAndLayouts) {
  for (ScalarType type : kTypes) {
    for (int64_t n : {1, 3, 8, 9, 20}) {
      for (const Tensor& A : layouts(regular({2, n, n}, type))) {
        const Tensor B = numbers({2, n, 3}, type, 5);
        expect_near(at::matmul(A, at::linalg_solve(A, B)), B);
        expect_near(at::matmul(at::linalg_solve(A, at::adjoint(B), false), A), at::clone(at::adjoint(B)));
        expect_near(at::matmul(A, at::linalg_inv(A)), at::clone(at::expand(unit(n, A), A.sizes())));
      }
    }
  }
}

TEST(LinalgTest, RightHandSidesAreBroadcast) {
  const Tensor A = regular({2, 1, 3, 3}), B = numbers({4, 3, 2});
  EXPECT_EQ(sizes(at::linalg_solve(A, B)), (std::vector<int64_t>{2, 4, 3, 2}));
  expect_near(at::matmul(A, at::linalg_solve(A, B)), at::clone(at::expand(B, {2, 4, 3, 2})));
  const Tensor v = numbers({3});
  EXPECT_EQ(sizes(at::linalg_solve(regular({5, 3, 3}), v)), (std::vector<int64_t>{5, 3}));
  expect_near(at::mv(regular({3, 3}), at::linalg_solve(regular({3, 3}), v)), v);
  const auto [LU, pivots] = at::linalg_lu_factor(regular({2, 3, 3}));
  expect_near(at::linalg_lu_solve(LU, pivots, numbers({4, 1, 3, 2})),
              at::linalg_solve(regular({2, 3, 3}), numbers({4, 1, 3, 2})));
}

TEST(LinalgTest, LuFactors) {
  for (ScalarType type : kTypes) {
    for (const auto& [m, n] :
         std::vector<std::pair<int64_t, int64_t>>{{4, 4}, {5, 3}, {3, 5}, {12, 12}, {12, 9}, {0, 3}, {3, 0}}) {
      for (const Tensor& A : layouts(numbers({2, m, n}, type))) {
        const auto [P, L, U] = at::linalg_lu(A);
        expect_near(at::matmul(P, at::matmul(L, U)), at::clone(A));
        expect_near(at::tril(L), L);
        expect_near(at::triu(U), U);
      }
    }
    const Tensor A = regular({2, 4, 4}, type), B = numbers({2, 4, 2}, type, 7);
    const auto [LU, pivots, info] = at::linalg_lu_factor_ex(A);
    EXPECT_EQ(pivots.scalar_type(), kInt);
    EXPECT_EQ(values(info), (std::vector<double>{0, 0}));
    expect_near(at::matmul(A, at::linalg_lu_solve(LU, pivots, B)), B);
    expect_near(at::matmul(at::adjoint(A), at::linalg_lu_solve(LU, pivots, B, true, true)), B);
    const Tensor C = at::clone(at::transpose(B, -2, -1));
    expect_near(at::matmul(at::linalg_lu_solve(LU, pivots, C, false), A), C);
    expect_near(at::matmul(at::linalg_lu_solve(LU, pivots, C, false, true), at::adjoint(A)), C);
    expect_near(at::lu_solve(B, LU, pivots), at::linalg_lu_solve(LU, pivots, B));
  }
}

TEST(LinalgTest, Determinants) {
  expect_close(at::linalg_det(tensor_of({1, 2, 3, 4}, {2, 2}, kDouble)), {-2}, 1e-12, 1e-12);
  for (ScalarType type : kTypes) {
    const Tensor A = regular({3, 4, 4}, type), B = regular({3, 4, 4}, type, 9);
    expect_near(at::linalg_det(at::matmul(A, B)), at::mul(at::linalg_det(A), at::linalg_det(B)));
    const auto [sign, log] = at::linalg_slogdet(A);
    EXPECT_FALSE(log.is_complex());
    expect_near(at::mul(sign, at::to(at::exp(log), type)), at::linalg_det(A));
  }
  const auto [sign, log] = at::linalg_slogdet(blank({0, 0}, kDouble));
  EXPECT_EQ(values(sign), std::vector<double>{1});
  EXPECT_EQ(values(log), std::vector<double>{0});
  EXPECT_EQ(values(at::det(blank({0, 0}, kDouble))), std::vector<double>{1});
  EXPECT_TRUE(std::isnan(values(at::logdet(tensor_of({-1}, {1, 1})))[0]));
  EXPECT_EQ(values(at::logdet(tensor_of({0}, {1, 1})))[0], -INFINITY);
}

TEST(LinalgTest, CholeskyFactors) {
  for (ScalarType type : kTypes) {
    for (int64_t n : {1, 4, 8, 13}) {
      for (const Tensor& A : layouts(positive({2, n, n}, type))) {
        const Tensor L = at::linalg_cholesky(A), U = at::linalg_cholesky(A, true), B = numbers({2, n, 3}, type, 3);
        expect_near(at::matmul(L, at::adjoint(L)), at::clone(A));
        expect_near(at::clone(at::adjoint(L)), U);
        expect_near(at::matmul(A, at::cholesky_solve(B, L)), B);
        expect_near(at::matmul(A, at::cholesky_solve(B, U, true)), B);
        expect_near(at::matmul(A, at::cholesky_inverse(L)), at::clone(at::expand(unit(n, A), A.sizes())));
        expect_near(at::cholesky_inverse(U, true), at::cholesky_inverse(L));
      }
    }
  }
  // Only one triangle is read.
  const Tensor A = positive({3, 3});
  expect_near(at::linalg_cholesky(at::tril(A)), at::linalg_cholesky(A));
  expect_near(at::cholesky(at::triu(A), true), at::linalg_cholesky(A, true));
}

TEST(LinalgTest, TriangularSystems) {
  for (ScalarType type : kTypes) {
    for (int64_t n : {3, 11}) {
      for (const Tensor& A : layouts(regular({2, n, n}, type))) {
        const Tensor B = numbers({2, n, 4}, type, 2), C = at::clone(at::transpose(B, -2, -1));
        for (bool upper : {false, true}) {
          const Tensor T = upper ? at::triu(A) : at::tril(A);
          expect_near(at::matmul(T, at::linalg_solve_triangular(A, B, upper)), B);
          expect_near(at::matmul(at::linalg_solve_triangular(A, C, upper, false), T), C);
          expect_near(at::matmul(at::transpose(T, -2, -1), std::get<0>(at::triangular_solve(B, A, upper, true))), B);
        }
        const Tensor strict = at::mul(at::tril(A, -1), Scalar(0.1)), ones = at::add(strict, unit(n, A));
        expect_near(at::matmul(ones, at::linalg_solve_triangular(at::mul(A, Scalar(0.1)), B, false, true, true)), B);
      }
    }
  }
  EXPECT_EQ(sizes(std::get<1>(at::triangular_solve(numbers({3, 2, 1}), regular({2, 2})))),
            (std::vector<int64_t>{3, 2, 2}));
}

TEST(LinalgTest, LdlFactors) {
  for (ScalarType type : kTypes) {
    for (bool hermitian : {false, true}) {
      const Tensor half = numbers({2, 5, 5}, type);
      const Tensor A = at::add(half, hermitian ? at::adjoint(half) : at::transpose(half, -2, -1)),
                   B = numbers({2, 5, 2}, type, 4);
      const auto [LD, pivots] = at::linalg_ldl_factor(A, hermitian);
      expect_near(at::matmul(A, at::linalg_ldl_solve(LD, pivots, B, hermitian)), B);
    }
  }
  const auto [LD, pivots, info] = at::linalg_ldl_factor_ex(at::zeros({2, 2, 2}, blank({}).options()));
  EXPECT_EQ(values(info), (std::vector<double>{1, 1}));
}

TEST(LinalgTest, SingularMatricesNameTheirPlace) {
  const auto [inverse, info] = at::linalg_inv_ex(at::zeros({2, 2}, blank({}).options().dtype(kComplexDouble)));
  EXPECT_EQ(at::sum(at::isnan(inverse)).item<int64_t>(), 4);
  const Tensor good = unit(3, blank({}, kDouble)), bad = at::zeros({3, 3}, good.options());
  const Tensor both = at::clone(at::expand(good, {2, 3, 3}));
  Tensor second = at::select(both, 0, 1);
  at::zero_(second);
  expect_error<LinAlgError>([&] { at::linalg_inv(bad); }, "linalg.inv: The diagonal element 1 is zero, the inversion");
  expect_error<LinAlgError>([&] { at::linalg_inv(both); },
                            "linalg.inv: (Batch element 1): The diagonal element 1 is zero");
  expect_error<LinAlgError>([&] { at::linalg_inv_ex(both, true); }, "linalg.inv_ex: (Batch element 1): ");
  expect_error<LinAlgError>(
      [&] {
        at::linalg_solve(both, numbers({3, 1}));
      },
      "torch.linalg.solve: (Batch element 1): The solver failed because the input matrix is singular.");
  expect_error<LinAlgError>(
      [&] { at::linalg_cholesky(both); },
      "linalg.cholesky: (Batch element 1): The factorization could not be completed because the input is "
      "not positive-definite (the leading minor of order 1 is not positive-definite).");
  expect_error<Error>(
      [&] { at::linalg_lu_factor(both); },
      "torch.linalg.lu_factor: (Batch element 1): U[1,1] is zero and using it on lu_solve would result in a "
      "division by zero.");
  expect_error<LinAlgError>([&] { at::cholesky_inverse(both); },
                            "cholesky_inverse: (Batch element 1): The diagonal element 1");
  expect_error<LinAlgError>([&] { at::linalg_ldl_factor(bad); }, "torch.linalg.ldl_factor: D[1,1] is zero");
  EXPECT_EQ(values(std::get<1>(at::linalg_inv_ex(both))), (std::vector<double>{0, 1}));
  EXPECT_EQ(values(std::get<1>(at::linalg_solve_ex(both, numbers({3, 1})))), (std::vector<double>{0, 1}));
  EXPECT_EQ(values(std::get<1>(at::linalg_cholesky_ex(both))), (std::vector<double>{0, 1}));
}

TEST(LinalgTest, DeterminantsOfNothing) {
  for (const ScalarType type : {ScalarType::Double, ScalarType::BFloat16}) {
    const Tensor ones = at::linalg_det(blank({2, 0, 0}, type));
    EXPECT_EQ(ones.scalar_type(), type);
    expect_close(ones, {1, 1});
  }
  expect_close(at::linalg_det(blank({0, 3, 3})), std::vector<double>());
}

TEST(LinalgTest, ArgumentsThatDoNotFit) {
  const Tensor ints = indices_of({1, 2, 3, 4}, {2, 2}), square = regular({3, 3}), wide = numbers({2, 3});
  expect_error<Error>([&] { at::linalg_inv(numbers({3})); },
                      "linalg.inv: The input tensor A must have at least 2 dimensions.");
  expect_error<Error>([&] { at::linalg_inv(wide); },
                      "linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices");
  expect_error<NotImplementedError>([&] { at::linalg_inv(ints); },
                                    "linalg.inv: Expected a floating point or complex tensor as input. Got Long");
  expect_error<NotImplementedError>(
      [&] {
        at::linalg_inv(sample({2, 2}, kHalf));
      },
      "linalg.inv: Low precision dtypes not supported. Got Half");
  expect_error<NotImplementedError>(
      [&] {
        at::linalg_cholesky(sample({2, 2}, kHalf));
      },
      "\"cholesky_cpu\" not implemented for 'Half'");
  expect_error<Error>(
      [&] {
        at::linalg_solve(square, numbers({4, 2}));
      },
      "linalg.solve: Incompatible shapes of A and B for the equation AX = B (3x3 and 4x2)");
  expect_error<Error>(
      [&] {
        at::linalg_solve(square, numbers({2, 4}), false);
      },
      "linalg.solve: Incompatible shapes of A and B for the equation XA = B (3x3 and 2x4)");
  expect_error<Error>(
      [&] { at::linalg_solve(square, numbers({3}, kFloat)); },
      "linalg.solve: Expected A and B to have the same dtype, but found A of type Double and B of type Float instead");
  expect_error<Error>(
      [&] {
        at::linalg_solve(regular({2, 3, 3}), numbers({4, 3, 2}));
      },
      "at non-singleton dimension 0");
  expect_error<Error>(
      [&] {
        at::cholesky_solve(numbers({4, 2}), square);
      },
      "Incompatible matrix sizes for cholesky_solve: each A matrix is 3 by 3 but each b matrix is 4 by 2");
  expect_error<Error>([&] { at::cholesky_solve(numbers({3}), square); },
                      "b should have at least 2 dimensions, but has 1 dimensions");
  const Tensor pivots = at::to(indices_of({1, 2, 3}, {3}), kInt);
  expect_error<Error>(
      [&] {
        at::linalg_lu_solve(square, indices_of({1, 2, 3}, {3}), wide);
      },
      "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32");
  expect_error<ValueError>([&] { at::lu_unpack(square, at::narrow(pivots, 0, 0, 2)); },
                           "Expected LU_pivots to have shape [3] but got [2] instead.");
  if (device().is_cpu()) {
    expect_error<Error>(
        [&] {
          at::linalg_lu_solve(square, at::mul(pivots, Scalar(0)), numbers({3, 1}));
        },
        "Pivots given to lu_solve must all be greater or equal to 1.");
    expect_error<Error>(
        [&] {
          at::linalg_lu_solve(square, at::mul(pivots, Scalar(9)), numbers({3, 1}));
        },
        "Pivots given to lu_solve must all be smaller or equal to LU.size(-2).");
    expect_error<Error>([&] { at::linalg_lu(square, false); },
                        "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  }
  if (device().is_cuda()) return;  // whose pivots are looked at there: such ones end the launch
  expect_error<Error>([&] { at::lu_unpack(square, at::mul(pivots, Scalar(0))); },
                      "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.");
  expect_error<Error>(
      [&] {
        at::linalg_ldl_solve(square, at::mul(pivots, Scalar(7)), numbers({3, 1}));
      },
      "torch.linalg.ldl_solve: the pivot 7 is not that of a matrix of 3 rows");
}

TEST(LinalgTest, MatricesWithoutElements) {
  const Tensor none = blank({0, 0}, kDouble), batch = blank({0, 3, 3}, kDouble);
  EXPECT_EQ(sizes(at::linalg_inv(none)), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(sizes(at::linalg_cholesky(batch)), (std::vector<int64_t>{0, 3, 3}));
  EXPECT_EQ(sizes(at::linalg_solve(none, blank({0, 2}, kDouble))), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(sizes(at::linalg_solve(regular({3, 3}), blank({3, 0}, kDouble))), (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(sizes(at::linalg_det(batch)), (std::vector<int64_t>{0}));
  EXPECT_EQ(sizes(std::get<0>(at::lu_unpack(none, at::to(indices_of({}, {0}), kInt)))), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(sizes(std::get<0>(at::linalg_eigh(batch))), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(sizes(std::get<0>(at::linalg_eig(none))), (std::vector<int64_t>{0}));
  const auto [U, S, Vh] = at::linalg_svd(blank({0, 2}, kDouble));
  EXPECT_EQ(values(Vh), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(sizes(U), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(values(std::get<0>(at::linalg_qr(blank({2, 0}, kDouble), "complete"))), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(sizes(at::linalg_matrix_exp(batch)), (std::vector<int64_t>{0, 3, 3}));
  EXPECT_EQ(sizes(at::linalg_pinv(blank({2, 0, 3}, kDouble), 1e-3)), (std::vector<int64_t>{2, 3, 0}));
  EXPECT_EQ(values(at::linalg_matrix_rank(blank({2, 0, 3}, kDouble), 1e-3)), (std::vector<double>{0, 0}));
  // Factors of nothing that would have 2^80 elements.
  EXPECT_THROW(at::linalg_svd(blank({0, int64_t{1} << 40}, kDouble)), c10::Error);
  EXPECT_THROW(at::linalg_svd(blank({2, 3, 0, int64_t{1} << 40}, kDouble)), c10::Error);
}

TEST(LinalgTest, OutMayHaveAnyStridesAndBeTheInput) {
  const Tensor A = regular({2, 4, 4});
  const Tensor inverse = at::linalg_inv(A);
  for (const Tensor& out : layouts(numbers({2, 4, 4}, kDouble, 30))) {
    Tensor target = out;
    at::linalg_inv_out(target, A);
    expect_near(target, inverse);
  }
  Tensor self = at::clone(A), empty = blank({0}, kDouble);
  at::linalg_inv_out(self, self);
  expect_near(self, inverse);
  at::linalg_solve_out(empty, A, numbers({2, 4, 1}));
  expect_near(empty, at::linalg_solve(A, numbers({2, 4, 1})));
  Tensor q = blank({0}, kDouble), r = blank({0}, kDouble);
  at::linalg_qr_out(q, r, A);
  expect_near(at::matmul(q, r), A);
}

TEST(LinalgTest, QrFactors) {
  for (ScalarType type : kTypes) {
    for (const auto& [m, n] : std::vector<std::pair<int64_t, int64_t>>{{4, 4}, {6, 3}, {3, 6}, {0, 2}, {2, 0}}) {
      for (const Tensor& A : layouts(numbers({2, m, n}, type))) {
        for (const char* mode : {"reduced", "complete"}) {
          const auto [Q, R] = at::linalg_qr(A, mode);
          expect_orthonormal(Q);
          expect_near(at::triu(R), R);
          if (m * n > 0) expect_near(at::matmul(Q, R), at::clone(A));
        }
        const auto [none, R] = at::linalg_qr(A, "r");
        EXPECT_EQ(none.numel(), 0);
        expect_near(R, std::get<1>(at::linalg_qr(A)));
      }
    }
    const Tensor A = numbers({2, 5, 3}, type);
    const auto [a, tau] = at::geqrf(A);
    const auto [Q, R] = at::linalg_qr(A);
    expect_near(at::linalg_householder_product(a, tau), Q);
    const Tensor C = numbers({2, 5, 4}, type, 3), whole = std::get<0>(at::linalg_qr(A, "complete"));
    expect_near(at::ormqr(a, tau, C), at::matmul(whole, C));
    expect_near(at::ormqr(a, tau, C, true, true), at::matmul(at::adjoint(whole), C));
    const Tensor D = at::clone(at::transpose(C, -2, -1));
    expect_near(at::ormqr(a, tau, D, false), at::matmul(D, whole));
    expect_near(at::ormqr(a, tau, D, false, true), at::matmul(D, at::adjoint(whole)));
  }
  expect_error<Error>(
      [] {
        at::linalg_qr(numbers({2, 2}), "x");
      },
      "qr received unrecognized mode 'x' but expected one of 'reduced' (default), 'r', or 'complete'");
  expect_error<Error>(
      [] {
        at::linalg_householder_product(numbers({2, 3}), numbers({3}));
      },
      "input.shape[-2] must be greater than or equal to input.shape[-1]");
  expect_error<Error>(
      [] {
        at::ormqr(numbers({3, 2}), numbers({2}), numbers({4, 3}));
      },
      "torch.ormqr: other.shape[-2] must be equal to input.shape[-2]");
}

TEST(LinalgTest, EigenvaluesOfHermitianMatrices) {
  for (ScalarType type : kTypes) {
    for (int64_t n : {1, 3, 12}) {
      for (const Tensor& A : layouts(positive({2, n, n}, type))) {
        const auto [L, V] = at::linalg_eigh(A);
        EXPECT_EQ(L.scalar_type(), toRealValueType(type));
        expect_orthonormal(V);
        expect_near(at::matmul(V, at::matmul(diagonal(L, V), at::adjoint(V))), at::clone(A));
        expect_near(at::linalg_eigvalsh(at::triu(A), "U"), L);
        expect_near(std::get<0>(at::linalg_eigh(at::tril(A), "l")), L);
      }
    }
  }
  expect_error<Error>(
      [] {
        at::linalg_eigh(positive({2, 2}), "X");
      },
      "Expected UPLO argument to be 'L' or 'U', but got X");
  expect_error<NotImplementedError>(
      [] {
        at::linalg_eigh(sample({2, 2}, kHalf));
      },
      "\"linalg_eigh_cpu\" not implemented for 'Half'");
}

TEST(LinalgTest, EigenvaluesOfAnyMatrices) {
  for (ScalarType type : kTypes) {
    for (int64_t n : {1, 4, 11}) {
      for (const Tensor& A : layouts(numbers({2, n, n}, type))) {
        const auto [L, V] = at::linalg_eig(A);
        EXPECT_EQ(V.scalar_type(), toComplexType(type));
        expect_near(at::matmul(at::to(A, V.scalar_type()), V), at::matmul(V, at::diag_embed(L)));
        const Tensor sum = at::sum(at::linalg_eigvals(A), IntArrayRef{-1});
        expect_near(sum, at::to(at::sum(at::diagonal(A, 0, -2, -1), IntArrayRef{-1}), V.scalar_type()));
      }
    }
  }
  expect_error<Error>(
      [] {
        at::linalg_eig(at::log(at::sub(numbers({2, 2}), Scalar(100))));
      },
      "torch.linalg.eig: input tensor should not contain infs or NaNs.");
  expect_error<Error>([] { at::linalg_eigvals(indices_of({1}, {1, 1})); }, "Unknown Complex ScalarType for Long");
}

TEST(LinalgTest, SingularValues) {
  for (ScalarType type : kTypes) {
    for (const auto& [m, n] : std::vector<std::pair<int64_t, int64_t>>{{4, 4}, {6, 3}, {3, 6}, {15, 11}}) {
      for (const Tensor& A : layouts(numbers({2, m, n}, type))) {
        const auto [U, S, Vh] = at::linalg_svd(A, false);
        expect_orthonormal(U);
        expect_orthonormal(at::adjoint(Vh));
        expect_near(at::matmul(U, at::matmul(diagonal(S, U), Vh)), at::clone(A));
        expect_near(at::linalg_svdvals(A), S);
        const auto [fullU, fullS, fullVh] = at::linalg_svd(A);
        EXPECT_EQ(fullU.size(-1), m);
        EXPECT_EQ(fullVh.size(-2), n);
        expect_orthonormal(fullU);
        expect_orthonormal(at::adjoint(fullVh));
        const auto [oldU, oldS, V] = at::svd(A);
        expect_near(at::matmul(oldU, at::matmul(diagonal(oldS, U), at::adjoint(V))), at::clone(A));
      }
    }
  }
  EXPECT_EQ(values(at::sum(std::get<0>(at::svd(numbers({3, 2}), true, false)))), std::vector<double>{0});
  expect_error<LinAlgError>(
      [] {
        at::linalg_svd(at::log(at::sub(numbers({2, 2, 2}), Scalar(100))));
      },
      "linalg.svd: (Batch element 0): The algorithm failed to converge because the input matrix contained "
      "non-finite values.");
  if (device().is_cpu()) {
    expect_error<Error>(
        [] {
          at::linalg_svd(numbers({2, 2}), true, "gesvd");
        },
        "keyword argument `driver=` is only supported on CUDA");
  }
}

TEST(LinalgTest, PolarFactorsAndRoots) {
  for (ScalarType type : kTypes) {
    const Tensor A = numbers({2, 5, 3}, type), B = positive({2, 4, 4}, type);
    const auto [U, H] = at::linalg_polar(A);
    expect_orthonormal(U);
    expect_near(at::matmul(U, H), A);
    expect_near(H, at::clone(at::adjoint(H)));
    const Tensor root = at::linalg_matrix_sqrth(B);
    expect_near(at::matmul(root, root), B);
  }
  expect_error<Error>(
      [] {
        at::linalg_polar(numbers({2, 3}));
      },
      "linalg.polar: input must have at least as many rows as columns, but got 2 by 3 matrices");
  expect_error<Error>(
      [] {
        at::linalg_matrix_sqrth(numbers({2, 3}));
      },
      "linalg.matrix_sqrth: A must be batches of square matrices, but they are 2 by 3 matrices");
}

// Batches, which are shared out over the threads and taken several matrices at once: each matrix has its own solution,
// the same bits with any number of threads.
TEST(LinalgTest, BatchesOfSmallMatrices) {
  const int threads = at::get_num_threads();
  for (const ScalarType dtype : {kFloat, kDouble}) {
    for (const int64_t count : {7, 8, 9, 17, 50}) {
      const Tensor A = positive({count, 16, 16}, dtype), B = numbers({count, 16, 3}, dtype, 2);
      const auto all = [&] {
        const auto [values, vectors] = at::linalg_eigh(A);
        const Tensor L = at::linalg_cholesky(A);
        return std::vector<Tensor>{at::linalg_solve(A, B), at::linalg_inv(A), L, at::linalg_det(A),
                                   at::cholesky_solve(B, L), values, vectors};
      };
      at::set_num_threads(1);
      const std::vector<Tensor> one = all();
      at::set_num_threads(3);
      const std::vector<Tensor> several = all();
      at::set_num_threads(threads);
      for (size_t i = 0; i < one.size(); ++i) expect_close(several[i], values(one[i]), 0, 0);
      expect_near(at::matmul(A, one[0]), B);
      expect_near(at::matmul(one[2], at::transpose(one[2], -2, -1)), A);
      expect_near(at::matmul(A, one[6]), at::mul(one[6], at::unsqueeze(one[5], -2)));
      expect_near(one[4], one[0]);
    }
  }
}

}  // namespace
