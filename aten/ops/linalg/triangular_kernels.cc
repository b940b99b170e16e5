// Cholesky and L D L^H factorizations, triangular systems.
#include "aten/core/empty.h"
#include "aten/core/view.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/linalg/kernels.h"
#include "aten/ops/linalg/matrices.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

using namespace linalg;

std::array<TensorSpec, 2> linalg_cholesky_ex_meta(const Tensor& self, bool, bool) {
  check_square(self, "linalg.cholesky");
  check_floating(self, "linalg.cholesky");
  check_lapack_dtype(self, "cholesky_cpu");
  return {columns(DimVector(self.sizes().begin(), self.sizes().end()), self.scalar_type(), self),
          rows(batch_of(self.sizes()), kInt, self)};
}

void linalg_cholesky_ex_cpu(const Tensor& self, bool upper, bool check_errors, Tensor& L, Tensor& info) {
  if (check_errors) {
    const auto all = at::linalg_cholesky_ex(self, upper, false);
    check_info(std::get<1>(all), "linalg.cholesky_ex", Failure::kCholesky);
    return write_all(all, L, info);
  }
  ColumnsOut out(L);
  DenseOut codes(info);
  at::copy_(out.tensor(), self);
  visit_lapack(self.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Matrices<T> a(out.tensor());
    int* const code = codes.data<int>();
    for_matrices(a.count, cubic(a.rows, a.rows), [&](int64_t begin, int64_t end) {
      cpu::lapack::potrf_batch(upper ? 'U' : 'L', a.count, end - begin, a.rows, a[begin], code + begin);
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t c = 0; c < a.columns; ++c) {
          T* const column = a[i] + c * a.ld;
          std::fill(column + (upper ? c + 1 : 0), column + (upper ? a.rows : c), T(0));
        }
      }
    });
  });
  codes.commit();
  out.commit();
}

Tensor linalg_cholesky(const Tensor& self, bool upper) {
  const auto [L, info] = at::linalg_cholesky_ex(self, upper, false);
  check_info(info, "linalg.cholesky", Failure::kCholesky);
  return L;
}

Tensor cholesky(const Tensor& self, bool upper) {
  const auto [L, info] = at::linalg_cholesky_ex(self, upper, false);
  check_info(info, "cholesky", Failure::kCholesky);
  return L;
}

namespace {

// What cholesky_solve, triangular_solve and ldl_solve ask of a system.
void check_old_system(const Tensor& b, const Tensor& A, const char* op) {
  TORCH_CHECK(A.size(-1) == A.size(-2), "A must be batches of square matrices, but they are ", A.size(-2), " by ",
              A.size(-1), " matrices");
  TORCH_CHECK(A.size(-1) == b.size(-2), "Incompatible matrix sizes for ", op, ": each A matrix is ", A.size(-1), " by ",
              A.size(-1), " but each b matrix is ", b.size(-2), " by ", b.size(-1));
  TORCH_CHECK(A.scalar_type() == b.scalar_type(), "Expected b and A to have the same dtype, but found b of type ",
              b.scalar_type(), " and A of type ", A.scalar_type(), " instead.");
}

TensorSpec system_spec(const Tensor& A, const Tensor& B) {
  const DimVector batch = broadcast_shapes(batch_of(B.sizes()), batch_of(A.sizes()));
  return columns(with(batch, {B.size(-2), B.size(-1)}), A.scalar_type(), A);
}

}  // namespace

TensorSpec cholesky_solve_meta(const Tensor& self, const Tensor& A, bool) {
  TORCH_CHECK(self.dim() >= 2, "b should have at least 2 dimensions, but has ", self.dim(), " dimensions instead");
  TORCH_CHECK(A.dim() >= 2, "u should have at least 2 dimensions, but has ", A.dim(), " dimensions instead");
  check_old_system(self, A, "cholesky_solve");
  check_lapack_dtype(A, "cholesky_solve_cpu");
  return system_spec(A, self);
}

void cholesky_solve_cpu(const Tensor& self, const Tensor& A, bool upper, Tensor& result) {
  if (result.numel() == 0) return;
  const int64_t n = A.size(-1);
  const Tensor factor = column_copy(A, with(batch_of(result.sizes()), {n, n}));
  ColumnsOut out(result);
  at::copy_(out.tensor(), self);
  visit_lapack(A.scalar_type(), [&](auto tag) {
    const Matrices<typename decltype(tag)::type> a(factor), x(out.tensor());
    for_matrices(a.count, static_cast<double>(n * n * x.columns), [&](int64_t begin, int64_t end) {
      cpu::lapack::potrs_batch(upper ? 'U' : 'L', a.count, end - begin, a.rows, x.columns, a[begin], x[begin]);
    });
  });
  out.commit();
}

TensorSpec cholesky_inverse_meta(const Tensor& self, bool) {
  check_square(self, "cholesky_inverse");
  check_lapack_dtype(self, "cholesky_inverse_out_cpu");
  return columns(DimVector(self.sizes().begin(), self.sizes().end()), self.scalar_type(), self);
}

namespace {

// The place, from 1 on, of the first zero on the diagonal of each matrix, or 0.
Tensor zero_on_diagonal(const Tensor& columns) {
  const Tensor info = empty_contiguous(batch_of(columns.sizes()), kInt);
  visit_lapack(columns.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Matrices<T> a(columns);
    int* const codes = static_cast<int*>(info.mutable_data_ptr());
    for (int64_t i = 0; i < a.count; ++i) {
      codes[i] = 0;
      for (int64_t k = a.rows; k-- > 0;) {
        if (a[i][k + k * a.ld] == T(0)) codes[i] = static_cast<int>(k + 1);
      }
    }
  });
  return info;
}

}  // namespace

void cholesky_inverse_cpu(const Tensor& self, bool upper, Tensor& result) {
  const Tensor factor = column_copy(self), info = zero_on_diagonal(factor);
  check_info(info, "cholesky_inverse", Failure::kInverse);
  ColumnsOut out(result);
  at::copy_(out.tensor(), factor);
  visit_lapack(self.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Matrices<T> a(out.tensor());
    for_matrices(a.count, cubic(a.rows, a.rows), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* const x = a[i];
        cpu::lapack::potri(upper ? 'U' : 'L', a.rows, x, a.ld);
        for (int64_t c = 0; c < a.columns; ++c) {
          for (int64_t r = c + 1; r < a.rows; ++r) {
            T &below = x[r + c * a.ld], &above = x[c + r * a.ld];
            (upper ? below : above) = cpu::lapack::conjugate(upper ? above : below);
          }
        }
      }
    });
  });
  out.commit();
}

TensorSpec linalg_solve_triangular_meta(const Tensor& A, const Tensor& B, bool, bool left, bool) {
  check_system(A, B, left, "linalg.solve_triangular");
  check_same("linalg.solve_triangular", A, "A", B, "B");
  check_lapack_dtype(A, "triangular_solve_cpu");
  return system_spec(A, B);
}

void linalg_solve_triangular_cpu(const Tensor& A, const Tensor& B, bool upper, bool left, bool unitriangular,
                                 Tensor& result) {
  if (result.numel() == 0) return;
  const int64_t n = A.size(-1);
  const Tensor factor = column_copy(A, with(batch_of(result.sizes()), {n, n}));
  ColumnsOut out(result);
  at::copy_(out.tensor(), B);
  visit_lapack(A.scalar_type(), [&](auto tag) {
    const Matrices<typename decltype(tag)::type> a(factor), x(out.tensor());
    for_matrices(a.count, static_cast<double>(n) * x.rows * x.columns, [&](int64_t begin, int64_t end) {
      cpu::lapack::trsm_batch(left ? 'L' : 'R', upper ? 'U' : 'L', unitriangular ? 'U' : 'N', a.count, end - begin,
                              x.rows, x.columns, a[begin], x[begin]);
    });
  });
  out.commit();
}

std::tuple<Tensor, Tensor> triangular_solve(const Tensor& self, const Tensor& A, bool upper, bool transpose,
                                            bool unitriangular) {
  TORCH_CHECK(self.dim() >= 2, "torch.triangular_solve: Expected b to have at least 2 dimensions, but it has ",
              self.dim(), " dimensions instead");
  TORCH_CHECK(A.dim() >= 2, "torch.triangular_solve: Expected A to have at least 2 dimensions, but it has ", A.dim(),
              " dimensions instead");
  check_old_system(self, A, "triangular_solve");
  const DimVector batch = broadcast_shapes(batch_of(self.sizes()), batch_of(A.sizes()));
  // Of a sparse matrix no copy is made.
  Tensor coefficients = A.layout() == Layout::Strided ? at::clone(at::expand(A, with(batch, {A.size(-2), A.size(-1)})))
                                                      : empty_contiguous({0}, A.scalar_type(), A.device());
  Tensor solution = transpose ? at::linalg_solve_triangular(at::transpose(A, -2, -1), self, !upper, true, unitriangular)
                              : at::linalg_solve_triangular(A, self, upper, true, unitriangular);
  return {std::move(solution), std::move(coefficients)};
}

std::array<TensorSpec, 3> linalg_ldl_factor_ex_meta(const Tensor& self, bool, bool) {
  check_square(self, "torch.linalg.ldl_factor_ex");
  check_floating(self, "torch.linalg.ldl_factor_ex");
  check_lapack_dtype(self, "ldl_factor_kernel_cpu");
  return {columns(DimVector(self.sizes().begin(), self.sizes().end()), self.scalar_type(), self),
          rows(batch_of(self.sizes(), 1), kInt, self), rows(batch_of(self.sizes()), kInt, self)};
}

void linalg_ldl_factor_ex_cpu(const Tensor& self, bool hermitian, bool check_errors, Tensor& LD, Tensor& pivots,
                              Tensor& info) {
  if (check_errors) {
    const auto all = at::linalg_ldl_factor_ex(self, hermitian, false);
    check_info(std::get<2>(all), "torch.linalg.ldl_factor_ex", Failure::kLdl);
    return write_all(all, LD, pivots, info);
  }
  ColumnsOut out(LD);
  DenseOut order(pivots), codes(info);
  at::copy_(out.tensor(), at::tril(self));
  visit_lapack(self.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Matrices<T> a(out.tensor());
    int *const pivot = order.data<int>(), *const code = codes.data<int>();
    if (self.numel() == 0) return std::fill_n(code, a.count, 0), void();
    for_matrices(a.count, cubic(a.rows, a.rows), [&](int64_t begin, int64_t end) {
      cpu::lapack::Workspace<T> w;
      for (int64_t i = begin; i < end; ++i) {
        code[i] = cpu::lapack::sytrf(hermitian, a.rows, a[i], a.ld, pivot + i * a.rows, w);
      }
    });
  });
  codes.commit();
  order.commit();
  out.commit();
}

std::tuple<Tensor, Tensor> linalg_ldl_factor(const Tensor& self, bool hermitian) {
  auto [LD, pivots, info] = at::linalg_ldl_factor_ex(self, hermitian, false);
  check_info(info, "torch.linalg.ldl_factor", Failure::kLdl);
  return {std::move(LD), std::move(pivots)};
}

TensorSpec linalg_ldl_solve_meta(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool) {
  check_square(LD, "torch.linalg.ldl_solve");
  check_floating(LD, "torch.linalg.ldl_solve");
  check_matrix(B, "torch.linalg.ldl_solve", "B");
  TORCH_CHECK(
      pivots.sizes() == IntArrayRef(batch_of(LD.sizes(), 1)),
      "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape ",
      pivots.sizes(), " instead");
  TORCH_CHECK(isIntegralType(pivots.scalar_type(), false),
              "torch.linalg.ldl_solve: Expected pivots to be integers. Got ", pivots.scalar_type());
  check_old_system(B, LD, "torch.linalg.ldl_solve");
  check_lapack_dtype(LD, "ldl_solve_kernel_cpu");
  return system_spec(LD, B);
}

void linalg_ldl_solve_cpu(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian, Tensor& result) {
  if (result.numel() == 0) return;
  const int64_t n = LD.size(-1);
  const DimVector batch = batch_of(result.sizes());
  const Tensor factor = column_copy(LD, with(batch, {n, n}));
  const Tensor order = dense(at::expand(pivots, with(batch, {n})), kInt);
  const auto* pivot = static_cast<const int*>(order.const_data_ptr());
  for (int64_t i = 0; i < order.numel(); ++i) {
    TORCH_CHECK(pivot[i] != 0 && std::abs(int64_t{pivot[i]}) <= n, "torch.linalg.ldl_solve: the pivot ", pivot[i],
                " is not that of a matrix of ", n, " rows. Did you properly pass the result of ldl_factor?");
  }
  ColumnsOut out(result);
  at::copy_(out.tensor(), B);
  visit_lapack(LD.scalar_type(), [&](auto tag) {
    const Matrices<typename decltype(tag)::type> a(factor), x(out.tensor());
    for_matrices(a.count, static_cast<double>(n * n * x.columns), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        cpu::lapack::sytrs(hermitian, a.rows, x.columns, a[i], a.ld, pivot + i * n, x[i], x.ld);
      }
    });
  });
  out.commit();
}

}  // namespace at::native
