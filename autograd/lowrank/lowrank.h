#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>

#include "aten/core/tensor.h"

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
  LOBPCGOptions() {}
  /// How many eigenpairs; the number of columns of X, else 1.
  LOBPCGOptions& k(std::optional<int64_t> value) { return k_ = value, *this; }
  /// The symmetric positive definite matrices B of A x = e B x, of A's sizes; the identity where it is absent.
  LOBPCGOptions& B(std::optional<at::Tensor> value) { return B_ = std::move(value), *this; }
  /// Where to begin: (..., m, n), n >= k linearly independent columns. Absent: random numbers of the default generator.
  LOBPCGOptions& X(std::optional<at::Tensor> value) { return X_ = std::move(value), *this; }
  /// The number of random columns to begin with, k where it is absent.
  LOBPCGOptions& n(std::optional<int64_t> value) { return n_ = value, *this; }
  /// A preconditioner, close to the inverse of A (for the smallest eigenvalues), of A's sizes.
  LOBPCGOptions& iK(std::optional<at::Tensor> value) { return iK_ = std::move(value), *this; }
  /// The most iterations; absent or negative: until convergence, at most 1,000 * m.
  LOBPCGOptions& niter(std::optional<int64_t> value) { return niter_ = value, *this; }
  /// A pair has converged where |A x - e B x| <= tol |x| (|A| + |e| |B|); the square root of the dtype's epsilon where
  /// absent.
  LOBPCGOptions& tol(std::optional<double> value) { return tol_ = value, *this; }
  /// The largest eigenvalues (the default) or the smallest.
  LOBPCGOptions& largest(std::optional<bool> value) { return largest_ = value, *this; }
  /// "ortho" (the default) or "basic". Both name the one method that there is: the basis is orthonormal at every step.
  LOBPCGOptions& method(std::optional<std::string> value) { return method_ = std::move(value), *this; }
  /// Called after every iteration of every matrix; what it throws ends the search.
  LOBPCGOptions& tracker(std::function<void(const LOBPCGState&)> value) { return tracker_ = std::move(value), *this; }

  const std::optional<int64_t>& k() const { return k_; }
  const std::optional<at::Tensor>& B() const { return B_; }
  const std::optional<at::Tensor>& X() const { return X_; }
  const std::optional<int64_t>& n() const { return n_; }
  const std::optional<at::Tensor>& iK() const { return iK_; }
  const std::optional<int64_t>& niter() const { return niter_; }
  const std::optional<double>& tol() const { return tol_; }
  const std::optional<bool>& largest() const { return largest_; }
  const std::optional<std::string>& method() const { return method_; }
  const std::function<void(const LOBPCGState&)>& tracker() const { return tracker_; }

 private:
  std::optional<int64_t> k_, n_, niter_;
  std::optional<at::Tensor> B_, X_, iK_;
  std::optional<double> tol_;
  std::optional<bool> largest_;
  std::optional<std::string> method_;
  std::function<void(const LOBPCGState&)> tracker_;
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
