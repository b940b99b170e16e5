#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "aten/core/tensor.h"

// Gradients of factorizations, solutions and spectra. Gradients of results that nothing depends on are undefined: where
// eigenvalues or singular values coincide, those of the vectors do not exist, those of the values do.
namespace torch::autograd::generated {

using namespace at;

Tensor linalg_inv_grad(const Tensor& grad, const Tensor& inverse);
std::tuple<Tensor, Tensor> linalg_solve_grad(const Tensor& grad, const Tensor& A, IntArrayRef b_sizes,
                                             const Tensor& result, const Tensor& LU, const Tensor& pivots, bool left,
                                             std::array<bool, 2> mask);
Tensor linalg_det_grad(const Tensor& grad, const Tensor& det, const Tensor& A, const Tensor& LU, const Tensor& pivots);
Tensor linalg_slogdet_grad(const Tensor& grad_sign, const Tensor& grad_log, const Tensor& A, const Tensor& sign,
                           const Tensor& LU, const Tensor& pivots);
Tensor linalg_lu_grad(const Tensor& grad, const Tensor& LU, const Tensor& pivots);
Tensor lu_unpack_grad(const Tensor& grad_l, const Tensor& grad_u, IntArrayRef sizes, bool unpack_data);
Tensor linalg_cholesky_grad(const Tensor& grad, const Tensor& L, bool upper);
std::tuple<Tensor, Tensor> cholesky_solve_grad(const Tensor& grad, IntArrayRef b_sizes, const Tensor& factor,
                                               bool upper, const Tensor& result, std::array<bool, 2> mask);
Tensor cholesky_inverse_grad(const Tensor& grad, const Tensor& factor, bool upper, const Tensor& inverse);
std::tuple<Tensor, Tensor> linalg_solve_triangular_grad(const Tensor& grad, const Tensor& A, IntArrayRef b_sizes,
                                                        const Tensor& result, bool upper, bool left, bool unitriangular,
                                                        std::array<bool, 2> mask);
Tensor linalg_qr_grad(const Tensor& grad_q, const Tensor& grad_r, const Tensor& Q, const Tensor& R,
                      std::string_view mode);
Tensor linalg_eigh_grad(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                        const Tensor& vectors);
Tensor linalg_eig_grad(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                       const Tensor& vectors, bool real);
Tensor linalg_svd_grad(const Tensor& grad_u, const Tensor& grad_s, const Tensor& grad_vh, const Tensor& U,
                       const Tensor& S, const Tensor& Vh);
std::tuple<Tensor, Tensor> linalg_lstsq_grad(const Tensor& grad, const Tensor& grad_residuals, const Tensor& A,
                                             const Tensor& B, const Tensor& solution, std::array<bool, 2> mask);
Tensor linalg_pinv_grad(const Tensor& grad, const Tensor& pinv, const Tensor& A);
/// Of the positive-semidefinite square root of a Hermitian matrix.
Tensor linalg_matrix_sqrth_grad(const Tensor& grad, const Tensor& root);
/// The upper right block of the exponential of [[A, B], [0, A]]: how exp(A) changes with A in direction B.
Tensor matrix_exp_change(const Tensor& A, const Tensor& B);

}  // namespace torch::autograd::generated
