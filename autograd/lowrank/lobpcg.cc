#include <algorithm>
#include <cmath>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/function/custom_function.h"
#include "autograd/lowrank/lowrank.h"
#include "c10/core/epsilon.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"

namespace torch {
namespace {

using at::Tensor;

Tensor transposed(const Tensor& a) {
  return at::transpose(a, -2, -1);
}
Tensor symmetric(const Tensor& a) {
  return at::mul(at::add(a, transposed(a)), at::Scalar(0.5));
}
Tensor column_norms(const Tensor& a) {
  return at::linalg_vector_norm(a, 2, {0});
}

// The search for the eigenpairs of one matrix, without gradients.
class Search {
 public:
  Search(const Tensor& a, const std::optional<Tensor>& b, const std::optional<Tensor>& preconditioner, int64_t k,
         const LOBPCGOptions& options)
      : a_(a),
        k_(k),
        largest_(options.largest()),
        epsilon_(at::epsilon_of(a.scalar_type())),
        tol_(options.tol().value_or(std::sqrt(epsilon_))),
        most_(options.niter() < 0 ? 1000 * a.size(0) : options.niter()),
        tracker_(options.tracker()) {
    if (b) b_ = *b;
    if (preconditioner) preconditioner_ = *preconditioner;
  }

  // The first k eigenvalues and eigenvectors, from the columns of `start`.
  std::pair<Tensor, Tensor> run(const Tensor& start) {
    const int64_t n = start.size(1);
    const double scale = at::linalg_vector_norm(start).item<double>();
    const double a_norm = at::linalg_vector_norm(at::matmul(a_, start)).item<double>() / scale;
    const double b_norm = b_.defined() ? at::linalg_vector_norm(times_b(start)).item<double>() / scale : 1;
    Tensor x = orthonormal(start, {}, true), p, ap, e;
    TORCH_CHECK_VALUE(x.size(1) == n, "lobpcg: the columns of X are linearly dependent");
    const auto [first, turn] = ends(at::matmul(transposed(x), at::matmul(a_, x)), n);
    e = first;
    x = at::matmul(x, turn);
    Tensor ax = at::matmul(a_, x);
    for (int64_t iteration = 0;; ++iteration) {
      const Tensor residual = at::sub(ax, at::mul(times_b(x), e));
      const Tensor bound =
          at::mul(column_norms(x), at::add(at::mul(at::abs(e), at::Scalar(b_norm)), at::Scalar(a_norm)));
      const Tensor norms = at::div(column_norms(residual), bound);
      const Tensor open = at::gt(norms, at::Scalar(tol_));
      int64_t converged = 0;
      while (converged < n && !open[converged].item<bool>()) ++converged;
      if (tracker_ && iteration > 0) tracker_({iteration, converged, e, x, norms});
      if (converged >= k_ || iteration >= most_) break;

      Tensor w = at::index_select(residual, 1, at::view(at::nonzero(open), {-1}));
      if (preconditioner_.defined()) w = at::matmul(preconditioner_, w);
      w = orthonormal(w, p.defined() ? at::cat({x, p}, 1) : x, true);
      if (w.size(1) == 0) break;
      const Tensor aw = at::matmul(a_, w);
      const Tensor s = p.defined() ? at::cat({x, p, w}, 1) : at::cat({x, w}, 1);
      const Tensor as = p.defined() ? at::cat({ax, ap, aw}, 1) : at::cat({ax, aw}, 1);
      const auto [values, z] = ends(at::matmul(transposed(s), as), n);
      // The next directions: what takes the old vectors to the new ones, less its part along the new ones.
      Tensor step = at::clone(z);
      step.narrow(0, 0, n).zero_();
      step = orthonormal(step, z, false);
      e = values;
      x = at::matmul(s, z);
      ax = at::matmul(a_, x);
      p = at::matmul(s, step);
      ap = at::matmul(as, step);
    }
    return {e.narrow(0, 0, k_), x.narrow(1, 0, k_)};
  }

 private:
  Tensor times_b(const Tensor& x) const { return b_.defined() ? at::matmul(b_, x) : x; }

  // The n eigenvalues of a small symmetric matrix at the end that is wanted, and their vectors.
  std::pair<Tensor, Tensor> ends(const Tensor& h, int64_t n) const {
    auto [values, vectors] = at::linalg_eigh(symmetric(h));
    if (largest_) values = at::flip(values, {0}), vectors = at::flip(vectors, {1});
    return {values.narrow(0, 0, n), vectors.narrow(1, 0, n)};
  }

  // An orthonormal basis of what the columns of s span beside those of `others`, which are orthonormal, in B's inner
  // product or the plain one. Columns that depend on the rest are left out. (Stathopoulos and Wu 2002: by eigenvectors
  // of the Gram matrix, twice, as rounding spoils the first result where columns are close to each other.)
  Tensor orthonormal(Tensor s, const Tensor& others, bool by_b) const {
    for (int pass = 0; pass < 2 && s.size(1) > 0; ++pass) {
      if (others.defined()) {
        const Tensor along = at::matmul(transposed(by_b ? times_b(others) : others), s);
        s = at::sub(s, at::matmul(others, along));
      }
      const Tensor gram = at::matmul(transposed(s), by_b ? times_b(s) : s);
      const Tensor squares = at::diagonal(gram);
      const Tensor scale = at::where(at::gt(squares, at::Scalar(0)), at::rsqrt(squares), at::zeros_like(squares));
      const auto [values, vectors] = at::linalg_eigh(at::mul(at::mul(gram, scale), at::unsqueeze(scale, 1)));
      const double least = values.size(0) * epsilon_ * std::max(values[-1].item<double>(), 0.0);
      const Tensor kept = at::view(at::nonzero(at::gt(values, at::Scalar(least))), {-1});
      const Tensor turn = at::mul(at::index_select(vectors, 1, kept), at::rsqrt(at::index_select(values, 0, kept)));
      s = at::matmul(at::mul(s, scale), turn);
    }
    return s;
  }

  const Tensor a_;
  Tensor b_, preconditioner_;
  const int64_t k_;
  const bool largest_;
  const double epsilon_, tol_;
  const int64_t most_;
  const std::function<void(const LOBPCGState&)>& tracker_;
};

// The eigenpairs with their derivative: dE = x^T dA x, dx = -(A - e)^+ dA x.
struct Eigenpairs : autograd::Function<Eigenpairs> {
  static autograd::variable_list forward(autograd::AutogradContext* ctx, const Tensor& a, const Tensor& e,
                                         const Tensor& x) {
    ctx->set_materialize_grads(false);
    const Tensor values = at::clone(e), vectors = at::clone(x);
    ctx->save_for_backward({a, values, vectors});
    return {values, vectors};
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, const autograd::variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &a = saved[0], &e = saved[1], &x = saved[2];
    Tensor left;  // the gradient is left x^T, made symmetric
    if (grads[0].defined()) left = at::mul(x, at::unsqueeze(grads[0], -2));
    if (grads[1].defined()) {
      const auto [values, vectors] = at::linalg_eigh(a);
      const Tensor gaps = at::sub(at::unsqueeze(values, -1), at::unsqueeze(e, -2));
      // Its own eigenvalue has no part in the derivative of a vector of length 1.
      const Tensor own = at::argmin(at::abs(gaps), -2, /*keepdim=*/true);
      const Tensor weights = at::reciprocal(at::scatter(gaps, -2, own, at::Scalar(INFINITY)));
      const Tensor part = at::matmul(vectors, at::mul(weights, at::matmul(transposed(vectors), grads[1])));
      left = left.defined() ? at::sub(left, part) : at::neg(part);
    }
    if (!left.defined()) return {Tensor(), Tensor(), Tensor()};
    return {symmetric(at::matmul(left, transposed(x))), Tensor(), Tensor()};
  }
};

void check_matrix(const char* argument, const std::optional<Tensor>& t, const Tensor& a) {
  if (!t) return;
  TORCH_CHECK(t->defined() && t->sizes() == a.sizes() && t->scalar_type() == a.scalar_type(), "lobpcg: ", argument,
              " must have the sizes and the dtype of A, ", a.sizes(), " and ", a.scalar_type());
}

std::optional<Tensor> at_index(const std::optional<Tensor>& t, int64_t i, at::IntArrayRef sizes) {
  if (!t || t->layout() != at::kStrided) return t;
  return at::reshape(*t, sizes).select(0, i);
}

}  // namespace

std::tuple<Tensor, Tensor> lobpcg(const Tensor& A, const LOBPCGOptions& options) {
  TORCH_CHECK(A.dim() >= 2 && A.size(-1) == A.size(-2), "lobpcg: A must be batches of square matrices, but has sizes ",
              A.sizes());
  TORCH_CHECK(A.scalar_type() == at::kFloat || A.scalar_type() == at::kDouble,
              "lobpcg: A must be float or double, but is ", A.scalar_type());
  TORCH_CHECK(A.layout() == at::kStrided || A.dim() == 2, "lobpcg: there are no batches of sparse A");
  const std::string& method = options.method();
  TORCH_CHECK_VALUE(method == "ortho" || method == "basic", "lobpcg: expected method 'ortho' or 'basic', but got '",
                    method, "'");
  const int64_t m = A.size(-1);
  const bool given = options.X() && options.X()->defined();
  if (given) {
    const Tensor& x = *options.X();
    TORCH_CHECK(x.dim() == A.dim() && x.size(-2) == m && x.scalar_type() == A.scalar_type() &&
                    x.sizes().slice(0, x.dim() - 2) == A.sizes().slice(0, A.dim() - 2),
                "lobpcg: X must have ", m, " rows, the batches and the dtype of A, but has sizes ", x.sizes());
  }
  const int64_t k = options.k().value_or(given ? options.X()->size(-1) : 1);
  const int64_t n = given ? options.X()->size(-1) : options.n().value_or(k);
  TORCH_CHECK_VALUE(k >= 1 && n >= k, "lobpcg: expected 1 <= k <= n, but got k = ", k, " and n = ", n);
  TORCH_CHECK_VALUE(m >= 3 * n, "lobpcg: A must have at least 3 n = ", 3 * n, " rows, but has ", m);
  check_matrix("B", options.B(), A);
  check_matrix("iK", options.iK(), A);
  const bool differentiable = c10::GradMode::is_enabled() && A.requires_grad();
  TORCH_CHECK_NOT_IMPLEMENTED(!differentiable || (A.layout() == at::kStrided && !options.B()),
                              "lobpcg: no derivative for a sparse A, or beside a B");
  TORCH_CHECK_NOT_IMPLEMENTED(!(c10::GradMode::is_enabled() && options.B() && options.B()->requires_grad()),
                              "lobpcg: no derivative for B");

  Tensor e, x;
  {
    const c10::NoGradGuard no_grad;
    std::vector<int64_t> sizes(A.sizes().begin(), A.sizes().end() - 1);
    sizes.push_back(n);
    const Tensor start =
        given ? options.X()->detach() : at::randn(sizes, at::TensorOptions(A.scalar_type()).device(A.device()));
    const auto search = [&](const Tensor& a, const std::optional<Tensor>& b,
                            const std::optional<Tensor>& preconditioner,
                            const Tensor& from) { return Search(a, b, preconditioner, k, options).run(from); };
    if (A.dim() == 2) {
      std::tie(e, x) = search(A.detach(), options.B(), options.iK(), start);
    } else {
      const int64_t flat[] = {-1, m, m}, columns[] = {-1, m, n};
      const Tensor all = at::reshape(A.detach(), flat), starts = at::reshape(start, columns);
      std::vector<Tensor> values, vectors;
      for (int64_t i = 0; i < all.size(0); ++i) {
        const auto [one, its] = search(all.select(0, i), at_index(options.B(), i, flat),
                                       at_index(options.iK(), i, flat), starts.select(0, i));
        values.push_back(one), vectors.push_back(its);
      }
      sizes.back() = k;
      x = vectors.empty() ? at::empty(sizes, A.options()) : at::reshape(at::stack(vectors), sizes);
      sizes.erase(sizes.end() - 2);
      e = values.empty() ? at::empty(sizes, A.options()) : at::reshape(at::stack(values), sizes);
    }
  }
  if (!differentiable) return {e, x};
  const auto results = Eigenpairs::apply(A, e, x);
  return {results[0], results[1]};
}

}  // namespace torch
