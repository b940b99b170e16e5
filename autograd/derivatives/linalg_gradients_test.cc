// Derivatives of factorizations that read one triangle or give vectors but for a phase: of Hermitian matrices made of
// others, and of what does not depend on phases. What becomes of them where values coincide.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/gradcheck/gradcheck.h"
#include "c10/core/cpu_generator.h"
#include "gtest/gtest.h"

namespace torch::autograd {
namespace {

using namespace at;
using List = variable_list;

Tensor leaf(std::vector<int64_t> sizes, ScalarType dtype) {
  Tensor t = at::randn(sizes, TensorOptions().dtype(dtype));
  t.set_requires_grad(true);
  return t;
}

// Positive-definite, with eigenvalues apart.
Tensor hermitian(const Tensor& x) {
  const int64_t n = x.size(-1);
  const Tensor apart = at::diag(at::to(at::arange(1, n + 1, TensorOptions().dtype(kDouble)), x.scalar_type()));
  return at::add(at::matmul(x, at::adjoint(x)), at::mul(apart, Scalar(3)));
}

// V f V^H, which no phase of the columns of V changes.
Tensor weighted(const Tensor& V) {
  const Tensor f = at::to(at::arange(1, V.size(-1) + 1, TensorOptions().dtype(kDouble)), V.scalar_type());
  return at::matmul(at::mul(V, f), at::adjoint(V));
}

struct Case {
  std::string name;
  std::function<List(const List&)> f;
  std::vector<std::vector<int64_t>> sizes;
  bool forward = true;
};

std::vector<Case> cases() {
  return {
      {"cholesky", [](const List& v) { return List{at::linalg_cholesky(hermitian(v[0]))}; }, {{3, 3}}},
      {"cholesky upper", [](const List& v) { return List{at::linalg_cholesky(hermitian(v[0]), true)}; }, {{2, 2, 2}}},
      {"cholesky_solve",
       [](const List& v) { return List{at::cholesky_solve(v[1], at::linalg_cholesky(hermitian(v[0])))}; },
       {{3, 3}, {2, 3, 2}}},
      {"cholesky_solve upper",
       [](const List& v) { return List{at::cholesky_solve(v[1], at::linalg_cholesky(hermitian(v[0]), true), true)}; },
       {{2, 2, 2}, {2, 1}}},
      {"cholesky_inverse",
       [](const List& v) { return List{at::cholesky_inverse(at::linalg_cholesky(hermitian(v[0])))}; },
       {{3, 3}}},
      {"cholesky_inverse upper",
       [](const List& v) { return List{at::cholesky_inverse(at::linalg_cholesky(hermitian(v[0]), true), true)}; },
       {{3, 3}}},
      {"eigvalsh", [](const List& v) { return List{at::linalg_eigvalsh(hermitian(v[0]))}; }, {{2, 3, 3}}},
      {"eigh",
       [](const List& v) {
         const auto [L, V] = at::linalg_eigh(hermitian(v[0]));
         return List{L, weighted(V)};
       },
       {{3, 3}}},
      {"matrix_sqrth", [](const List& v) { return List{at::linalg_matrix_sqrth(hermitian(v[0]))}; }, {{2, 3, 3}}},
      {"polar",
       [](const List& v) {
         const auto [U, H] = at::linalg_polar(v[0]);
         return List{U, H};
       },
       {{4, 2}}},
      {"eigvals", [](const List& v) { return List{at::linalg_eigvals(v[0])}; }, {{3, 3}}},
      {"eig", [](const List& v) { return List{at::abs(std::get<1>(at::linalg_eig(v[0])))}; }, {{3, 3}}},
      {"svdvals", [](const List& v) { return List{at::linalg_svdvals(v[0])}; }, {{2, 4, 3}}},
      {"svd tall",
       [](const List& v) {
         const auto [U, S, Vh] = at::linalg_svd(v[0], false);
         return List{weighted(U), S, weighted(at::adjoint(Vh)), at::matmul(U, Vh)};
       },
       {{4, 3}}},
      {"svd wide",
       [](const List& v) {
         const auto [U, S, Vh] = at::linalg_svd(v[0], false);
         return List{weighted(U), weighted(at::adjoint(Vh)), at::matmul(U, Vh)};
       },
       {{2, 3}}},
      {"lu_solve",
       [](const List& v) {
         const auto [LU, pivots] = at::linalg_lu_factor(v[0]);
         return List{at::linalg_lu_solve(LU, pivots, v[1]), at::linalg_lu_solve(LU, pivots, v[1], true, true)};
       },
       {{3, 3}, {3, 2}}},
      {"triangular_solve",
       [](const List& v) { return List{std::get<0>(at::triangular_solve(v[1], hermitian(v[0]), true, true))}; },
       {{3, 3}, {3, 2}}},
      {"logdet", [](const List& v) { return List{at::logdet(hermitian(v[0]))}; }, {{3, 3}}},
      {"lstsq residuals",
       [](const List& v) { return List{std::get<1>(at::linalg_lstsq(v[0], v[1], std::nullopt, "gelsd"))}; },
       {{4, 2}, {4, 2}}},
  };
}

TEST(LinalgGradients, FirstAndSecondDerivatives) {
  at::manual_seed(1);
  for (const Case& c : cases()) {
    for (ScalarType dtype : {kDouble, kComplexDouble}) {
      List inputs;
      for (const auto& s : c.sizes) inputs.push_back(leaf(s, dtype));
      try {
        GradcheckOptions options;
        options.check_forward_ad = c.forward;
        const GradcheckResult first = gradcheck(c.f, inputs, options);
        EXPECT_TRUE(first.ok) << c.name << " " << dtype << ": " << first.message;
        if (!first.ok) continue;
        options.check_forward_ad = false;
        const GradcheckResult second = gradgradcheck(c.f, inputs, options);
        EXPECT_TRUE(second.ok) << c.name << " " << dtype << " (second derivative): " << second.message;
      } catch (const std::exception& e) {
        ADD_FAILURE() << c.name << " " << dtype << ": " << e.what();
      }
    }
  }
}

bool is_finite(const Tensor& t) {
  return at::item(at::all(at::isfinite(t))).toBool();
}

// Where values coincide they have a gradient, the vectors have none.
TEST(LinalgGradients, OfValuesThatCoincide) {
  Tensor x = at::eye(3, 3, TensorOptions().dtype(kDouble));
  x.set_requires_grad(true);
  const auto gradient = [&](const Tensor& y) {
    return torch::autograd::grad({at::sum(y)}, {x}, {}, true, false, false)[0];
  };
  EXPECT_TRUE(at::allclose(gradient(at::linalg_svdvals(x)), x));
  EXPECT_TRUE(at::allclose(gradient(at::linalg_eigvalsh(x)), x));
  EXPECT_TRUE(at::allclose(gradient(std::get<1>(at::linalg_svd(x))), x));
  EXPECT_TRUE(is_finite(gradient(at::real(at::linalg_eigvals(x)))));
  EXPECT_FALSE(is_finite(gradient(
      at::mul(std::get<1>(at::linalg_eigh(x)), at::arange(9, TensorOptions().dtype(kDouble)).reshape({3, 3})))));
}

TEST(LinalgGradients, DeterminantsOfSingularMatrices) {
  // d det = trace(adj(A) dA); of diag(0, 2, 2) the matrix of cofactors is diag(4, 0, 0).
  for (ScalarType dtype : {kDouble, kComplexDouble}) {
    Tensor x = at::to(at::diag(at::arange(3, TensorOptions().dtype(kDouble))), dtype);
    x = at::add(x, at::diag(at::to(at::eq(at::arange(3, TensorOptions().dtype(kDouble)), Scalar(1)), dtype)));
    x.set_requires_grad(true);
    const Tensor g =
        torch::autograd::grad({at::abs(at::sub(at::linalg_det(x), Scalar(1)))}, {x}, {}, true, false, false)[0];
    const Tensor expected =
        at::diag(at::mul(at::to(at::eq(at::arange(3, TensorOptions().dtype(kDouble)), Scalar(0)), dtype), Scalar(-4)));
    EXPECT_TRUE(at::allclose(g, expected)) << dtype;
  }
}

TEST(LinalgGradients, WhatDependsOnAPhaseIsRefused) {
  at::manual_seed(3);
  const Tensor x = leaf({3, 3}, kComplexDouble);
  const Tensor weights = at::randn({3, 3}, TensorOptions().dtype(kComplexDouble));
  const auto backward = [&](const Tensor& vectors) {
    torch::autograd::grad({at::real(at::sum(at::mul(vectors, weights)))}, {x}, {}, true, false, false);
  };
  EXPECT_THROW(backward(std::get<1>(at::linalg_eigh(x))), c10::Error);
  EXPECT_THROW(backward(std::get<1>(at::linalg_eig(x))), c10::Error);
  EXPECT_THROW(backward(std::get<0>(at::linalg_svd(x))), c10::Error);
}

TEST(LinalgGradients, FactorsThatHaveNone) {
  const Tensor tall = leaf({4, 2}, kDouble);
  const auto backward = [&](const Tensor& t) { torch::autograd::grad({at::sum(t)}, {tall}, {}, true, false, false); };
  EXPECT_THROW(backward(std::get<1>(at::linalg_qr(tall, "r"))), c10::Error);
  EXPECT_THROW(backward(std::get<1>(at::linalg_qr(tall, "complete"))), c10::Error);
}

}  // namespace
}  // namespace torch::autograd
