// LU factorizations and what is made of them: solutions of systems, inverses, determinants.
#include <cmath>
#include <vector>

#include "aten/core/view.h"
#include "aten/cuda/solver/solver.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/linalg/kernels.h"
#include "aten/ops/linalg/matrices.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

using namespace linalg;

namespace {

TensorSpec ints(DimVector sizes, const Tensor& like) {
  return rows(std::move(sizes), kInt, like);
}

// The outputs of a factorization: `lu` holds the copy of A that becomes the factors.
class LuOut {
 public:
  LuOut(const Tensor& a, Tensor& lu, Tensor& pivots, Tensor& info, bool pivot = true)
      : lu_(lu), pivots_(pivots), info_(info) {
    at::copy_(lu_.tensor(), a);
    factor_lu(lu_.tensor(), pivots_.tensor(), info_.tensor(), pivot);
  }
  const Tensor& lu() { return lu_.tensor(); }
  const Tensor& pivots() { return pivots_.tensor(); }
  const Tensor& info() { return info_.tensor(); }
  void commit() {
    lu_.commit();
    pivots_.commit();
    info_.commit();
  }

 private:
  ColumnsOut lu_;
  DenseOut pivots_, info_;
};

Tensor scratch_info(const Tensor& a) {
  return empty_contiguous(batch_of(a.sizes()), kInt, a.device());
}

}  // namespace

std::array<TensorSpec, 3> linalg_lu_factor_ex_meta(const Tensor& A, bool pivot, bool) {
  TORCH_CHECK(A.dim() >= 2, "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: ", A.sizes(),
              " instead");
  check_lapack_dtype(A, "lu_cpu");
  TORCH_CHECK(pivot || !A.is_cpu(), "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  const DimVector batch = batch_of(A.sizes());
  const DimVector all(A.sizes().begin(), A.sizes().end());
  return {columns(all, A.scalar_type(), A), ints(with(batch, {std::min(A.size(-1), A.size(-2))}), A), ints(batch, A)};
}

void linalg_lu_factor_ex_kernel(const Tensor& A, bool pivot, bool check_errors, Tensor& LU, Tensor& pivots,
                                Tensor& info) {
  if (check_errors) {
    const auto all = at::linalg_lu_factor_ex(A, pivot, false);
    check_info(std::get<2>(all), "torch.linalg.lu_factor_ex", Failure::kLu);
    return write_all(all, LU, pivots, info);
  }
  LuOut(A, LU, pivots, info, pivot).commit();
}

std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& A, bool pivot) {
  auto [LU, pivots, info] = at::linalg_lu_factor_ex(A, pivot, false);
  check_info(info, "torch.linalg.lu_factor", Failure::kLu);
  return {std::move(LU), std::move(pivots)};
}

std::tuple<Tensor, Tensor, Tensor> linalg_lu(const Tensor& A, bool pivot) {
  TORCH_CHECK(A.dim() >= 2, "linalg.lu: Expected tensor with 2 or more dimensions. Got size: ", A.sizes(), " instead");
  const auto [LU, pivots, info] = at::linalg_lu_factor_ex(A, pivot, false);
  return at::lu_unpack(LU, pivots, true, pivot);
}

std::array<TensorSpec, 3> lu_unpack_meta(const Tensor& LU, const Tensor& pivots, bool unpack_data, bool unpack_pivots) {
  TORCH_CHECK(LU.dim() >= 2, "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: ", LU.sizes(),
              " instead");
  const DimVector batch = batch_of(LU.sizes());
  const int64_t m = LU.size(-2), n = LU.size(-1), k = std::min(m, n);
  if (unpack_pivots) {
    TORCH_CHECK(pivots.scalar_type() == kInt,
                "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.");
    const DimVector expected = with(batch, {k});
    TORCH_CHECK_VALUE(pivots.sizes() == IntArrayRef(expected), "Expected LU_pivots to have shape ",
                      IntArrayRef(expected), " but got ", pivots.sizes(), " instead.");
  }
  const ScalarType type = LU.scalar_type();
  return {unpack_pivots ? rows(with(batch, {m, m}), type, LU) : nothing(type, LU),
          unpack_data ? rows(with(batch, {m, k}), type, LU) : nothing(type, LU),
          unpack_data ? rows(with(batch, {k, n}), type, LU) : nothing(type, LU)};
}

namespace {

// Where the row exchanges take each row, as matrices of 0 and 1.
Tensor permutations(const Tensor& pivots, int64_t m, IntArrayRef sizes) {
  if (pivots.is_cuda()) {
    const Tensor order = cuda::solver::permutation(dense(pivots), m);
    const Tensor rows = at::arange(Scalar(m), TensorOptions().dtype(kLong).device(pivots.device()));
    return at::eq(at::unsqueeze(order, -2), at::unsqueeze(rows, -1));
  }
  const Tensor from = dense(pivots), marks = at::zeros(sizes, TensorOptions().dtype(kByte));
  const int64_t k = pivots.size(-1), count = m == 0 ? 0 : marks.numel() / (m * m);
  const int* all = static_cast<const int*>(from.const_data_ptr());
  auto* mark = static_cast<uint8_t*>(marks.mutable_data_ptr());
  std::vector<int64_t> order(static_cast<size_t>(m));
  for (int64_t i = 0; i < count; ++i, all += k, mark += m * m) {
    for (int64_t r = 0; r < m; ++r) order[static_cast<size_t>(r)] = r;
    for (int64_t r = 0; r < k; ++r) {
      TORCH_CHECK(all[r] >= 1 && all[r] <= m,
                  "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
                  "Did you properly pass the result of lu_factor?");
      std::swap(order[static_cast<size_t>(r)], order[static_cast<size_t>(all[r] - 1)]);
    }
    for (int64_t r = 0; r < m; ++r) mark[order[static_cast<size_t>(r)] * m + r] = 1;
  }
  return marks;
}

}  // namespace

void lu_unpack_kernel(const Tensor& LU, const Tensor& pivots, bool unpack_data, bool unpack_pivots, Tensor& P,
                      Tensor& L, Tensor& U) {
  const int64_t m = LU.size(-2), k = std::min(m, LU.size(-1));
  // Everything is computed before anything is written.
  Tensor marks, lower, upper;
  if (unpack_pivots) marks = permutations(pivots, m, P.sizes());
  if (unpack_data) {
    lower = at::tril(at::narrow(LU, -1, 0, k), -1);
    upper = at::triu(at::narrow(LU, -2, 0, k));
    Tensor diagonal = at::diagonal(lower, 0, -2, -1);
    at::fill_(diagonal, Scalar(1));
  }
  if (unpack_pivots) at::copy_(P, marks);
  if (!unpack_data) return;
  at::copy_(L, lower);
  at::copy_(U, upper);
}

namespace {

// Checks the arguments of linalg_lu_solve and gives the batch of the result.
DimVector check_lu_system(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left) {
  check_floating(LU, "torch.linalg.lu_solve");
  check_same("linalg.lu_solve", LU, "LU", B, "B");
  TORCH_CHECK(pivots.scalar_type() == kInt, "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32");
  check_square(LU, "torch.linalg.lu_solve");
  check_system(LU, B, left, "linalg.lu_solve");
  TORCH_CHECK(pivots.dim() >= 1 && LU.size(-1) == pivots.size(-1),
              "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix");
  TORCH_CHECK(pivots.sizes() == IntArrayRef(batch_of(LU.sizes(), 1)),
              "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape ",
              pivots.sizes(), " instead");
  check_lapack_dtype(LU, "lu_solve_cpu");
  return broadcast_shapes(batch_of(LU.sizes()), batch_of(B.sizes()));
}

void check_pivots(const Tensor& pivots, int64_t n) {
  if (pivots.is_cuda()) return cuda::solver::permutation(pivots, n), void();  // which checks them where they are
  const auto* p = static_cast<const int*>(pivots.const_data_ptr());
  for (int64_t i = 0; i < pivots.numel(); ++i) {
    TORCH_CHECK(p[i] >= 1,
                "Pivots given to lu_solve must all be greater or equal to 1. "
                "Did you properly pass the result of lu_factor?");
    TORCH_CHECK(p[i] <= n,
                "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). "
                "Did you properly pass the result of lu_factor?");
  }
}

// result = op(A)^-1 B or B op(A)^-1. With the matrix on the right the adjoint system is solved.
void solve_with(const Tensor& lu, const Tensor& pivots, const Tensor& B, bool left, bool adjoint, Tensor& result) {
  if (!left) {
    const Tensor solution =
        column_copy(at::adjoint(B), with(batch_of(result.sizes()), {result.size(-1), result.size(-2)}));
    solve_lu(lu, pivots, adjoint ? 'N' : 'C', solution);
    at::copy_(result, at::adjoint(solution));
    return;
  }
  ColumnsOut out(result);
  at::copy_(out.tensor(), B);
  solve_lu(lu, pivots, adjoint ? 'C' : 'N', out.tensor());
  out.commit();
}

}  // namespace

Tensor linalg_lu_solve_kernel(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint) {
  const DimVector batch = check_lu_system(LU, pivots, B, left);
  const int64_t n = LU.size(-1);
  const Tensor all = dense(at::expand(pivots, with(batch, {n})));
  check_pivots(all, n);
  Tensor result = empty_columns(with(batch, {B.size(-2), B.size(-1)}), B.scalar_type(), B);
  if (result.numel() != 0) solve_with(column_copy(LU, with(batch, {n, n})), all, B, left, adjoint, result);
  return result;
}

// A = P L U, taken apart.
Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint) {
  check_lu_system(LU, pivots, B, left);
  if (!left) return at::adjoint(at::linalg_lu_solve(LU, pivots, at::adjoint(B), true, !adjoint));
  const auto [P, L, U] = at::lu_unpack(LU, pivots, true, true);
  if (adjoint) {
    const Tensor first = at::linalg_solve_triangular(at::adjoint(U), B, false, true, false);
    return at::matmul(P, at::linalg_solve_triangular(at::adjoint(L), first, true, true, true));
  }
  const Tensor first = at::linalg_solve_triangular(L, at::matmul(at::transpose(P, -2, -1), B), false, true, true);
  return at::linalg_solve_triangular(U, first, true, true, false);
}

Tensor lu_solve(const Tensor& self, const Tensor& LU_data, const Tensor& LU_pivots) {
  return at::linalg_lu_solve(LU_data, LU_pivots, self, true, false);
}

std::array<TensorSpec, 4> _linalg_solve_ex_meta(const Tensor& A, const Tensor& B, bool left, bool) {
  check_floating(A, "linalg.solve");
  check_same("linalg.solve", A, "A", B, "B");
  check_matrix(A, "linalg.solve");
  const bool vector = is_vector_system(A, B);
  const Tensor right = vector ? at::unsqueeze(B, -1) : B;
  check_system(A, right, left, "linalg.solve");
  check_lapack_dtype(A, "lu_cpu");
  const DimVector batch = broadcast_shapes(batch_of(A.sizes()), batch_of(right.sizes()));
  const DimVector own = batch_of(A.sizes());
  const ScalarType type = A.scalar_type();
  const TensorSpec result = vector ? rows(with(batch, {right.size(-2)}), type, A)
                                   : columns(with(batch, {right.size(-2), right.size(-1)}), type, A);
  return {result, columns(with(own, {A.size(-2), A.size(-1)}), type, A), ints(with(own, {A.size(-1)}), A),
          ints(own, A)};
}

void _linalg_solve_ex_kernel(const Tensor& A, const Tensor& B, bool left, bool check_errors, Tensor& result, Tensor& LU,
                             Tensor& pivots, Tensor& info) {
  if (check_errors) {
    const auto all = at::_linalg_solve_ex(A, B, left, false);
    check_info(std::get<3>(all), "torch.linalg.solve_ex", Failure::kSolve);
    return write_all(all, result, LU, pivots, info);
  }
  const bool vector = is_vector_system(A, B);
  const Tensor right = vector ? at::unsqueeze(B, -1) : B;
  Tensor target = vector ? at::unsqueeze(result, -1) : result;
  LuOut factors(A, LU, pivots, info);
  if (result.numel() != 0) {
    const DimVector batch = batch_of(target.sizes());
    const int64_t n = A.size(-1);
    const bool alone = IntArrayRef(batch) == IntArrayRef(batch_of(A.sizes()));
    solve_with(alone ? factors.lu() : column_copy(factors.lu(), with(batch, {n, n})),
               alone ? factors.pivots() : dense(at::expand(factors.pivots(), with(batch, {n}))), right, left, false,
               target);
  }
  factors.commit();
}

std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& A, const Tensor& B, bool left, bool check_errors) {
  auto [result, LU, pivots, info] = at::_linalg_solve_ex(A, B, left, check_errors);
  return {std::move(result), std::move(info)};
}

Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left) {
  const auto [result, LU, pivots, info] = at::_linalg_solve_ex(A, B, left, false);
  check_info(info, "torch.linalg.solve", Failure::kSolve);
  return result;
}

std::array<TensorSpec, 2> linalg_inv_ex_meta(const Tensor& A, bool) {
  check_square(A, "linalg.inv");
  check_floating(A, "linalg.inv", false);
  return {columns(DimVector(A.sizes().begin(), A.sizes().end()), A.scalar_type(), A), ints(batch_of(A.sizes()), A)};
}

void linalg_inv_ex_kernel(const Tensor& A, bool check_errors, Tensor& inverse, Tensor& info) {
  const Tensor lu = column_copy(A), pivots = empty_contiguous(batch_of(A.sizes(), 1), kInt, A.device());
  const Tensor codes = scratch_info(A);
  factor_lu(lu, pivots, codes);
  if (check_errors) check_info(codes, "linalg.inv_ex", Failure::kInverse);
  at::copy_(info, codes);
  ColumnsOut out(inverse);
  at::zero_(out.tensor());
  Tensor diagonal = at::diagonal(out.tensor(), 0, -2, -1);
  at::fill_(diagonal, Scalar(1));
  if (A.numel() != 0) solve_lu(lu, pivots, 'N', out.tensor());
  out.commit();
}

Tensor linalg_inv(const Tensor& A) {
  const auto [inverse, info] = at::linalg_inv_ex(A, false);
  check_info(info, "linalg.inv", Failure::kInverse);
  return inverse;
}

namespace {

// f(determinant's sign, diagonal of U, n, place in the batch) for each matrix.
template <class T, class F>
void for_diagonals(const Tensor& lu, const Tensor& pivots, const F& f) {
  const Matrices<T> a(lu);
  const int* all = static_cast<const int*>(pivots.const_data_ptr());
  std::vector<T> diagonal(static_cast<size_t>(a.rows));
  for (int64_t i = 0; i < a.count; ++i) {
    bool odd = false;
    for (int j = 0; j < a.rows; ++j) {
      odd ^= all[i * a.rows + j] != j + 1;
      diagonal[static_cast<size_t>(j)] = a[i][j + static_cast<int64_t>(j) * a.ld];
    }
    f(odd ? T(-1) : T(1), diagonal, i);
  }
}

// The same of CUDA tensors, by operators: the sign that the row exchanges give, and the diagonals of U.
std::pair<Tensor, Tensor> signs_and_diagonals(const Tensor& lu, const Tensor& pivots) {
  const TensorOptions ints = TensorOptions().dtype(kInt).device(lu.device());
  const Tensor exchanged = at::ne(pivots, at::arange(Scalar(1), Scalar(lu.size(-1) + 1), ints));
  const Tensor odd = at::remainder(at::sum(exchanged, IntArrayRef{-1}), Scalar(2));
  return {at::sub(at::mul(odd, Scalar(-2)), Scalar(-1)), at::diagonal(lu, 0, -2, -1)};
}

std::array<TensorSpec, 2> factor_specs(const Tensor& A) {
  return {columns(DimVector(A.sizes().begin(), A.sizes().end()), A.scalar_type(), A), ints(batch_of(A.sizes(), 1), A)};
}

}  // namespace

std::array<TensorSpec, 3> _linalg_det_meta(const Tensor& A) {
  check_square(A, "linalg.det");
  check_floating(A, "linalg.det");
  if (A.numel() != 0) check_lapack_dtype(A, "lu_cpu");
  const auto [lu, pivots] = factor_specs(A);
  return {rows(batch_of(A.sizes()), A.scalar_type(), A), lu, pivots};
}

namespace {

// A determinant is also that of the transposed matrix; a row-major real matrix is copied faster so.
Tensor factored(const Tensor& A) {
  return A.is_complex() ? A : at::transpose(A, -2, -1);
}

}  // namespace

void _linalg_det_kernel(const Tensor& A, Tensor& result, Tensor& LU, Tensor& pivots) {
  // The product of no numbers, in any dtype.
  if (A.numel() == 0) return at::fill_(result, Scalar(1)), void();
  Tensor info = scratch_info(A);
  LuOut factors(factored(A), LU, pivots, info);
  if (A.is_cuda()) {
    const auto [signs, diagonals] = signs_and_diagonals(factors.lu(), factors.pivots());
    at::copy_(result, at::mul(at::prod(diagonals, -1), signs));
    return factors.commit();
  }
  DenseOut out(result);
  visit_lapack(A.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_diagonals<T>(factors.lu(), factors.pivots(), [&](T det, const std::vector<T>& diagonal, int64_t i) {
      for (const T& x : diagonal) det *= x;
      out.data<T>()[i] = det;
    });
  });
  out.commit();
  factors.commit();
}

Tensor linalg_det(const Tensor& A) {
  return std::get<0>(at::_linalg_det(A));
}

std::array<TensorSpec, 4> _linalg_slogdet_meta(const Tensor& A) {
  check_square(A, "linalg.slogdet");
  check_floating(A, "linalg.slogdet", false);
  const auto [lu, pivots] = factor_specs(A);
  const DimVector batch = batch_of(A.sizes());
  return {rows(batch, A.scalar_type(), A), rows(batch, toRealValueType(A.scalar_type()), A), lu, pivots};
}

void _linalg_slogdet_kernel(const Tensor& A, Tensor& sign, Tensor& logabsdet, Tensor& LU, Tensor& pivots) {
  Tensor info = scratch_info(A);
  LuOut factors(factored(A), LU, pivots, info);
  if (A.is_cuda()) {
    const auto [exchanges, diagonals] = signs_and_diagonals(factors.lu(), factors.pivots());
    at::copy_(sign, at::mul(at::prod(at::sgn(diagonals), -1), exchanges));
    at::copy_(logabsdet, at::sum(at::log(at::abs(diagonals)), IntArrayRef{-1}));
    return factors.commit();
  }
  DenseOut signs(sign), logs(logabsdet);
  visit_lapack(A.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = cpu::lapack::Real<T>;
    for_diagonals<T>(factors.lu(), factors.pivots(), [&](T s, const std::vector<T>& diagonal, int64_t i) {
      R log = 0;
      for (const T& x : diagonal) {
        const R size = cpu::lapack::modulus(x);
        s = size == R(0) ? T(0) : s * (x / T(size));
        log += std::log(size);
      }
      signs.data<T>()[i] = s;
      logs.data<R>()[i] = log;
    });
  });
  signs.commit();
  logs.commit();
  factors.commit();
}

std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A) {
  auto [sign, logabsdet, LU, pivots] = at::_linalg_slogdet(A);
  return {std::move(sign), std::move(logabsdet)};
}

Tensor logdet(const Tensor& self) {
  check_square(self, "logdet");
  check_floating(self, "logdet", false);
  const auto [sign, logabsdet] = at::linalg_slogdet(self);
  if (self.is_complex()) return at::add(at::log(sign), logabsdet);
  return at::where(at::eq(sign, Scalar(-1)), at::full_like(logabsdet, Scalar(NAN)), logabsdet);
}

}  // namespace at::native
