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
#include "c10/util/exception.h"

namespace torch {
namespace {

using at::Tensor;

// A - M, which is never computed: only its products are. M may be one row, (..., 1, n), for all rows of A.
class Difference {
 public:
  Difference(const Tensor& a, const std::optional<Tensor>& m) : a_(a), a_adjoint_(at::adjoint(a)) {
    if (!m || !m->defined()) return;
    m_ = m->size(-2) == 1 ? *m : at::expand(*m, a.sizes());
    m_adjoint_ = at::adjoint(m_);
  }

  // The same with rows and columns exchanged and conjugated.
  void turn() {
    std::swap(a_, a_adjoint_);
    std::swap(m_, m_adjoint_);
  }

  Tensor times(const Tensor& x) const { return product(a_, m_, x); }
  Tensor adjoint_times(const Tensor& x) const { return product(a_adjoint_, m_adjoint_, x); }

 private:
  static Tensor product(const Tensor& a, const Tensor& m, const Tensor& x) {
    const Tensor y = at::matmul(a, x);
    if (!m.defined()) return y;
    const bool one_column = m.size(-1) == 1;
    return at::sub(y, at::matmul(m, one_column ? at::sum(x, {-2}, /*keepdim=*/true) : x));
  }

  Tensor a_, a_adjoint_, m_, m_adjoint_;
};

Tensor basis_of(const Tensor& y) {
  return std::get<0>(at::linalg_qr(y));
}

std::tuple<Tensor, Tensor, Tensor> decompose(const Tensor& a, const std::optional<Tensor>& m, int64_t q,
                                             int64_t niter) {
  Difference difference(a, m);
  const bool wide = a.size(-2) < a.size(-1);
  if (wide) difference.turn();
  const Tensor random = at::randn({std::min(a.size(-2), a.size(-1)), q}, a.options().layout(at::kStrided));
  Tensor basis = basis_of(difference.times(random));
  for (int64_t i = 0; i < niter; ++i) basis = basis_of(difference.times(basis_of(difference.adjoint_times(basis))));
  const auto [part, s, vh] = at::linalg_svd(at::adjoint(difference.adjoint_times(basis)), /*full_matrices=*/false);
  const Tensor u = at::matmul(basis, part), v = at::adjoint(vh);
  return wide ? std::tuple(v, s, u) : std::tuple(u, s, v);
}

void check(const char* name, const Tensor& a, int64_t q, int64_t niter) {
  TORCH_CHECK(a.dim() >= 2, name, ": A must have at least 2 dimensions, but has ", a.dim());
  TORCH_CHECK_VALUE(q >= 0, name, ": q(=", q, ") must be non-negative integer");
  TORCH_CHECK_VALUE(niter >= 0, name, ": niter(=", niter, ") must be non-negative integer");
  TORCH_CHECK(a.is_floating_point() || a.is_complex(), name, ": A must be floating-point or complex, but is ",
              a.scalar_type());
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> svd_lowrank(const Tensor& A, std::optional<int64_t> q, int64_t niter,
                                               const std::optional<Tensor>& M) {
  check("svd_lowrank", A, q.value_or(6), niter);
  return decompose(A, M, q.value_or(6), niter);
}

std::tuple<Tensor, Tensor, Tensor> pca_lowrank(const Tensor& A, std::optional<int64_t> q, bool center, int64_t niter) {
  check("pca_lowrank", A, q.value_or(6), niter);
  const int64_t m = A.size(-2), most = std::min(m, A.size(-1)), rank = q.value_or(std::min(int64_t{6}, most));
  TORCH_CHECK_VALUE(rank <= most, "pca_lowrank: q(=", rank,
                    ") must be non-negative integer and not greater than min(m, n)=", most);
  if (!center) return decompose(A, std::nullopt, rank, niter);
  if (A.layout() == at::kStrided) {
    return decompose(at::sub(A, at::mean(A, {-2}, /*keepdim=*/true)), std::nullopt, rank, niter);
  }
  const Tensor sums = at::matmul(at::adjoint(A), at::ones({m, 1}, A.options().layout(at::kStrided)));
  return decompose(A, at::div(at::adjoint(sums), at::Scalar(m)), rank, niter);
}

}  // namespace torch
