// QR factorizations and products with what they leave behind, Householder reflectors.
#include "aten/core/view.h"
#include "aten/cuda/solver/solver.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/linalg/kernels.h"
#include "aten/ops/linalg/matrices.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

using namespace linalg;

namespace {

// The factors of column-major matrices in place: R above the diagonal, reflectors below.
void factor_qr(const Tensor& qr, const Tensor& tau) {
  if (qr.is_cuda()) return cuda::solver::geqrf(qr, tau);
  visit_lapack(qr.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Matrices<T> a(qr);
    const int few = std::min(a.rows, a.columns);
    if (few == 0) return;
    T* const scales = static_cast<T*>(tau.mutable_data_ptr());
    for_matrices(a.count, 2 * cubic(a.rows, a.columns), [&](int64_t begin, int64_t end) {
      cpu::lapack::Workspace<T> w;
      for (int64_t i = begin; i < end; ++i) cpu::lapack::geqrf(a.rows, a.columns, a[i], a.ld, scales + i * few, w);
    });
  });
}

// The product of the reflectors in the first columns of `q`, in place. `tau` [.., k] is contiguous.
void form_q(const Tensor& q, const Tensor& tau) {
  if (q.is_cuda()) return cuda::solver::orgqr(q, tau);
  visit_lapack(q.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Matrices<T> a(q);
    if (a.rows == 0 || a.columns == 0) return;
    const int k = cpu::lapack::checked_size(tau.size(-1));
    const T* const scales = static_cast<const T*>(tau.const_data_ptr());
    for_matrices(a.count, 2 * cubic(a.rows, a.columns), [&](int64_t begin, int64_t end) {
      cpu::lapack::Workspace<T> w;
      for (int64_t i = begin; i < end; ++i) cpu::lapack::orgqr(a.rows, a.columns, k, a[i], a.ld, scales + i * k, w);
    });
  });
}

struct QrMode {
  bool q, reduced;
};
QrMode parse(std::string_view mode) {
  if (mode == "reduced") return {true, true};
  if (mode == "complete") return {true, false};
  TORCH_CHECK(mode == "r", "qr received unrecognized mode '", mode,
              "' but expected one of 'reduced' (default), 'r', or 'complete'");
  return {false, true};
}

}  // namespace

std::array<TensorSpec, 2> linalg_qr_meta(const Tensor& A, std::string_view mode) {
  check_matrix(A, "linalg.qr");
  check_floating(A, "linalg.qr");
  const QrMode what = parse(mode);
  check_lapack_dtype(A, "geqrf_cpu");
  const int64_t m = A.size(-2), n = A.size(-1), k = what.reduced ? std::min(m, n) : m;
  const DimVector batch = batch_of(A.sizes());
  const ScalarType type = A.scalar_type();
  return {what.q ? columns(with(batch, {m, k}), type, A) : nothing(type, A), columns(with(batch, {k, n}), type, A)};
}

void linalg_qr_kernel(const Tensor& A, std::string_view mode, Tensor& Q, Tensor& R) {
  const QrMode what = parse(mode);
  const int64_t m = A.size(-2), n = A.size(-1), few = std::min(m, n), k = R.size(-2);
  const Tensor qr = column_copy(A),
               tau = empty_contiguous(with(batch_of(A.sizes()), {few}), A.scalar_type(), A.device());
  factor_qr(qr, tau);
  const Tensor triangle = at::zeros(R.sizes(), R.options());
  Tensor upper = at::narrow(triangle, -2, 0, few);
  at::copy_(upper, at::triu(at::narrow(qr, -2, 0, few)));
  // Everything is computed before R is written.
  if (what.q) {
    ColumnsOut out(Q);
    if (few < k) at::zero_(out.tensor());
    Tensor reflectors = at::narrow(out.tensor(), -1, 0, few);
    at::copy_(reflectors, at::narrow(qr, -1, 0, few));
    if (few == 0) {
      Tensor diagonal = at::diagonal(out.tensor(), 0, -2, -1);
      at::fill_(diagonal, Scalar(1));
    } else {
      form_q(out.tensor(), tau);
    }
    out.commit();
  }
  at::copy_(R, triangle);
}

std::tuple<Tensor, Tensor> qr(const Tensor& self, bool some) {
  return at::linalg_qr(self, some ? "reduced" : "complete");
}

std::array<TensorSpec, 2> geqrf_meta(const Tensor& self) {
  TORCH_CHECK(self.dim() >= 2, "torch.geqrf: input must have at least 2 dimensions.");
  check_lapack_dtype(self, "geqrf_cpu");
  return {columns(DimVector(self.sizes().begin(), self.sizes().end()), self.scalar_type(), self),
          rows(with(batch_of(self.sizes()), {std::min(self.size(-1), self.size(-2))}), self.scalar_type(), self)};
}

void geqrf_kernel(const Tensor& self, Tensor& a, Tensor& tau) {
  // The two results may share memory: everything is computed before one is written.
  const Tensor qr = column_copy(self), scales = empty_contiguous(tau.sizes(), self.scalar_type(), self.device());
  factor_qr(qr, scales);
  write_all(std::tie(qr, scales), a, tau);
}

namespace {

void check_reflectors(const Tensor& input, const Tensor& tau) {
  constexpr const char* op = "torch.linalg.householder_product";
  TORCH_CHECK(input.dim() >= 2, op, ": input must have at least 2 dimensions.");
  TORCH_CHECK(input.size(-2) >= input.size(-1), op,
              ": input.shape[-2] must be greater than or equal to input.shape[-1]");
  TORCH_CHECK(tau.dim() >= 1 && input.size(-1) >= tau.size(-1), op,
              ": input.shape[-1] must be greater than or equal to tau.shape[-1]");
  TORCH_CHECK(input.dim() - tau.dim() == 1, op,
              ": Expected tau to have one dimension less than input, but got tau.ndim equal to ", tau.dim(),
              " and input.ndim is equal to ", input.dim());
  TORCH_CHECK(batch_of(tau.sizes(), 1) == batch_of(input.sizes()), op,
              ": Expected batch dimensions of tau to be equal to "
              "input.shape[:-2], but got ",
              IntArrayRef(batch_of(tau.sizes(), 1)));
  TORCH_CHECK(tau.scalar_type() == input.scalar_type(), op, ": tau dtype ", tau.scalar_type(),
              " does not match input dtype ", input.scalar_type());
  check_lapack_dtype(input, "orgqr_cpu");
}

// The vector of reflector i, [.., m, 1]: zeros, 1, and what stands below the diagonal.
Tensor reflector(const Tensor& input, int64_t i) {
  const Tensor column = at::tril(at::narrow(input, -1, i, 1), -(i + 1));
  const Tensor unit = at::zeros({input.size(-2), 1}, input.options());
  Tensor one = at::select(unit, 0, i);
  at::fill_(one, Scalar(1));
  return at::add(column, unit);
}

// H_i x, where H_i = I - tau_i v v^H, or its adjoint.
Tensor reflect(const Tensor& input, const Tensor& tau, int64_t i, bool adjoint, const Tensor& x) {
  const Tensor v = reflector(input, i);
  const Tensor scale = at::unsqueeze(at::narrow(tau, -1, i, 1), -1);
  const Tensor row = at::matmul(at::adjoint(v), x);
  return at::sub(x, at::mul(adjoint ? at::conj(scale) : scale, at::matmul(v, row)));
}

// Q x or Q^H x for the product Q of the reflectors.
Tensor reflect_all(const Tensor& input, const Tensor& tau, bool adjoint, Tensor x) {
  const int64_t k = tau.size(-1);
  for (int64_t step = 0; step < k; ++step) x = reflect(input, tau, adjoint ? step : k - 1 - step, adjoint, x);
  return x;
}

}  // namespace

Tensor linalg_householder_product_kernel(const Tensor& input, const Tensor& tau) {
  check_reflectors(input, tau);
  Tensor q = column_copy(input);
  form_q(q, dense(tau));
  return q;
}

Tensor linalg_householder_product(const Tensor& input, const Tensor& tau) {
  check_reflectors(input, tau);
  // From the argument, so that the result of no reflectors is recorded, too.
  Tensor unit = at::clone(input);
  at::zero_(unit);
  Tensor diagonal = at::diagonal(unit, 0, -2, -1);
  at::fill_(diagonal, Scalar(1));
  return reflect_all(input, tau, false, unit);
}

namespace {

void check_ormqr(const Tensor& input, const Tensor& tau, const Tensor& other, bool left) {
  constexpr const char* op = "torch.ormqr";
  TORCH_CHECK(input.dim() >= 2, op, ": input must have at least 2 dimensions.");
  TORCH_CHECK(other.dim() >= 2, op, ": other must have at least 2 dimensions.");
  const int64_t side = left ? -2 : -1;
  TORCH_CHECK(tau.dim() >= 1 && other.size(side) >= tau.size(-1), op, ": other.shape[", side,
              "] must be greater than or equal to tau.shape[-1]");
  TORCH_CHECK(other.size(side) == input.size(-2), op, ": other.shape[", side, "] must be equal to input.shape[-2]");
  TORCH_CHECK(tau.size(-1) == std::min(other.size(side), input.size(-1)), op,
              ": tau.shape[-1] must be equal to min(other.shape[", side, "], input.shape[-1])");
  TORCH_CHECK(input.dim() - tau.dim() == 1, op,
              ": Expected tau to have one dimension less than input, but got tau.ndim equal to ", tau.dim(),
              " and input.ndim is equal to ", input.dim());
  TORCH_CHECK(input.dim() == other.dim(), op,
              ": Expected other to have the same number of dimensions as input, but got other.ndim equal to ",
              other.dim(), " and input.ndim is equal to ", input.dim());
  TORCH_CHECK(batch_of(tau.sizes(), 1) == batch_of(input.sizes()), op,
              ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got ",
              IntArrayRef(batch_of(tau.sizes(), 1)));
  TORCH_CHECK(batch_of(other.sizes()) == batch_of(input.sizes()), op,
              ": Expected batch dimensions of other to be equal to input.shape[:-2], but got ",
              IntArrayRef(batch_of(other.sizes())));
  TORCH_CHECK(tau.scalar_type() == input.scalar_type(), op,
              ": Expected input and tau to have the same dtype, but input has dtype", input.scalar_type(),
              " and tau has dtype ", tau.scalar_type());
  TORCH_CHECK(other.scalar_type() == input.scalar_type(), op,
              ": Expected input and other to have the same dtype, but input has dtype", input.scalar_type(),
              " and other has dtype ", other.scalar_type());
  check_lapack_dtype(input, "ormqr_cpu");
}

}  // namespace

Tensor ormqr_kernel(const Tensor& input, const Tensor& tau, const Tensor& other, bool left, bool transpose) {
  check_ormqr(input, tau, other, left);
  const Tensor qr = column_copy(input), scales = dense(tau), result = column_copy(other);
  if (result.numel() == 0 || tau.size(-1) == 0) return result;
  if (result.is_cuda()) return cuda::solver::ormqr(qr, scales, result, left, transpose), result;
  visit_lapack(input.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Matrices<T> a(qr), c(result);
    const int k = cpu::lapack::checked_size(tau.size(-1));
    const T* const scale = static_cast<const T*>(scales.const_data_ptr());
    for_matrices(a.count, static_cast<double>(c.rows) * c.columns * k, [&](int64_t begin, int64_t end) {
      cpu::lapack::Workspace<T> w;
      for (int64_t i = begin; i < end; ++i) {
        cpu::lapack::ormqr(left ? 'L' : 'R', transpose ? 'C' : 'N', c.rows, c.columns, k, a[i], a.ld, scale + i * k,
                           c[i], c.ld, w);
      }
    });
  });
  return result;
}

// C Q is (Q^H C^H)^H.
Tensor ormqr(const Tensor& input, const Tensor& tau, const Tensor& other, bool left, bool transpose) {
  check_ormqr(input, tau, other, left);
  if (left) return reflect_all(input, tau, transpose, other);
  return at::adjoint(reflect_all(input, tau, !transpose, at::adjoint(other)));
}

}  // namespace at::native
