#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>

#include "aten/core/tensor.h"
#include "c10/util/arg.h"

// A few singular values or eigenvalues of large matrices, found from products with the matrix alone. Matrices may be
// sparse.
//
//   auto [u, s, v] = torch::svd_lowrank(a, /*q=*/8);                     // a is close to u diag(s) v^H
//   auto [e, x] = torch::lobpcg(laplacian, torch::LOBPCGOptions().k(4).largest(false));
namespace torch {

/// The singular value decomposition of the matrices A (..., m, n), or A - M, up to rank r = min(q, m, n): U (..., m,
/// r), S (..., r) and V (..., n, r) with A close to U diag(S) V^H. The space that A maps random vectors into is found
/// with `niter` more products with A and A^H (N. Halko, P. Martinsson, J. Tropp, Finding structure with randomness,
/// 2009, algorithms 4.4 and 5.1); the error is near the first singular value that is left out if q exceeds the rank
/// that is asked for a little. Draws from the default generator. M broadcasts to A. Differentiable. `q` is 6 where it
/// is absent.
///
/// Throws c10::ValueError for a negative q or niter, c10::Error for fewer than 2 dimensions and for integers.
std::tuple<at::Tensor, at::Tensor, at::Tensor> svd_lowrank(const at::Tensor& A, std::optional<int64_t> q = 6,
                                                           int64_t niter = 2,
                                                           const std::optional<at::Tensor>& M = std::nullopt);

/// The principal components of the rows of A (..., m, n): svd_lowrank of A less the mean of its rows, or of A itself
/// where `center` is false. The columns of V are the principal directions, S^2 / (m - 1) the variances along them, and
/// A V[:, :k] the projection on the first k. A sparse A stays sparse. `q` is min(6, m, n) where it is absent. Throws as
/// svd_lowrank, and c10::ValueError for a q above min(m, n).
std::tuple<at::Tensor, at::Tensor, at::Tensor> pca_lowrank(const at::Tensor& A, std::optional<int64_t> q = std::nullopt,
                                                           bool center = true, int64_t niter = 2);

/// What lobpcg has after an iteration, for a tracker.
struct LOBPCGState {
  int64_t iteration;
  int64_t converged;          // how many of the first pairs
  at::Tensor E;               // (n), float or double
  at::Tensor X;               // (m, n)
  at::Tensor residual_norms;  // (n), relative as `tol` is
};

struct LOBPCGOptions {
  /// How many eigenpairs; the number of columns of X, else 1.
  TORCH_ARG(std::optional<int64_t>, k);
  /// The symmetric positive definite matrices B of A x = e B x, of A's sizes; the identity where it is absent.
  TORCH_ARG(std::optional<at::Tensor>, B);
  /// Where to begin: (..., m, n), n >= k linearly independent columns. Absent: random numbers of the default generator.
  TORCH_ARG(std::optional<at::Tensor>, X);
  /// The number of random columns to begin with, k where it is absent.
  TORCH_ARG(std::optional<int64_t>, n);
  /// A preconditioner, close to the inverse of A (for the smallest eigenvalues), of A's sizes.
  TORCH_ARG(std::optional<at::Tensor>, iK);
  /// The most iterations; negative: until convergence, at most 1,000 * m.
  TORCH_ARG(int64_t, niter) = -1;
  /// A pair has converged where |A x - e B x| <= tol |x| (|A| + |e| |B|); the square root of the dtype's epsilon where
  /// it is absent.
  TORCH_ARG(std::optional<double>, tol);
  /// The largest eigenvalues, or the smallest.
  TORCH_ARG(bool, largest) = true;
  /// "ortho" or "basic". Both name the one method that there is: the basis is orthonormal at every step.
  TORCH_ARG(std::string, method) = "ortho";
  /// Called after every iteration of every matrix; what it throws ends the search.
  TORCH_ARG(std::function<void(const LOBPCGState&)>, tracker);
};

/// The k largest (or smallest) eigenvalues E (..., k), sorted from the end that was asked for, and their eigenvectors
/// X (..., m, k), X^T B X = 1, of the symmetric matrices A (..., m, m), float or double, by locally optimal block
/// preconditioned conjugate gradients (A. Knyazev 2001, with the orthonormal basis of J. Duersch et al. 2018). Of A
/// only products are taken.
///
/// Differentiable in a dense A where B is absent and the eigenvalues are distinct; the gradient of X decomposes A as a
/// whole. Throws c10::Error unless A is square and float or double, k >= 1, n >= k and m >= 3 n;
/// c10::NotImplementedError where B or a sparse A requires a gradient.
std::tuple<at::Tensor, at::Tensor> lobpcg(const at::Tensor& A, const LOBPCGOptions& options = {});

}  // namespace torch
