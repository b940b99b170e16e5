#include "aten/ops/linalg/matrices.h"

#include <cmath>
#include <string>

#include "aten/core/view.h"
#include "aten/cuda/solver/solver.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native::linalg {

DimVector batch_of(IntArrayRef sizes, int64_t drop) {
  return DimVector(sizes.begin(), sizes.end() - drop);
}

DimVector with(DimVector batch, std::initializer_list<int64_t> last) {
  batch.insert(batch.end(), last.begin(), last.end());
  return batch;
}

DimVector column_strides(IntArrayRef sizes) {
  DimVector strides(sizes.size(), 1);
  const size_t n = sizes.size();
  if (n < 2) return strides;
  strides[n - 1] = std::max<int64_t>(sizes[n - 2], 1);
  int64_t stride = strides[n - 1];
  for (size_t d = n - 2; d-- > 0;) {
    const size_t faster = d + 3 == n ? n - 1 : d + 1;
    TORCH_CHECK(!__builtin_mul_overflow(stride, std::max<int64_t>(sizes[faster], 1), &stride),
                "the strides of a tensor of sizes ", sizes, " overflow int64");
    strides[d] = stride;
  }
  return strides;
}

TensorSpec rows(DimVector sizes, ScalarType dtype, const Tensor& like) {
  return {std::move(sizes), {}, dtype, like.device()};
}
TensorSpec columns(DimVector sizes, ScalarType dtype, const Tensor& like) {
  DimVector strides = column_strides(sizes);
  return {std::move(sizes), std::move(strides), dtype, like.device()};
}
TensorSpec nothing(ScalarType dtype, const Tensor& like) {
  return {DimVector{0}, {}, dtype, like.device()};
}

void check_matrix(const Tensor& t, const char* op, const char* name) {
  TORCH_CHECK(t.dim() >= 2, op, ": The input tensor ", name, " must have at least 2 dimensions.");
}

void check_square(const Tensor& t, const char* op, const char* name) {
  check_matrix(t, op, name);
  TORCH_CHECK(t.size(-1) == t.size(-2), op, ": ", name, " must be batches of square matrices, but they are ",
              t.size(-2), " by ", t.size(-1), " matrices");
}

void check_floating(const Tensor& t, const char* op, bool low) {
  const ScalarType type = t.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(type) || isComplexType(type), op,
                              ": Expected a floating point or complex tensor as input. Got ", type);
  if (low) return;
  const ScalarType real = toRealValueType(type);
  TORCH_CHECK_NOT_IMPLEMENTED(real == kFloat || real == kDouble, op, ": Low precision dtypes not supported. Got ",
                              type);
}

void check_lapack_dtype(const Tensor& t, const char* kernel) {
  const ScalarType type = t.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(type == kFloat || type == kDouble || type == kComplexFloat || type == kComplexDouble,
                              "\"", kernel, "\" not implemented for '", toString(type), "'");
}

void check_same(const char* op, const Tensor& a, const char* a_name, const Tensor& b, const char* b_name) {
  TORCH_CHECK(a.scalar_type() == b.scalar_type(), op, ": Expected ", a_name, " and ", b_name,
              " to have the same dtype, but found ", a_name, " of type ", a.scalar_type(), " and ", b_name, " of type ",
              b.scalar_type(), " instead");
}

void check_system(const Tensor& a, const Tensor& b, bool left, const char* op) {
  check_square(a, op);
  check_matrix(b, op, "B");
  TORCH_CHECK(left ? a.size(-2) == b.size(-2) : a.size(-1) == b.size(-1), op,
              ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", " (", a.size(-2), "x",
              a.size(-1), " and ", b.size(-2), "x", b.size(-1), ")");
}

bool is_vector_system(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 || (a.dim() - 1 == b.dim() && b.sizes() == IntArrayRef(batch_of(a.sizes(), 1)));
}

namespace {

// The first number other than 0 and its place, found by operators: `info` may lie on a device, or be no memory at all.
std::pair<int64_t, int64_t> first_failure(const Tensor& info) {
  if (info.is_meta() || info.numel() == 0) return {0, 0};
  const Tensor flat = at::reshape(info, {-1});
  const Tensor failed = at::ne(flat, Scalar(0));
  if (!at::item(at::any(failed)).toBool()) return {0, 0};
  const int64_t place = at::item(at::argmax(at::_to_copy(failed, TensorOptions().dtype(kInt)))).toLong();
  return {at::item(at::select(flat, 0, place)).toLong(), place};
}

}  // namespace

void check_info(const Tensor& info, const char* op, Failure what) {
  // Those of all samples are looked at together.
  if (info.key_set().has(DispatchKey::FuncTorchBatched)) return at::_linalg_check_errors(info, op, false);
  const auto [code, place] = first_failure(info);
  if (code == 0) return;
  const std::string where = info.dim() > 0 ? c10::str(": (Batch element ", place, "): ") : std::string(": ");
  switch (what) {
    case Failure::kInverse:
      TORCH_CHECK_LINALG(false, op, where, "The diagonal element ", code,
                         " is zero, the inversion could not be completed because the input matrix is singular.");
    case Failure::kSolve:
      TORCH_CHECK_LINALG(false, op, where, "The solver failed because the input matrix is singular.");
    case Failure::kCholesky:
      TORCH_CHECK_LINALG(
          false, op, where,
          "The factorization could not be completed because the input is not positive-definite (the leading "
          "minor of order ",
          code, " is not positive-definite).");
    case Failure::kSvd:
      TORCH_CHECK_LINALG(code != -4, op, where,
                         "The algorithm failed to converge because the input matrix contained non-finite values.");
      TORCH_CHECK_LINALG(false, op, where,
                         "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
                         "repeated singular values (error code: ",
                         code, ").");
    case Failure::kEigen:
      TORCH_CHECK_LINALG(false, op, where,
                         "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
                         "repeated eigenvalues (error code: ",
                         code, ").");
    case Failure::kLu:
      TORCH_CHECK(
          false, op, where, "U[", code, ",", code,
          "] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
          "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)");
    case Failure::kLdl:
      TORCH_CHECK_LINALG(false, op, where, "D[", code, ",", code,
                         "] is zero and using it on ldl_solve would result in a division by zero. To keep the factors, "
                         "call linalg.ldl_factor_ex");
  }
}

Tensor empty_columns(IntArrayRef sizes, ScalarType dtype, const Tensor& like) {
  return empty_with_strides(sizes, column_strides(sizes), dtype, like.device());
}

Tensor column_copy(const Tensor& t, IntArrayRef sizes) {
  Tensor copy = empty_columns(sizes, t.scalar_type(), t);
  return at::copy_(copy, t);
}

Tensor finite_info(const Tensor& columns, int code) {
  if (columns.is_cuda()) {
    const Tensor failed = at::logical_not(at::all(at::isfinite(columns), IntArrayRef{-2, -1}));
    return at::mul(at::_to_copy(failed, TensorOptions().dtype(kInt)), Scalar(code));
  }
  const Tensor info = empty_contiguous(batch_of(columns.sizes()), kInt);
  visit_lapack(columns.scalar_type(), [&](auto tag) {
    const Matrices<typename decltype(tag)::type> a(columns);
    int* const codes = static_cast<int*>(info.mutable_data_ptr());
    const int64_t size = int64_t{a.rows} * a.columns;
    for_matrices(a.count, static_cast<double>(size), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto is_finite = [](auto x) { return std::isfinite(cpu::lapack::magnitude(x)); };
        codes[i] = std::all_of(a[i], a[i] + size, is_finite) ? 0 : code;
      }
    });
  });
  return info;
}

void factor_lu(const Tensor& lu, const Tensor& pivots, const Tensor& info, bool pivot) {
  if (lu.is_cuda()) return cuda::solver::getrf(lu, pivots, info, pivot);
  visit_lapack(lu.scalar_type(), [&](auto tag) {
    const Matrices<typename decltype(tag)::type> a(lu);
    const int few = std::min(a.rows, a.columns);
    int* const all_pivots = static_cast<int*>(pivots.mutable_data_ptr());
    int* const codes = static_cast<int*>(info.mutable_data_ptr());
    for_matrices(a.count, cubic(a.rows, a.columns), [&](int64_t begin, int64_t end) {
      cpu::lapack::getrf_batch(a.count, end - begin, a.rows, a.columns, a[begin], all_pivots + begin * few,
                               codes + begin);
    });
  });
}

void solve_lu(const Tensor& lu, const Tensor& pivots, char trans, const Tensor& b) {
  if (lu.is_cuda()) return cuda::solver::getrs(lu, pivots, trans, b);
  visit_lapack(lu.scalar_type(), [&](auto tag) {
    const Matrices<typename decltype(tag)::type> a(lu), x(b);
    const int* const all_pivots = static_cast<const int*>(pivots.const_data_ptr());
    for_matrices(a.count, static_cast<double>(a.rows) * a.rows * x.columns, [&](int64_t begin, int64_t end) {
      cpu::lapack::getrs_batch(trans, a.count, end - begin, a.rows, x.columns, a[begin], all_pivots + begin * a.rows,
                               x[begin]);
    });
  });
}

}  // namespace at::native::linalg
