#include "nn/utils/orthogonal_maps.h"

#include <cmath>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"

namespace torch::nn::utils::detail {
namespace {

using at::Tensor;

Tensor identity_like(const Tensor& a) {
  return at::eye(a.size(-1), a.options());
}

double largest_norm(const Tensor& a) {
  if (a.numel() == 0) return 0;
  c10::NoGradGuard no_grad;
  return at::item(at::max(at::sum(at::abs(a), at::IntArrayRef{-2}))).to<double>();
}

// By Schur's complement of the first half.
Tensor block_inverse(const Tensor& m) {
  const int64_t n = m.size(-1);
  if (n == 0) return m;
  if (n == 1) return at::reciprocal(m);
  const int64_t h = n / 2;
  const auto part = [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
    return at::narrow(at::narrow(m, -2, row, rows), -1, column, columns);
  };
  const Tensor b = part(0, h, h, n - h), c = part(h, n - h, 0, h), d = part(h, n - h, h, n - h);
  const Tensor a_inverse = block_inverse(part(0, h, 0, h));
  const Tensor ca = at::matmul(c, a_inverse), ab = at::matmul(a_inverse, b);
  const Tensor s_inverse = block_inverse(at::sub(d, at::matmul(ca, b)));
  const Tensor right_top = at::neg(at::matmul(ab, s_inverse));
  const Tensor left_bottom = at::neg(at::matmul(s_inverse, ca));
  const Tensor left_top = at::sub(a_inverse, at::matmul(right_top, ca));
  return at::cat({at::cat({left_top, right_top}, -1), at::cat({left_bottom, s_inverse}, -1)}, -2);
}

}  // namespace

Tensor matrix_exp(const Tensor& a) {
  const double norm = largest_norm(a);
  TORCH_CHECK(std::isfinite(norm), "matrix_exp: the matrix has elements that are not finite");
  const int squarings = norm > 1 ? static_cast<int>(std::ceil(std::log2(norm))) : 0;
  const Tensor x = squarings == 0 ? a : at::mul(a, std::ldexp(1.0, -squarings));
  // The terms up to x^19 (what is left is below 1 / 20! for |x| <= 1), four at a time.
  const Tensor one = identity_like(x), x2 = at::matmul(x, x), x3 = at::matmul(x2, x), x4 = at::matmul(x2, x2);
  double factorials[20] = {1};
  for (int i = 1; i < 20; ++i) factorials[i] = factorials[i - 1] * i;
  Tensor sum;
  for (int i = 16; i >= 0; i -= 4) {
    Tensor four = at::add(at::mul(one, 1 / factorials[i]), at::mul(x, 1 / factorials[i + 1]));
    four = at::add(four, at::add(at::mul(x2, 1 / factorials[i + 2]), at::mul(x3, 1 / factorials[i + 3])));
    sum = sum.defined() ? at::add(at::matmul(sum, x4), four) : four;
  }
  for (int i = 0; i < squarings; ++i) sum = at::matmul(sum, sum);
  return sum;
}

Tensor cayley(const Tensor& a) {
  const Tensor one = identity_like(a);
  // (1 - A/2)^-1 (1 + A/2) = 2 (1 - A/2)^-1 - 1
  return at::sub(at::mul(block_inverse(at::sub(one, at::mul(a, 0.5))), 2), one);
}

Tensor householder_product(const Tensor& a, const Tensor& tau) {
  const int64_t n = a.size(-2), k = a.size(-1);
  const Tensor vectors = at::add(at::tril(a, -1), at::eye(n, k, a.options()));
  std::vector<int64_t> sizes = a.sizes().vec();
  Tensor q = at::expand(at::eye(n, k, a.options()), sizes);
  for (int64_t i = k; i-- > 0;) {
    const Tensor v = at::narrow(vectors, -1, i, 1);
    const Tensor t = at::unsqueeze(at::narrow(tau, -1, i, 1), -1);
    q = at::sub(q, at::mul(at::mul(v, t), at::matmul(at::adjoint(v), q)));
  }
  return q;
}

Reflections geqrf(const Tensor& matrix) {
  c10::NoGradGuard no_grad;
  const int64_t n = matrix.size(-2), k = matrix.size(-1);
  Tensor a = at::clone(at::detach(matrix), at::MemoryFormat::Contiguous);
  std::vector<int64_t> sizes = a.sizes().vec();
  sizes.pop_back();
  sizes.back() = k;
  Tensor tau = at::zeros(sizes, a.options());
  for (int64_t i = 0; i < std::min(n, k); ++i) {
    // x = (alpha, rest) becomes (beta, 0), |beta| = |x|, beta of the other sign than alpha.
    const Tensor alpha = at::narrow(at::narrow(a, -1, i, 1), -2, i, 1);
    Tensor rest = at::narrow(at::narrow(a, -1, i, 1), -2, i + 1, n - i - 1);
    const Tensor below = at::sum(at::mul(at::abs(rest), at::abs(rest)), at::IntArrayRef{-2}, /*keepdim=*/true);
    const Tensor real = at::real(alpha);
    const Tensor length = at::sqrt(at::add(below, at::mul(at::abs(alpha), at::abs(alpha))));
    // Nothing to do where the rest is zero already.
    const Tensor there = at::ne(below, 0);
    const Tensor beta = at::where(there, at::where(at::ge(real, 0), at::neg(length), length), real);
    const Tensor safe = at::where(there, beta, at::ones_like(beta));
    const Tensor t = at::where(there, at::div(at::sub(beta, alpha), safe), at::zeros_like(alpha));
    const Tensor scale = at::where(there, at::sub(alpha, beta), at::ones_like(alpha));
    const Tensor v = at::cat({at::ones_like(alpha), at::div(rest, scale)}, -2);
    if (i + 1 < k) {
      Tensor right = at::narrow(at::narrow(a, -1, i + 1, k - i - 1), -2, i, n - i);
      at::sub_(right, at::mul(at::mul(v, at::conj(t)), at::matmul(at::adjoint(v), right)));
    }
    Tensor top = alpha;
    at::copy_(top, beta);
    at::copy_(rest, at::narrow(v, -2, 1, n - i - 1));
    Tensor slot = at::narrow(tau, -1, i, 1);
    at::copy_(slot, at::squeeze(t, -1));
  }
  return {a, tau};
}

Tensor orthonormalized(const Tensor& a) {
  c10::NoGradGuard no_grad;
  const Reflections r = geqrf(a);
  const Tensor signs = at::sgn(at::diagonal(r.a, 0, -2, -1));
  return at::mul(householder_product(r.a, r.tau), at::unsqueeze(signs, -2));
}

}  // namespace torch::nn::utils::detail
