#include "autograd/derivatives/linalg_functions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"

namespace torch::autograd::generated {
namespace {

// a + b where either may be undefined.
Tensor plus(Tensor a, const Tensor& b) {
  if (!a.defined()) return b;
  return b.defined() ? at::add(a, b) : a;
}

Tensor minus(const Tensor& a, const Tensor& b) {
  if (!b.defined()) return a;
  return a.defined() ? at::sub(a, b) : at::neg(b);
}

Tensor diagonal_of(const Tensor& t) {
  return at::diagonal(t, 0, -2, -1);
}

Tensor unit(const Tensor& like, int64_t n) {
  return at::eye(n, n, like.options());
}

// values[j] - values[i] at (i, j), 1 on the diagonal.
Tensor gaps(const Tensor& values) {
  const Tensor differences = at::sub(at::unsqueeze(values, -2), at::unsqueeze(values, -1));
  return at::add(differences, unit(values, values.size(-1)));
}

Tensor without_diagonal(const Tensor& t) {
  return at::sub(t, at::diag_embed(diagonal_of(t)));
}

Tensor scale_columns(const Tensor& t, const Tensor& factors) {
  return at::mul(t, at::unsqueeze(factors, -2));
}
Tensor scale_rows(const Tensor& t, const Tensor& factors) {
  return at::mul(t, at::unsqueeze(factors, -1));
}

// Complex vectors are given but for a phase; a loss that depends on it has no derivative.
void check_phase(const char* what, const char* vectors, const Tensor& phase) {
  if (!phase.is_complex() || phase.numel() == 0) return;
  const Tensor largest = at::amax(at::reshape(at::abs(at::imag(phase)), {-1}), IntArrayRef{0});
  TORCH_CHECK(
      largest.is_meta() || at::item(largest).toDouble() <= 1e-2, what, ": The ", vectors,
      " in the complex case are specified up to multiplication by e^{i phi}. The specified loss function depends on "
      "this quantity, so it is ill-defined.");
}

// X with A^H X = B, or X A^H = B. The factors serve where that is not differentiated again; `transposed`: those of A^T.
Tensor adjoint_solution(const Tensor& A, const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left,
                        bool transposed = false) {
  if (GradMode::is_enabled()) return at::linalg_solve(adjoint(A), B, left);
  return at::linalg_lu_solve(LU, pivots, B, left, !transposed);
}

}  // namespace

Tensor linalg_inv_grad(const Tensor& grad, const Tensor& inverse) {
  const Tensor turned = adjoint(inverse);
  return at::neg(at::matmul(turned, at::matmul(grad, turned)));
}

std::tuple<Tensor, Tensor> linalg_solve_grad(const Tensor& grad, const Tensor& A, IntArrayRef b_sizes,
                                             const Tensor& result, const Tensor& LU, const Tensor& pivots, bool left,
                                             std::array<bool, 2> mask) {
  const int64_t rank = static_cast<int64_t>(b_sizes.size());
  const bool vector = rank == 1 || (A.dim() - 1 == rank && b_sizes == A.sizes().slice(0, static_cast<size_t>(rank)));
  const Tensor X = vector ? at::unsqueeze(result, -1) : result;
  Tensor grad_b = adjoint_solution(A, LU, pivots, vector ? at::unsqueeze(grad, -1) : grad, left), grad_a;
  if (mask[0]) {
    grad_a = at::neg(left ? at::matmul(grad_b, adjoint(X)) : at::matmul(adjoint(X), grad_b));
    grad_a = at::sum_to_size(grad_a, A.sizes());
  }
  if (!mask[1]) return {std::move(grad_a), Tensor()};
  if (vector) grad_b = at::squeeze(grad_b, -1);
  return {std::move(grad_a), at::sum_to_size(grad_b, b_sizes)};
}

namespace {

// At each place the product of the other numbers along the last dimension.
Tensor products_of_others(const Tensor& t) {
  const Tensor same = at::to(unit(t, t.size(-1)), kBool);
  return at::prod(at::where(same, at::ones({}, t.options()), at::unsqueeze(t, -2)), -1);
}

}  // namespace

// The gradient is that of the matrix of cofactors; with A = U S V^H singular it is made of the products of all but one
// of the singular values.
Tensor linalg_det_grad(const Tensor& grad, const Tensor& det, const Tensor& A, const Tensor& LU, const Tensor& pivots) {
  if (A.numel() == 0) return at::zeros_like(A);
  const bool singular = !A.is_meta() && at::item(at::any(at::eq(diagonal_of(LU), Scalar(0)))).toBool();
  if (singular) {
    const auto [U, S, Vh] = at::linalg_svd(A);
    const Tensor phase = at::conj(at::mul(at::linalg_det(U), at::linalg_det(Vh)));
    const Tensor others = at::mul(at::unsqueeze(at::mul(grad, phase), -1), products_of_others(S));
    return at::matmul(scale_columns(U, others), Vh);
  }
  const Tensor scale = at::unsqueeze(at::unsqueeze(at::mul(grad, at::conj(det)), -1), -1);
  return adjoint_solution(A, LU, pivots, at::mul(scale, unit(A, A.size(-1))), true, !A.is_complex());
}

Tensor linalg_slogdet_grad(const Tensor& grad_sign, const Tensor& grad_log, const Tensor& A, const Tensor& sign,
                           const Tensor& LU, const Tensor& pivots) {
  Tensor scale = grad_log;
  if (A.is_complex()) {
    Tensor imaginary;
    if (grad_sign.defined()) imaginary = at::neg(at::imag(at::mul(at::conj(grad_sign), sign)));
    if (!scale.defined()) scale = imaginary.defined() ? at::zeros_like(imaginary) : Tensor();
    if (!scale.defined()) return {};
    scale = imaginary.defined() ? at::complex(scale, imaginary) : at::to(scale, A.scalar_type());
  }
  if (!scale.defined()) return {};
  const Tensor right = at::mul(at::unsqueeze(at::unsqueeze(scale, -1), -1), unit(A, A.size(-1)));
  return adjoint_solution(A, LU, pivots, right, true, !A.is_complex());
}

// Of A = P L U with more columns than rows the others are L^-1 P^T A, with more rows P^T A U^-1.
Tensor linalg_lu_grad(const Tensor& grad, const Tensor& LU, const Tensor& pivots) {
  const int64_t m = LU.size(-2), n = LU.size(-1), k = std::min(m, n);
  const auto part = [](const Tensor& t, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    return at::narrow(at::narrow(t, -2, row, rows), -1, column, columns);
  };
  const Tensor P = std::get<0>(at::lu_unpack(LU, pivots, false, true));
  const Tensor square = part(LU, 0, k, 0, k), grad_square = part(grad, 0, k, 0, k);
  const Tensor upper = adjoint(at::triu(square));
  const Tensor lower = adjoint(at::add(at::tril(square, -1), unit(LU, k)));
  Tensor of_l = at::matmul(lower, at::tril(grad_square, -1)), of_u = at::matmul(at::triu(grad_square), upper);
  if (n > m) {
    const Tensor rest = adjoint(part(LU, 0, k, k, n - k));
    of_l = at::sub(of_l, at::matmul(part(grad, 0, k, k, n - k), rest));
  } else if (m > n) {
    const Tensor rest = adjoint(part(LU, k, m - k, 0, k));
    of_u = at::sub(of_u, at::matmul(rest, part(grad, k, m - k, 0, k)));
  }
  const Tensor inner = at::add(at::tril(of_l, -1), at::triu(of_u));
  Tensor first = at::linalg_solve_triangular(upper, inner, false, false, false);
  if (n > m) first = at::cat({first, part(grad, 0, k, k, n - k)}, -1);
  first = at::linalg_solve_triangular(lower, first, true, true, true);
  if (m > n) {
    const Tensor below = at::linalg_solve_triangular(upper, part(grad, k, m - k, 0, k), false, false, false);
    first = at::cat({first, below}, -2);
  }
  return at::matmul(P, first);
}

Tensor lu_unpack_grad(const Tensor& grad_l, const Tensor& grad_u, IntArrayRef sizes, bool unpack_data) {
  if (!unpack_data || (!grad_l.defined() && !grad_u.defined())) return {};
  const int64_t m = sizes[sizes.size() - 2], n = sizes[sizes.size() - 1], k = std::min(m, n);
  Tensor lower, upper;
  if (grad_l.defined()) lower = at::constant_pad_nd(at::tril(grad_l, -1), {0, n - k});
  if (grad_u.defined()) upper = at::constant_pad_nd(at::triu(grad_u), {0, 0, 0, m - k});
  return plus(lower, upper);
}

Tensor linalg_cholesky_grad(const Tensor& grad, const Tensor& factor, bool upper) {
  const Tensor L = upper ? adjoint(factor) : factor, grad_l = upper ? adjoint(grad) : grad;
  const Tensor phi = at::matmul(adjoint(L), grad_l);
  const Tensor both = at::mul(at::add(at::tril(phi), adjoint(at::tril(phi, -1))), Scalar(0.5));
  return at::linalg_solve_triangular(L, at::linalg_solve_triangular(adjoint(L), both, true, true, false), false, false,
                                     false);
}

namespace {

// The gradient of F in F F^H, or F^H F with `upper`, from that of the product.
Tensor factor_grad(const Tensor& grad_product, const Tensor& factor, bool upper) {
  const Tensor both = at::add(grad_product, adjoint(grad_product));
  return upper ? at::matmul(factor, both) : at::matmul(both, factor);
}

}  // namespace

std::tuple<Tensor, Tensor> cholesky_solve_grad(const Tensor& grad, IntArrayRef b_sizes, const Tensor& factor,
                                               bool upper, const Tensor& result, std::array<bool, 2> mask) {
  const Tensor grad_b = at::cholesky_solve(grad, factor, upper);
  Tensor first, second;
  if (mask[0]) first = at::sum_to_size(grad_b, b_sizes);
  if (mask[1]) {
    const Tensor grad_product = at::neg(at::matmul(grad_b, adjoint(result)));
    second = at::sum_to_size(factor_grad(grad_product, factor, upper), factor.sizes());
  }
  return {std::move(first), std::move(second)};
}

Tensor cholesky_inverse_grad(const Tensor& grad, const Tensor& factor, bool upper, const Tensor& inverse) {
  return factor_grad(at::neg(at::matmul(inverse, at::matmul(grad, inverse))), factor, upper);
}

std::tuple<Tensor, Tensor> linalg_solve_triangular_grad(const Tensor& grad, const Tensor& A, IntArrayRef b_sizes,
                                                        const Tensor& result, bool upper, bool left, bool unitriangular,
                                                        std::array<bool, 2> mask) {
  const Tensor grad_b = at::linalg_solve_triangular(adjoint(A), grad, !upper, left, unitriangular);
  Tensor grad_a;
  if (mask[0]) {
    grad_a = at::neg(left ? at::matmul(grad_b, adjoint(result)) : at::matmul(adjoint(result), grad_b));
    const int64_t skipped = unitriangular ? 1 : 0;
    grad_a = upper ? at::triu(grad_a, skipped) : at::tril(grad_a, -skipped);
    grad_a = at::sum_to_size(grad_a, A.sizes());
  }
  return {std::move(grad_a), mask[1] ? at::sum_to_size(grad_b, b_sizes) : Tensor()};
}

namespace {

// Of a matrix with at least as many rows as columns.
Tensor tall_qr_grad(const Tensor& grad_q, const Tensor& grad_r, const Tensor& Q, const Tensor& R) {
  Tensor product;
  if (grad_r.defined()) product = at::matmul(grad_r, adjoint(R));
  if (grad_q.defined()) product = minus(product, at::matmul(adjoint(Q), grad_q));
  const Tensor upper = at::triu(product);
  const Tensor both = at::add(upper, adjoint(upper)), halves = at::mul(diagonal_of(both), Scalar(0.5));
  const Tensor total = plus(at::matmul(Q, at::sub(both, at::diag_embed(halves))), grad_q);
  return at::linalg_solve_triangular(adjoint(R), total, false, false, false);
}

}  // namespace

Tensor linalg_qr_grad(const Tensor& grad_q, const Tensor& grad_r, const Tensor& Q, const Tensor& R,
                      std::string_view mode) {
  TORCH_CHECK(mode != "r",
              "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
              "linalg.qr(A, mode='reduced') if you are going to require its derivatives.");
  const int64_t m = Q.size(-2), n = R.size(-1);
  TORCH_CHECK(mode == "reduced" || m <= n,
              "The QR decomposition is not differentiable when mode='complete' and nrows > ncols");
  if (!grad_q.defined() && !grad_r.defined()) return {};
  if (m >= n) return tall_qr_grad(grad_q, grad_r, Q, R);
  // The first columns determine Q; the others are Q V.
  const Tensor first = at::narrow(R, -1, 0, m), others = at::narrow(R, -1, m, n - m);
  if (!grad_r.defined()) {
    return at::constant_pad_nd(tall_qr_grad(grad_q, {}, Q, first), {0, n - m});
  }
  const Tensor grad_first = at::narrow(grad_r, -1, 0, m), grad_others = at::matmul(Q, at::narrow(grad_r, -1, m, n - m));
  const Tensor grad_all = plus(at::matmul(Q, at::matmul(others, adjoint(at::narrow(grad_r, -1, m, n - m)))), grad_q);
  return at::cat({tall_qr_grad(grad_all, grad_first, Q, first), grad_others}, -1);
}

Tensor linalg_eigh_grad(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                        const Tensor& vectors) {
  if (!grad_values.defined() && !grad_vectors.defined()) return {};
  TORCH_CHECK(vectors.dim() >= 2, "linalg_eigh: a gradient needs the eigenvectors, compute_v must be true");
  if (!grad_vectors.defined()) return at::matmul(scale_columns(vectors, grad_values), adjoint(vectors));
  const Tensor turned = at::matmul(adjoint(vectors), grad_vectors);
  check_phase("linalg_eigh_backward", "eigenvectors", diagonal_of(turned));
  Tensor inner = at::div(without_diagonal(turned), gaps(values));
  if (grad_values.defined()) inner = at::add(inner, at::diag_embed(grad_values));
  return at::matmul(vectors, at::matmul(inner, adjoint(vectors)));
}

Tensor linalg_eig_grad(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                       const Tensor& vectors, bool real) {
  if (!grad_values.defined() && !grad_vectors.defined()) return {};
  const Tensor turned = adjoint(vectors);
  Tensor inner;
  if (grad_vectors.defined()) {
    const Tensor product = at::matmul(turned, grad_vectors), own = diagonal_of(product);
    check_phase("linalg_eig_backward", "eigenvectors", own);
    const Tensor lengths = scale_columns(at::matmul(turned, vectors), at::real(own));
    inner = at::div(without_diagonal(at::sub(product, lengths)), at::conj(gaps(values)));
  }
  if (grad_values.defined()) inner = plus(inner, at::diag_embed(grad_values));
  const Tensor result = at::linalg_solve(turned, at::matmul(inner, turned));
  return real ? at::real(result) : result;
}

// With U^H dU and V^H dV antihermitian: U (skew(U^H gU) / E S + S skew(V^H gV) / E + gS) V^H, E[i][j] = S[j]^2 -
// S[i]^2, and what lies outside the spaces of U and V.
Tensor linalg_svd_grad(const Tensor& grad_u_in, const Tensor& grad_s, const Tensor& grad_vh_in, const Tensor& U_in,
                       const Tensor& S, const Tensor& Vh_in) {
  if (!grad_u_in.defined() && !grad_s.defined() && !grad_vh_in.defined()) return {};
  TORCH_CHECK(U_in.dim() >= 2, "linalg_svd: a gradient needs the singular vectors, compute_uv must be true");
  const int64_t k = S.size(-1), m = U_in.size(-2), n = Vh_in.size(-1);
  const Tensor U = at::narrow(U_in, -1, 0, k), Vh = at::narrow(Vh_in, -2, 0, k);
  if (!grad_u_in.defined() && !grad_vh_in.defined()) return at::matmul(scale_columns(U, grad_s), Vh);
  const Tensor grad_u = grad_u_in.defined() ? at::narrow(grad_u_in, -1, 0, k) : Tensor();
  const Tensor grad_vh = grad_vh_in.defined() ? at::narrow(grad_vh_in, -2, 0, k) : Tensor();
  const auto skew = [](const Tensor& t) { return at::sub(t, adjoint(t)); };
  const Tensor of_u = grad_u.defined() ? skew(at::matmul(adjoint(U), grad_u)) : Tensor();
  const Tensor of_v = grad_vh.defined() ? skew(at::matmul(Vh, adjoint(grad_vh))) : Tensor();
  check_phase("svd_backward", "singular vectors", diagonal_of(plus(of_u, of_v)));
  Tensor inner =
      plus(of_u.defined() ? scale_columns(of_u, S) : Tensor(), of_v.defined() ? scale_rows(of_v, S) : Tensor());
  inner = at::div(without_diagonal(inner), gaps(at::square(S)));
  if (U.is_complex() && of_u.defined()) {
    inner = at::add(inner, at::diag_embed(at::div(diagonal_of(of_u), at::mul(S, Scalar(2)))));
  }
  if (grad_s.defined()) inner = at::add(inner, at::diag_embed(grad_s));
  Tensor result = at::matmul(U, inner);
  if (m > k && grad_u.defined()) {
    const Tensor outside = at::sub(grad_u, at::matmul(U, at::matmul(adjoint(U), grad_u)));
    result = at::add(result, scale_columns(outside, at::reciprocal(S)));
  }
  result = at::matmul(result, Vh);
  if (n > k && grad_vh.defined()) {
    const Tensor outside = at::sub(grad_vh, at::matmul(at::matmul(grad_vh, adjoint(Vh)), Vh));
    result = at::add(result, at::matmul(U, scale_rows(outside, at::reciprocal(S))));
  }
  return result;
}

std::tuple<Tensor, Tensor> linalg_lstsq_grad(const Tensor& grad, const Tensor& grad_residuals, const Tensor& A,
                                             const Tensor& B, const Tensor& solution, std::array<bool, 2> mask) {
  const bool vector =
      B.dim() == 1 || (A.dim() - 1 == B.dim() && B.sizes() == A.sizes().slice(0, static_cast<size_t>(B.dim())));
  const auto matrix = [&](const Tensor& t) { return vector ? at::unsqueeze(t, -1) : t; };
  const Tensor right = matrix(B), X = matrix(solution);
  Tensor grad_a, grad_b;
  if (grad.defined()) {
    const Tensor pinv = at::linalg_pinv(A, std::optional<double>(), std::optional<double>(), false),
                 grad_x = matrix(grad);
    if (mask[0]) grad_a = linalg_pinv_grad(at::matmul(grad_x, adjoint(right)), pinv, A);
    if (mask[1]) grad_b = at::matmul(adjoint(pinv), grad_x);
  }
  if (grad_residuals.defined() && grad_residuals.numel() != 0) {
    const Tensor off = at::sub(at::matmul(A, X), right);
    const Tensor scaled = at::mul(
        off, at::mul(at::unsqueeze(vector ? at::unsqueeze(grad_residuals, -1) : grad_residuals, -2), Scalar(2)));
    if (mask[0]) grad_a = plus(grad_a, at::matmul(scaled, adjoint(X)));
    if (mask[1]) grad_b = minus(grad_b, scaled);
  }
  if (grad_a.defined()) grad_a = at::sum_to_size(grad_a, A.sizes());
  if (grad_b.defined()) grad_b = at::sum_to_size(vector ? at::squeeze(grad_b, -1) : grad_b, B.sizes());
  return {std::move(grad_a), std::move(grad_b)};
}

// From dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P.
Tensor linalg_pinv_grad(const Tensor& grad, const Tensor& pinv, const Tensor& A) {
  const Tensor turned = adjoint(pinv), grad_turned = adjoint(grad);
  const Tensor inner = at::neg(at::matmul(turned, at::matmul(grad, turned)));
  const Tensor right = at::matmul(at::matmul(grad_turned, pinv), turned);
  const Tensor left = at::matmul(turned, at::matmul(pinv, grad_turned));
  const Tensor outside_rows = at::sub(right, at::matmul(A, at::matmul(pinv, right)));
  const Tensor outside_columns = at::sub(left, at::matmul(at::matmul(left, pinv), A));
  return at::add(inner, at::add(outside_rows, outside_columns));
}

// From dX X + X dX = dA.
Tensor linalg_matrix_sqrth_grad(const Tensor& grad, const Tensor& root) {
  const auto [values, vectors] = at::linalg_eigh(root);
  const Tensor turned = adjoint(vectors), even = at::mul(at::add(grad, adjoint(grad)), Scalar(0.5));
  const Tensor sums = at::add(at::unsqueeze(values, -1), at::unsqueeze(values, -2));
  const Tensor inner = at::div(at::matmul(turned, at::matmul(even, vectors)), sums);
  return at::matmul(vectors, at::matmul(inner, turned));
}

Tensor matrix_exp_change(const Tensor& A, const Tensor& B) {
  const int64_t n = A.size(-1);
  const Tensor upper = at::cat({A, B}, -1), lower = at::cat({at::zeros_like(A), A}, -1);
  const Tensor whole = at::linalg_matrix_exp(at::cat({upper, lower}, -2));
  return at::narrow(at::narrow(whole, -2, 0, n), -1, n, n);
}

}  // namespace torch::autograd::generated
