#include "autograd/lowrank/lowrank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/test_support.h"

namespace torch {
namespace {

using at::Tensor;
using autograd::test::message_of;
using autograd::test::numbers;

// sin(i^2), a matrix of full rank.
Tensor sample(at::IntArrayRef sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  const Tensor i = at::arange(1, count + 1, at::kDouble);
  return at::reshape(at::sin(at::mul(i, i)), sizes);
}

Tensor rebuilt(const std::tuple<Tensor, Tensor, Tensor>& svd) {
  const auto& [u, s, v] = svd;
  return at::matmul(at::mul(u, at::unsqueeze(s, -2)), at::conj(at::transpose(v, -2, -1)));
}

void expect_near(const Tensor& got, const std::vector<double>& expected, double error = 1e-9) {
  const std::vector<double> values = numbers(got);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], error) << i;
}

void expect_orthonormal(const Tensor& x) {
  const Tensor gram = at::matmul(at::conj(at::transpose(x, -2, -1)), x);
  EXPECT_TRUE(at::allclose(gram, at::eye(x.size(-1), gram.options()).expand_as(gram), 1e-6, 1e-6)) << gram;
}

// 2 on the diagonal and -1 beside it: eigenvalues 2 - 2 cos(pi j / (m + 1)).
Tensor laplacian(int64_t m, at::ScalarType type = at::kDouble) {
  const Tensor beside = at::diag_embed(at::full({m - 1}, -1.0, type), 1);
  return at::add(at::mul(at::eye(m, type), 2), at::add(beside, beside.t()));
}
double laplacian_eigenvalue(int64_t m, int64_t j) {
  return 2 - 2 * std::cos(M_PI * double(j) / double(m + 1));
}

TEST(SvdLowrank, DrawsAsPyTorchDoes) {
  // Recorded from PyTorch 2.15 after manual_seed(3).
  const auto values = [](const Tensor& a, int64_t q, int64_t niter, std::optional<Tensor> m = std::nullopt) {
    at::manual_seed(3);
    return std::get<1>(svd_lowrank(a, q, niter, m));
  };
  const Tensor a = sample({6, 5});
  expect_near(values(a, 2, 1), {2.3014776119, 2.1410453927});
  expect_near(values(a.t(), 2, 1), {2.3014776119, 2.1410453927});
  expect_near(values(a, 3, 0), {2.2879544494, 2.0142118343, 0.9969034760});
  expect_near(values(a, 2, 0, at::mean(a, {0}, true)), {2.2953429305, 1.9283420929});
  expect_near(values(at::reshape(a, {2, 3, 5}), 1, 1), {1.6752082929, 2.0004741349});
  at::manual_seed(3);
  expect_near(std::get<1>(pca_lowrank(a, 2, true, 1)), {2.2991128423, 2.0486132756});
  at::manual_seed(3);
  expect_near(std::get<1>(pca_lowrank(a.to_sparse(), 2, true, 1)), {2.2991128423, 2.0486132756});
}

TEST(SvdLowrank, OfMatricesOfLowRank) {
  for (const at::ScalarType type : {at::kDouble, at::kComplexDouble}) {
    for (const std::vector<int64_t>& batch : {std::vector<int64_t>{}, {3}, {2, 2}}) {
      for (const auto [m, n] : {std::pair<int64_t, int64_t>{9, 7}, {7, 9}}) {
        std::vector<int64_t> left = batch, right = batch;
        left.insert(left.end(), {m, 3}), right.insert(right.end(), {3, n});
        const Tensor a = at::matmul(at::randn(left, type), at::randn(right, type));
        const auto svd = svd_lowrank(a, 4);
        EXPECT_TRUE(at::allclose(rebuilt(svd), a));
        expect_orthonormal(std::get<0>(svd));
        expect_orthonormal(std::get<2>(svd));
        EXPECT_TRUE(at::allclose(std::get<1>(svd), at::linalg_svdvals(a).narrow(-1, 0, 4), 1e-5, 1e-8));
      }
    }
  }
  // Less a matrix, one row or one for each of a batch.
  for (const Tensor& m : {sample({2, 4, 5}), sample({4, 5}), sample({1, 5})}) {
    for (const Tensor& a : {sample({2, 4, 5}), sample({2, 5, 4}).transpose(1, 2)}) {
      EXPECT_TRUE(at::allclose(rebuilt(svd_lowrank(a, 4, 4, m)), at::sub(a, m)));
    }
    const Tensor tall = at::transpose(m, -2, -1).contiguous();
    if (m.size(-2) > 1)
      EXPECT_TRUE(at::allclose(rebuilt(svd_lowrank(sample({2, 5, 4}), 4, 4, tall)), at::sub(sample({2, 5, 4}), tall)));
  }
  const auto whole = svd_lowrank(sample({4, 3}));  // q is 6
  EXPECT_EQ(std::get<0>(whole).sizes(), at::IntArrayRef({4, 3}));
  EXPECT_TRUE(at::allclose(rebuilt(whole), sample({4, 3})));
  EXPECT_EQ(std::get<2>(pca_lowrank(sample({6, 5}), 0)).sizes(), at::IntArrayRef({5, 0}));
}

TEST(PcaLowrank, VariancesOfCentredRows) {
  const Tensor a = at::matmul(at::randn({2, 12, 2}, at::kDouble), at::randn({2, 2, 5}, at::kDouble));
  const Tensor centred = at::sub(a, at::mean(a, {-2}, true));
  EXPECT_TRUE(at::allclose(rebuilt(pca_lowrank(a)), centred));
  EXPECT_TRUE(at::allclose(rebuilt(pca_lowrank(a, 3, /*center=*/false)), a));
  // Rows shorter than columns, and sparse: the mean is never subtracted from the elements.
  const Tensor wide = at::mul(sample({4, 9}), at::gt(sample({4, 9}), 0.5));
  const Tensor wide_centred = at::sub(wide, at::mean(wide, {-2}, true));
  EXPECT_TRUE(at::allclose(rebuilt(pca_lowrank(wide.to_sparse(), 4, true, 4)), wide_centred));
  EXPECT_TRUE(at::allclose(rebuilt(pca_lowrank(wide.t().contiguous().to_sparse(), 4, false)), wide.t()));
}

TEST(SvdLowrank, IsDifferentiable) {
  const Tensor a = sample({5, 4}).set_requires_grad(true);
  EXPECT_TRUE(autograd::gradcheck(
      [](const autograd::variable_list& in) {
        at::manual_seed(1);
        return autograd::variable_list{std::get<1>(svd_lowrank(in[0], 4))};
      },
      {a}));
}

TEST(SvdLowrank, BadArguments) {
  EXPECT_EQ(message_of([] { svd_lowrank(at::zeros({3})); }),
            "svd_lowrank: A must have at least 2 dimensions, but has 1");
  EXPECT_EQ(message_of<c10::ValueError>([] {
              svd_lowrank(at::zeros({3, 3}), 2, -1);
            }),
            "svd_lowrank: niter(=-1) must be non-negative integer");
  EXPECT_EQ(message_of<c10::ValueError>([] {
              svd_lowrank(at::zeros({3, 3}), -2);
            }),
            "svd_lowrank: q(=-2) must be non-negative integer");
  EXPECT_EQ(message_of<c10::ValueError>([] {
              pca_lowrank(at::zeros({3, 4}), 4);
            }),
            "pca_lowrank: q(=4) must be non-negative integer and not greater than min(m, n)=3");
  EXPECT_EQ(message_of([] {
              pca_lowrank(at::zeros({3, 4}, at::kLong));
            }),
            "pca_lowrank: A must be floating-point or complex, but is Long");
}

TEST(Lobpcg, EndsOfTheSpectrum) {
  const int64_t m = 60;
  for (const bool sparse : {false, true}) {
    const Tensor a = sparse ? laplacian(m).to_sparse() : laplacian(m);
    for (const bool largest : {false, true}) {
      const auto [e, x] = lobpcg(a, LOBPCGOptions().k(3).n(5).largest(largest).tol(1e-9));
      std::vector<double> expected;
      for (int64_t j = 1; j <= 3; ++j) expected.push_back(laplacian_eigenvalue(m, largest ? m + 1 - j : j));
      expect_near(e, expected, 1e-12);
      EXPECT_EQ(x.sizes(), at::IntArrayRef({m, 3}));
      expect_orthonormal(x);
      EXPECT_TRUE(at::allclose(at::mm(laplacian(m), x), at::mul(x, e), 1e-5, 1e-7));
    }
  }
  const auto [e, x] = lobpcg(laplacian(m, at::kFloat));
  EXPECT_EQ(e.scalar_type(), at::kFloat);
  EXPECT_EQ(x.sizes(), at::IntArrayRef({m, 1}));
  EXPECT_NEAR(e.item<double>(), laplacian_eigenvalue(m, m), 1e-4);
}

TEST(Lobpcg, GeneralisedAndPreconditioned) {
  const int64_t m = 50;
  const Tensor root = at::add(sample({m, m}), at::mul(at::eye(m, at::kDouble), 9));
  const Tensor b = at::matmul(root, root.t()), a = laplacian(m);
  const auto [e, x] = lobpcg(a, LOBPCGOptions().B(b).k(2).largest(false).tol(1e-10));
  EXPECT_TRUE(at::allclose(at::matmul(at::matmul(x.t(), b), x), at::eye(2, at::kDouble), 1e-8, 1e-8));
  const Tensor inverse_root = at::linalg_inv(at::linalg_cholesky(b));
  const Tensor exact = at::linalg_eigvalsh(at::matmul(at::matmul(inverse_root, a), inverse_root.t()));
  EXPECT_TRUE(at::allclose(e, exact.narrow(0, 0, 2), 1e-7, 0)) << e << exact.narrow(0, 0, 2);

  const auto iterations = [&](const std::optional<Tensor>& preconditioner, int64_t most = -1) {
    at::manual_seed(0);
    int64_t count = 0;
    const auto [values, vectors] = lobpcg(
        a, LOBPCGOptions().k(2).largest(false).iK(preconditioner).niter(most).tracker([&](const LOBPCGState& state) {
          EXPECT_EQ(state.iteration, ++count);
          EXPECT_EQ(state.residual_norms.numel(), 2);
        }));
    return count;
  };
  const int64_t plain = iterations(std::nullopt), preconditioned = iterations(at::linalg_inv(a));
  EXPECT_LT(2 * preconditioned, plain);
  EXPECT_EQ(iterations(std::nullopt, 3), 3);
}

TEST(Lobpcg, BatchesAndStarts) {
  const Tensor a = at::stack({laplacian(20), at::mul(laplacian(20), 3), at::eye(20, at::kDouble)});
  const Tensor start = sample({3, 20, 2});
  const auto [e, x] = lobpcg(at::reshape(a, {3, 1, 20, 20}), LOBPCGOptions().X(at::reshape(start, {3, 1, 20, 2})));
  EXPECT_EQ(e.sizes(), at::IntArrayRef({3, 1, 2}));
  EXPECT_EQ(x.sizes(), at::IntArrayRef({3, 1, 20, 2}));
  const double top = laplacian_eigenvalue(20, 20), next = laplacian_eigenvalue(20, 19);
  expect_near(e, {top, next, 3 * top, 3 * next, 1, 1}, 1e-8);
  // As good as found from the start.
  int64_t count = 0;
  lobpcg(a[0], LOBPCGOptions().X(x[0][0]).tracker([&](const LOBPCGState&) { ++count; }));
  EXPECT_LE(count, 1);
  expect_near(std::get<0>(lobpcg(at::zeros({6, 6}, at::kDouble), LOBPCGOptions().k(2))), {0, 0}, 0);
}

TEST(Lobpcg, IsDifferentiable) {
  const Tensor root = sample({8, 8}).set_requires_grad(true);
  const auto pairs = [](const autograd::variable_list& in) {
    at::manual_seed(2);
    const Tensor a = at::add(in[0], in[0].t());
    auto [e, x] = lobpcg(a, LOBPCGOptions().k(2).tol(1e-13));
    x = at::mul(x, at::sign(x.detach().narrow(0, 0, 1)));  // the sign of a vector is free
    return autograd::variable_list{e, x};
  };
  EXPECT_TRUE(autograd::gradcheck(pairs, {root}));
  EXPECT_TRUE(autograd::gradgradcheck(pairs, {root}));
}

TEST(Lobpcg, BadArguments) {
  const Tensor a = laplacian(9);
  EXPECT_EQ(message_of([] {
              lobpcg(at::zeros({3, 4}));
            }),
            "lobpcg: A must be batches of square matrices, but has sizes [3, 4]");
  EXPECT_EQ(message_of([] { lobpcg(at::zeros({3, 3}, at::kLong)); }), "lobpcg: A must be float or double, but is Long");
  EXPECT_EQ(message_of<c10::ValueError>([&] { lobpcg(a, LOBPCGOptions().k(4)); }),
            "lobpcg: A must have at least 3 n = 12 rows, but has 9");
  EXPECT_EQ(message_of<c10::ValueError>([&] { lobpcg(a, LOBPCGOptions().k(0)); }),
            "lobpcg: expected 1 <= k <= n, but got k = 0 and n = 0");
  EXPECT_EQ(message_of<c10::ValueError>([&] { lobpcg(a, LOBPCGOptions().method("x")); }),
            "lobpcg: expected method 'ortho' or 'basic', but got 'x'");
  EXPECT_EQ(message_of<c10::ValueError>([&] {
              lobpcg(a, LOBPCGOptions().X(at::ones({9, 2}, at::kDouble)));
            }),
            "lobpcg: the columns of X are linearly dependent");
  EXPECT_EQ(message_of([&] { lobpcg(a, LOBPCGOptions().B(at::eye(9))); }),
            "lobpcg: B must have the sizes and the dtype of A, [9, 9] and Double");
  EXPECT_EQ(message_of([&] {
              lobpcg(a, LOBPCGOptions().X(at::zeros({8, 2}, at::kDouble)));
            }),
            "lobpcg: X must have 9 rows, the batches and the dtype of A, but has sizes [8, 2]");
  EXPECT_EQ(message_of<c10::NotImplementedError>(
                [&] { lobpcg(laplacian(9).set_requires_grad(true), LOBPCGOptions().B(at::eye(9, at::kDouble))); }),
            "lobpcg: no derivative for a sparse A, or beside a B");
}

}  // namespace
}  // namespace torch
