// Factorizations of CUDA tensors by cuSOLVER and cuBLAS: what LAPACK is to CPU tensors.
//
// Tensors hold a batch of matrices in column-major order, one after the other without gaps, of float, double or complex
// numbers of these; arrays beside them (pivots, `tau`, eigenvalues, `info`) are contiguous. Everything is queued on the
// current stream of the current device; `info` stays there and says of each matrix what LAPACK's says. Nothing is
// waited for, unless the library itself does. Batches of many small matrices go to the libraries' batched functions.
//
// c10::Error names the function of the library that failed. The CPU's kernels call these functions for CUDA tensors;
// there are definitions in programs that link //aten/cuda.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "aten/core/tensor.h"

namespace at::cuda::solver {

/// a [.., m, n] becomes L and U, pivots [.., min(m, n)] are int32, from 1 on. Without `pivot` rows stay where they are.
[[gnu::weak]] void getrf(const Tensor& a, const Tensor& pivots, const Tensor& info, bool pivot);
/// b = op(A)^-1 b with the factors of A, `trans` 'N', 'T' or 'C'.
[[gnu::weak]] void getrs(const Tensor& lu, const Tensor& pivots, char trans, const Tensor& b);
/// Where each of so many rows lies before the row exchanges: [.., rows] int64. A pivot outside [1, rows] ends the
/// launch with an error.
[[gnu::weak]] Tensor permutation(const Tensor& pivots, int64_t rows);

/// The Cholesky factor in one triangle of `a`; the other one is left as it is.
[[gnu::weak]] void potrf(const Tensor& a, bool upper, const Tensor& info);

/// b = op(A)^-1 b with `left`, else b op(A)^-1, of one triangle of `a`; `trans` 'N', 'T' or 'C'.
[[gnu::weak]] void trsm(const Tensor& a, const Tensor& b, bool left, bool upper, char trans, bool unit_diagonal);

/// R in the upper triangle of a [.., m, n], reflectors below, their factors in tau [.., min(m, n)].
[[gnu::weak]] void geqrf(const Tensor& a, const Tensor& tau);
/// q [.., m, n] becomes the first n columns of the product of the reflectors in its first columns.
[[gnu::weak]] void orgqr(const Tensor& q, const Tensor& tau);
/// c = op(Q) c with `left`, else c op(Q).
[[gnu::weak]] void ormqr(const Tensor& a, const Tensor& tau, const Tensor& c, bool left, bool adjoint);

/// Eigenvalues in ascending order; with `vectors` `a` becomes the eigenvectors, else nothing in particular.
[[gnu::weak]] void syevd(const Tensor& a, bool upper, bool vectors, const Tensor& values, const Tensor& info);
/// Complex eigenvalues and, where defined, eigenvectors of any matrices; `a` is overwritten.
[[gnu::weak]] void geev(const Tensor& a, const Tensor& values, const Tensor& vectors, const Tensor& info);
/// Singular values in descending order, and where u and vh are defined singular vectors, as many as there is room for;
/// `a` is overwritten. `driver` "gesvd", "gesvdj", "gesvda" (gesvd where vectors beyond the smaller size are asked for)
/// or none: gesvdj for batches of matrices of up to 32 x 32, else gesvd.
[[gnu::weak]] void svd(const Tensor& a, std::optional<std::string_view> driver, const Tensor& u, const Tensor& values,
                       const Tensor& vh, const Tensor& info);

/// The lower triangle of `a` as L D L^T, or with `hermitian` as L D L^H; pivots [.., n] are LAPACK's.
[[gnu::weak]] void sytrf(const Tensor& a, bool hermitian, const Tensor& pivots, const Tensor& info);
/// b = A^-1 b with these factors.
[[gnu::weak]] void sytrs(const Tensor& a, bool hermitian, const Tensor& pivots, const Tensor& b);

}  // namespace at::cuda::solver
