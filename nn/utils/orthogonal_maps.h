// What orthogonal parametrizations need of matrices, made of operators that have kernels on every device and
// derivatives. All take batches [*, n, n] or [*, n, k]. Should operators of linear algebra get kernels, these take
// their place.
#pragma once

#include "aten/core/tensor.h"

namespace torch::nn::utils::detail {

// The exponential of square matrices: a Taylor polynomial of A / 2^s, squared s times. Reads the norm of A on the host.
at::Tensor matrix_exp(const at::Tensor& a);

// (1 - A/2)^-1 (1 + A/2) for A = -A^H: by blocks, without pivots, which is stable since all leading blocks of 1 - A/2
// and their complements have the identity as symmetric part, or more.
at::Tensor cayley(const at::Tensor& a);

// The first k columns of H_1 .. H_k, H_i = 1 - tau_i v_i v_i^H: v_i, column i of `a` [*, n, k] below the diagonal, has
// a one on it and zeros above.
at::Tensor householder_product(const at::Tensor& a, const at::Tensor& tau);

// Householder's reflections of the QR decomposition of `a` [*, n, k], n >= k: R on and above the diagonal, the vectors
// below. Has no derivative.
struct Reflections {
  at::Tensor a, tau;
};
Reflections geqrf(const at::Tensor& a);

// Q of the decomposition QR with a positive diagonal of R. Has no derivative.
at::Tensor orthonormalized(const at::Tensor& a);

}  // namespace torch::nn::utils::detail
