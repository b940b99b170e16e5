#include <algorithm>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/lowrank/lowrank.h"
#include "autograd/lowrank/products.h"
#include "c10/util/exception.h"

namespace torch {
namespace {

using at::Tensor;

// A - M - 1 mean, which is never computed: only its products are.
class Difference {
 public:
  Difference(const Tensor& a, const std::optional<Tensor>& m, const Tensor& mean) : Difference(a, at::adjoint(a)) {
    if (m && m->defined()) m_ = at::expand(*m, a.sizes()), m_adjoint_ = at::adjoint(m_);
    mean_ = mean;
  }

  // The same with rows and columns exchanged and conjugated.
  void turn() {
    std::swap(a_, a_adjoint_);
    std::swap(m_, m_adjoint_);
    turned_ = !turned_;
  }

  Tensor times(const Tensor& x) const { return product(a_, m_, turned_, x); }
  Tensor adjoint_times(const Tensor& x) const { return product(a_adjoint_, m_adjoint_, !turned_, x); }

 private:
  Difference(const Tensor& a, const Tensor& a_adjoint) : a_(a), a_adjoint_(a_adjoint) {}

  Tensor product(const Tensor& a, const Tensor& m, bool adjoint_of_mean, const Tensor& x) const {
    Tensor y = detail::product(a, x);
    if (m.defined()) y = at::sub(y, detail::product(m, x));
    if (!mean_.defined()) return y;
    if (adjoint_of_mean) return at::sub(y, at::matmul(at::adjoint(mean_), at::sum(x, {-2}, /*keepdim=*/true)));
    return at::sub(y, at::matmul(mean_, x));
  }

  Tensor a_, a_adjoint_, m_, m_adjoint_;
  Tensor mean_;  // (..., 1, n)
  bool turned_ = false;
};

Tensor basis_of(const Tensor& y) {
  return std::get<0>(at::linalg_qr(y));
}

std::tuple<Tensor, Tensor, Tensor> decompose(Difference a, at::IntArrayRef sizes, const at::TensorOptions& options,
                                             int64_t q, int64_t niter) {
  const int64_t m = sizes[sizes.size() - 2], n = sizes[sizes.size() - 1];
  const bool wide = m < n;
  if (wide) a.turn();
  Tensor basis = basis_of(a.times(at::randn({std::min(m, n), q}, options)));
  for (int64_t i = 0; i < niter; ++i) basis = basis_of(a.times(basis_of(a.adjoint_times(basis))));
  auto [u, s, vh] = at::linalg_svd(at::adjoint(a.adjoint_times(basis)), /*full_matrices=*/false);
  u = at::matmul(basis, u);
  const Tensor v = at::adjoint(vh);
  return wide ? std::tuple(v, s, u) : std::tuple(u, s, v);
}

void check(const char* name, const Tensor& a, int64_t q, int64_t niter) {
  TORCH_CHECK(a.dim() >= 2, name, ": A must have at least 2 dimensions, but has ", a.dim());
  TORCH_CHECK_VALUE(q >= 0, name, ": q(=", q, ") must be non-negative integer");
  TORCH_CHECK_VALUE(niter >= 0, name, ": niter(=", niter, ") must be non-negative integer");
  TORCH_CHECK(a.is_floating_point() || a.is_complex(), name, ": A must be floating-point or complex, but is ",
              a.scalar_type());
}

at::TensorOptions options_of(const Tensor& a) {
  return at::TensorOptions(a.scalar_type()).device(a.device());
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> svd_lowrank(const Tensor& A, std::optional<int64_t> q, int64_t niter,
                                               const std::optional<Tensor>& M) {
  check("svd_lowrank", A, q.value_or(6), niter);
  return decompose(Difference(A, M, {}), A.sizes(), options_of(A), q.value_or(6), niter);
}

std::tuple<Tensor, Tensor, Tensor> pca_lowrank(const Tensor& A, std::optional<int64_t> q, bool center, int64_t niter) {
  TORCH_CHECK(A.dim() >= 2, "pca_lowrank: A must have at least 2 dimensions, but has ", A.dim());
  const int64_t most = std::min(A.size(-2), A.size(-1)), rank = q.value_or(std::min(int64_t{6}, most));
  TORCH_CHECK_VALUE(rank >= 0 && rank <= most, "pca_lowrank: q(=", rank,
                    ") must be non-negative integer and not greater than min(m, n)=", most);
  check("pca_lowrank", A, rank, niter);
  if (!center) return decompose(Difference(A, {}, {}), A.sizes(), options_of(A), rank, niter);
  if (A.layout() == at::kStrided) {
    return svd_lowrank(at::sub(A, at::mean(A, {-2}, /*keepdim=*/true)), rank, niter);
  }
  const Tensor ones = at::ones({1, A.size(-2)}, options_of(A));
  const Tensor mean = at::div(at::adjoint(detail::product(at::adjoint(A), at::adjoint(ones))), at::Scalar(A.size(-2)));
  return decompose(Difference(A, {}, mean), A.sizes(), options_of(A), rank, niter);
}

}  // namespace torch
