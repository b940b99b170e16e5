// Eigenvalues, singular values, least squares.
#include <cctype>
#include <optional>

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
#include "c10/core/epsilon.h"
#include "c10/core/grad_mode.h"

namespace at::native {

using namespace linalg;

namespace {

bool reads_upper(std::string_view uplo) {
  const char c = uplo.empty() ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(uplo[0])));
  TORCH_CHECK(uplo.size() == 1 && (c == 'L' || c == 'U'), "Expected UPLO argument to be 'L' or 'U', but got ", uplo);
  return c == 'U';
}

void set_identity(const Tensor& t) {
  Tensor all = t, diagonal = at::diagonal(all, 0, -2, -1);
  at::zero_(all);
  at::fill_(diagonal, Scalar(1));
}

// Whether a gradient or a tangent can be asked of what is computed from t.
bool is_recorded(const Tensor& t) {
  return t.key_set().has(DispatchKey::ForwardAD) || (GradMode::is_enabled() && t.requires_grad());
}

}  // namespace

std::array<TensorSpec, 2> _linalg_eigh_meta(const Tensor& A, std::string_view UPLO, bool compute_v) {
  check_square(A, "linalg.eigh");
  reads_upper(UPLO);
  check_lapack_dtype(A, "linalg_eigh_cpu");
  const ScalarType type = A.scalar_type();
  return {rows(batch_of(A.sizes(), 1), toRealValueType(type), A),
          compute_v ? columns(DimVector(A.sizes().begin(), A.sizes().end()), type, A) : nothing(type, A)};
}

namespace {

// Eigenvalues, and with `vectors` eigenvectors in place, of column-major Hermitian matrices.
void find_eigen(const Tensor& matrices, char uplo, bool vectors, const Tensor& values, const Tensor& info) {
  if (matrices.is_cuda()) return cuda::solver::syevd(matrices, uplo == 'U', vectors, values, info);
  visit_lapack(matrices.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Matrices<T> a(matrices);
    auto* const value = static_cast<cpu::lapack::Real<T>*>(values.mutable_data_ptr());
    int* const code = static_cast<int*>(info.mutable_data_ptr());
    for_matrices(a.count, 10 * cubic(a.rows, a.rows), [&](int64_t begin, int64_t end) {
      cpu::lapack::syevd_batch(vectors, uplo, a.count, end - begin, a.rows, a[begin], value + begin * a.rows,
                               code + begin);
    });
  });
}

}  // namespace

void _linalg_eigh_kernel(const Tensor& A, std::string_view UPLO, bool compute_v, Tensor& eigenvalues,
                         Tensor& eigenvectors) {
  const char uplo = reads_upper(UPLO) ? 'U' : 'L';
  if (A.numel() == 0) return;
  const Tensor work = column_copy(uplo == 'U' ? at::triu(A) : at::tril(A)), info = finite_info(work, 1);
  check_info(info, "linalg.eigh", Failure::kEigen);
  DenseOut values(eigenvalues);
  find_eigen(work, uplo, compute_v, values.tensor(), info);
  check_info(info, "linalg.eigh", Failure::kEigen);
  values.commit();
  if (compute_v) at::copy_(eigenvectors, work);
}

std::tuple<Tensor, Tensor> linalg_eigh(const Tensor& self, std::string_view UPLO) {
  return at::_linalg_eigh(self, UPLO, true);
}

Tensor linalg_eigvalsh(const Tensor& self, std::string_view UPLO) {
  return std::get<0>(at::_linalg_eigh(self, UPLO, is_recorded(self)));
}

namespace {

ScalarType complex_type(const Tensor& self, const char* kernel) {
  const ScalarType type = self.scalar_type();
  TORCH_CHECK(isFloatingType(type) || isComplexType(type), "Unknown Complex ScalarType for ", type);
  check_lapack_dtype(self, kernel);
  return toComplexType(type);
}

// Values [.., n] and, where defined, vectors of column-major complex matrices.
void eigen_into(const Tensor& self, const char* op, const Tensor& values, const Tensor& vectors) {
  if (self.numel() == 0) return;
  TORCH_CHECK(at::item(at::all(at::isfinite(self))).toBool(), "torch.", op,
              ": input tensor should not contain infs or NaNs.");
  const Tensor work = column_copy(self), info = empty_contiguous(batch_of(self.sizes()), kInt, self.device());
  if (self.is_cuda()) {
    cuda::solver::geev(work, values, vectors, info);
    return check_info(info, op, Failure::kEigen);
  }
  visit_lapack(self.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Complex = c10::complex<cpu::lapack::Real<T>>;
    const Matrices<T> a(work);
    auto* const value = static_cast<Complex*>(values.mutable_data_ptr());
    auto* const vector = vectors.defined() ? static_cast<Complex*>(vectors.mutable_data_ptr()) : nullptr;
    int* const code = static_cast<int*>(info.mutable_data_ptr());
    for_matrices(a.count, 25 * cubic(a.rows, a.rows), [&](int64_t begin, int64_t end) {
      cpu::lapack::Workspace<T> w;
      for (int64_t i = begin; i < end; ++i) {
        code[i] = cpu::lapack::geev(a.rows, a[i], a.ld, value + i * a.rows,
                                    vector == nullptr ? nullptr : vector + i * a.rows * a.rows, a.ld, w);
      }
    });
  });
  check_info(info, op, Failure::kEigen);
}

}  // namespace

std::array<TensorSpec, 2> linalg_eig_meta(const Tensor& self) {
  check_square(self, "linalg.eig");
  const ScalarType type = complex_type(self, "linalg_eig_out_cpu");
  return {rows(batch_of(self.sizes(), 1), type, self),
          columns(DimVector(self.sizes().begin(), self.sizes().end()), type, self)};
}

void linalg_eig_kernel(const Tensor& self, Tensor& eigenvalues, Tensor& eigenvectors) {
  DenseOut values(eigenvalues);
  ColumnsOut vectors(eigenvectors);
  eigen_into(self, "linalg.eig", values.tensor(), vectors.tensor());
  values.commit();
  vectors.commit();
}

TensorSpec _linalg_eigvals_meta(const Tensor& self) {
  check_square(self, "linalg.eigvals");
  return rows(batch_of(self.sizes(), 1), complex_type(self, "linalg_eigvals_out_cpu"), self);
}

void _linalg_eigvals_kernel(const Tensor& self, Tensor& out) {
  DenseOut values(out);
  eigen_into(self, "linalg.eigvals", values.tensor(), Tensor());
  values.commit();
}

Tensor linalg_eigvals(const Tensor& self) {
  if (!is_recorded(self)) return at::_linalg_eigvals(self);
  check_square(self, "linalg.eigvals");
  return std::get<0>(at::linalg_eig(self));
}

namespace {

void check_driver(const Tensor& A, const std::optional<std::string_view>& driver) {
  TORCH_CHECK(!driver.has_value() || !A.is_cpu(),
              "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
  TORCH_CHECK(!driver.has_value() || *driver == "gesvd" || *driver == "gesvdj" || *driver == "gesvda",
              "torch.linalg.svd: unknown svd driver ", *driver, ", expected gesvd, gesvdj or gesvda");
}

}  // namespace

std::array<TensorSpec, 3> _linalg_svd_meta(const Tensor& A, bool full_matrices, bool compute_uv,
                                           std::optional<std::string_view> driver) {
  check_matrix(A, "linalg.svd");
  check_floating(A, "linalg.svd");
  check_driver(A, driver);
  check_lapack_dtype(A, "linalg_svd_cpu");
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  const DimVector batch = batch_of(A.sizes());
  const ScalarType type = A.scalar_type();
  const TensorSpec values = rows(with(batch, {k}), toRealValueType(type), A);
  if (!compute_uv) return {nothing(type, A), values, nothing(type, A)};
  return {columns(with(batch, {m, full_matrices ? m : k}), type, A), values,
          columns(with(batch, {full_matrices ? n : k, n}), type, A)};
}

void _linalg_svd_kernel(const Tensor& A, bool full_matrices, bool compute_uv, std::optional<std::string_view> driver,
                        Tensor& U, Tensor& S, Tensor& Vh) {
  if (A.numel() == 0) {
    if (compute_uv) set_identity(U), set_identity(Vh);
    return;
  }
  const Tensor work = column_copy(A), info = finite_info(work, -4);
  check_info(info, "linalg.svd", Failure::kSvd);
  DenseOut values(S);
  ColumnsOut left(U), right(Vh);
  if (A.is_cuda()) {
    cuda::solver::svd(work, driver, compute_uv ? left.tensor() : Tensor(), values.tensor(),
                      compute_uv ? right.tensor() : Tensor(), info);
    check_info(info, "linalg.svd", Failure::kSvd);
    values.commit();
    left.commit();
    return right.commit();
  }
  visit_lapack(A.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Matrices<T> a(work);
    const int k = std::min(a.rows, a.columns), u_columns = full_matrices ? a.rows : k,
              v_rows = full_matrices ? a.columns : k;
    auto* const value = values.data<cpu::lapack::Real<T>>();
    T* const u = static_cast<T*>(left.tensor().mutable_data_ptr());
    T* const v = static_cast<T*>(right.tensor().mutable_data_ptr());
    int* const code = static_cast<int*>(info.mutable_data_ptr());
    const char job = !compute_uv ? 'N' : full_matrices ? 'A' : 'S';
    for_matrices(a.count, 20 * cubic(a.rows, a.columns), [&](int64_t begin, int64_t end) {
      cpu::lapack::Workspace<T> w;
      T none{};
      for (int64_t i = begin; i < end; ++i) {
        code[i] = cpu::lapack::gesdd(job, a.rows, a.columns, a[i], a.ld, value + i * k,
                                     compute_uv ? u + i * a.rows * u_columns : &none, a.ld,
                                     compute_uv ? v + i * v_rows * a.columns : &none, compute_uv ? v_rows : 1, w);
      }
    });
  });
  check_info(info, "linalg.svd", Failure::kSvd);
  values.commit();
  if (!compute_uv) return;
  left.commit();
  right.commit();
}

std::tuple<Tensor, Tensor, Tensor> linalg_svd(const Tensor& A, bool full_matrices,
                                              std::optional<std::string_view> driver) {
  return at::_linalg_svd(A, full_matrices, true, driver);
}

Tensor linalg_svdvals(const Tensor& A, std::optional<std::string_view> driver) {
  return std::get<1>(at::_linalg_svd(A, false, is_recorded(A), driver));
}

std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& self, bool some, bool compute_uv) {
  TORCH_CHECK(self.dim() >= 2, "linalg.svd: input should have at least 2 dimensions, but has ", self.dim(),
              " dimensions instead");
  if (compute_uv) {
    auto [U, S, Vh] = at::linalg_svd(self, !some);
    return {std::move(U), std::move(S), at::adjoint(Vh)};
  }
  Tensor S = at::linalg_svdvals(self);
  const DimVector batch = batch_of(self.sizes());
  return {at::zeros(with(batch, {self.size(-2), self.size(-2)}), self.options()), std::move(S),
          at::zeros(with(batch, {self.size(-1), self.size(-1)}), self.options())};
}

std::tuple<Tensor, Tensor> linalg_polar(const Tensor& A) {
  check_matrix(A, "linalg.polar");
  check_floating(A, "linalg.polar");
  TORCH_CHECK(A.size(-2) >= A.size(-1), "linalg.polar: input must have at least as many rows as columns, but got ",
              A.size(-2), " by ", A.size(-1), " matrices");
  const auto [U, S, Vh] = at::linalg_svd(A, false);
  return {at::matmul(U, Vh), at::matmul(at::mul(at::adjoint(Vh), at::unsqueeze(S, -2)), Vh)};
}

Tensor linalg_matrix_sqrth(const Tensor& self) {
  check_square(self, "linalg.matrix_sqrth");
  check_floating(self, "linalg.matrix_sqrth", false);
  const auto [L, V] = at::linalg_eigh(self);
  const Tensor roots = at::sqrt(at::clamp(L, Scalar(0)));
  return at::matmul(at::mul(V, at::unsqueeze(roots, -2)), at::adjoint(V));
}

namespace {

enum class Driver : uint8_t { kGels, kGelsy, kGelsd, kGelss };

Driver parse_driver(const Tensor& A, const std::optional<std::string_view>& driver) {
  if (!driver) return A.is_cuda() ? Driver::kGels : Driver::kGelsy;
  if (*driver == "gelsy") return Driver::kGelsy;
  if (*driver == "gels") return Driver::kGels;
  if (*driver == "gelsd") return Driver::kGelsd;
  TORCH_CHECK(*driver == "gelss",
              "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  return Driver::kGelss;
}

void check_lstsq(const Tensor& input, const Tensor& other, bool vector) {
  constexpr const char* op = "torch.linalg.lstsq";
  TORCH_CHECK(input.dim() >= 2, op, ": input must have at least 2 dimensions.");
  TORCH_CHECK(other.dim() >= 1, op, ": other must have at least 1 dimension.");
  const int64_t difference = input.dim() - other.dim();
  TORCH_CHECK(difference >= 0 && difference <= 1, op,
              ": input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1");
  TORCH_CHECK(input.size(-2) == other.size(vector ? -1 : -2), op, ": input.size(-2) should match other.size(",
              vector ? -1 : -2, ")");
  TORCH_CHECK(input.scalar_type() == other.scalar_type(), op,
              ": Expected input and other to have the same dtype, but got input's dtype ", input.scalar_type(),
              " and other's dtype ", other.scalar_type());
}

struct LeastSquares {
  Tensor a, b, rank, values, info;
  Driver driver;
  double rcond;

  // QR, of A or of A^H.
  void solve_full_rank() const {
    const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
    const bool tall = m >= n;
    const Tensor qr = tall ? a : column_copy(at::adjoint(a));
    const Tensor tau = empty_contiguous(with(batch_of(a.sizes()), {k}), a.scalar_type(), a.device());
    cuda::solver::geqrf(qr, tau);
    Tensor unknowns = at::narrow(b, -2, 0, k);
    if (tall) cuda::solver::ormqr(qr, tau, b, /*left=*/true, /*adjoint=*/true);
    const Tensor x = column_copy(unknowns);
    cuda::solver::trsm(column_copy(at::narrow(qr, -2, 0, k)), x, true, /*upper=*/true, tall ? 'N' : 'C', false);
    at::copy_(unknowns, x);
    if (!tall) cuda::solver::ormqr(qr, tau, b, /*left=*/true, /*adjoint=*/false);
  }

  // Singular values: what is below the limit counts as 0.
  void solve_by_values() const {
    const int64_t m = a.size(-2), n = a.size(-1);
    const auto [U, S, Vh] = at::_linalg_svd(a, false, true);
    const Tensor kept = at::gt(S, at::mul(at::narrow(S, -1, 0, 1), Scalar(rcond)));
    const Tensor parts = at::matmul(at::adjoint(U), at::narrow(b, -2, 0, m));
    const Tensor scales = at::where(kept, at::reciprocal(S), at::zeros_like(S));
    Tensor x = at::narrow(b, -2, 0, n);
    at::copy_(x, at::matmul(at::adjoint(Vh), at::mul(at::unsqueeze(scales, -1), parts)));
    at::copy_(const_cast<Tensor&>(values), S);
    at::copy_(const_cast<Tensor&>(rank), at::sum(kept, IntArrayRef{-1}));
  }

  template <class T>
  void solve() const {
    using R = cpu::lapack::Real<T>;
    const Matrices<T> left(a), right(b);
    const int m = left.rows, n = left.columns, k = std::min(m, n);
    const R limit = static_cast<R>(rcond);
    int *const ranks = static_cast<int*>(rank.mutable_data_ptr()), *const code =
                                                                       static_cast<int*>(info.mutable_data_ptr());
    R* const s = static_cast<R*>(values.mutable_data_ptr());
    for_matrices(left.count, 4 * cubic(m, n), [&](int64_t begin, int64_t end) {
      cpu::lapack::Workspace<T> w;
      for (int64_t i = begin; i < end; ++i) {
        T *x = left[i], *y = right[i];
        switch (driver) {
          case Driver::kGels:
            code[i] = cpu::lapack::gels(m, n, right.columns, x, left.ld, y, right.ld, w);
            break;
          case Driver::kGelsy:
            code[i] = cpu::lapack::gelsy(m, n, right.columns, x, left.ld, y, right.ld, limit, ranks + i, w);
            break;
          case Driver::kGelsd:
            code[i] = cpu::lapack::gelsd(m, n, right.columns, x, left.ld, y, right.ld, s + i * k, limit, ranks + i, w);
            break;
          case Driver::kGelss:
            code[i] = cpu::lapack::gelss(m, n, right.columns, x, left.ld, y, right.ld, s + i * k, limit, ranks + i, w);
            break;
        }
      }
    });
  }
};

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq_kernel(const Tensor& self, const Tensor& b,
                                                               std::optional<double> rcond,
                                                               std::optional<std::string_view> driver_name) {
  const bool vector = self.dim() >= 2 && b.dim() >= 1 && is_vector_system(self, b);
  check_lstsq(self, b, vector);
  const Driver driver = parse_driver(self, driver_name);
  const ScalarType type = self.scalar_type(), real = toRealValueType(type);
  TORCH_CHECK(real == kFloat || real == kDouble, "This function doesn't handle types other than float and double");
  const Tensor right = vector ? at::unsqueeze(b, -1) : b;
  const int64_t m = self.size(-2), n = self.size(-1), k = std::min(m, n), nrhs = right.size(-1);
  const DimVector batch = broadcast_shapes(batch_of(self.sizes()), batch_of(right.sizes()));
  const double epsilon = epsilon_of(real);
  // LAPACK finds the right-hand sides where it leaves the solutions: in as many rows as the larger size.
  const Tensor both = empty_columns(with(batch, {std::max(m, n), nrhs}), type, self);
  at::zero_(const_cast<Tensor&>(both));
  Tensor top = at::narrow(both, -2, 0, m);
  at::copy_(top, right);
  const TensorOptions reals = self.options().dtype(real);
  const LeastSquares problem{column_copy(self, with(batch, {m, n})),
                             both,
                             at::zeros(batch, reals.dtype(kInt)),
                             at::zeros(with(batch, {k}), reals),
                             at::zeros(batch, reals.dtype(kInt)),
                             driver,
                             rcond.value_or(epsilon * static_cast<double>(std::max(m, n)))};
  if (k > 0 && product(batch) > 0) {
    if (driver == Driver::kGelsd || driver == Driver::kGelss) {
      check_info(finite_info(problem.a, -4), "torch.linalg.lstsq", Failure::kSvd);
      check_info(finite_info(problem.b, -4), "torch.linalg.lstsq", Failure::kSvd);
    }
    if (self.is_cuda()) {
      driver == Driver::kGels ? problem.solve_full_rank() : problem.solve_by_values();
    } else {
      visit_lapack(type, [&](auto tag) { problem.solve<typename decltype(tag)::type>(); });
      TORCH_CHECK_LINALG(at::item(at::all(at::eq(problem.info, Scalar(0)))).toBool() || driver == Driver::kGels,
                         "torch.linalg.lstsq: the singular values did not converge");
    }
  }
  Tensor solution = at::narrow(both, -2, 0, n);
  if (vector) solution = at::squeeze(solution, -1);
  const bool has_values = driver == Driver::kGelsd || driver == Driver::kGelss;
  Tensor residuals = at::empty({0}, reals), rank = at::empty({0}, self.options().dtype(kLong)),
         values = at::empty({0}, reals);
  if (driver != Driver::kGels) rank = at::_to_copy(problem.rank, TensorOptions().dtype(kLong));
  if (has_values) values = problem.values;
  const bool full_rank = driver == Driver::kGels || at::item(at::all(at::eq(problem.rank, Scalar(n)))).toBool();
  if (m > n && driver != Driver::kGelsy && full_rank) {
    const Tensor rest = self.is_cuda() && driver != Driver::kGels
                            ? at::sub(right, at::matmul(self, at::narrow(both, -2, 0, n)))
                            : at::narrow(both, -2, n, m - n);
    residuals = at::sum(at::square(at::abs(rest)), IntArrayRef{-2});
    if (vector) residuals = at::squeeze(residuals, -1);
  }
  return {at::clone(solution), std::move(residuals), std::move(rank), std::move(values)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq_meta(const Tensor& self, const Tensor& b, std::optional<double>,
                                                             std::optional<std::string_view> driver_name) {
  const bool vector = self.dim() >= 2 && b.dim() >= 1 && is_vector_system(self, b);
  check_lstsq(self, b, vector);
  const Driver driver = parse_driver(self, driver_name);
  const ScalarType real = toRealValueType(self.scalar_type());
  TORCH_CHECK(real == kFloat || real == kDouble, "This function doesn't handle types other than float and double");
  const int64_t m = self.size(-2), n = self.size(-1);
  const IntArrayRef right = b.sizes();
  const DimVector batch = broadcast_shapes(batch_of(self.sizes()), vector ? batch_of(right, 1) : batch_of(right));
  const DimVector both = with(batch, {std::max(m, n), vector ? 1 : b.size(-1)});
  const Tensor columns = empty_with_strides(both, column_strides(both), self.scalar_type(), self.device());
  Tensor solution = at::narrow(columns, -2, 0, n);
  if (vector) solution = at::squeeze(solution, -1);
  DimVector residuals = batch;
  if (!vector) residuals.push_back(b.size(-1));
  if (m <= n || driver == Driver::kGelsy) residuals = {0};
  const bool has_values = driver == Driver::kGelsd || driver == Driver::kGelss;
  const TensorOptions reals = self.options().dtype(real);
  return {at::clone(solution), at::empty(residuals, reals),
          at::empty(driver == Driver::kGels ? DimVector{0} : batch, self.options().dtype(kLong)),
          at::empty(has_values ? with(batch, {std::min(m, n)}) : DimVector{0}, reals)};
}

}  // namespace at::native
