#pragma once
// Batches of matrices in column-major order, as LAPACK takes them.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <tuple>
#include <utility>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/lapack/lapack.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "c10/parallel/parallel.h"

namespace at::native::linalg {

/// All dimensions but the last `drop`.
DimVector batch_of(IntArrayRef sizes, int64_t drop = 2);
DimVector with(DimVector batch, std::initializer_list<int64_t> last);
DimVector column_strides(IntArrayRef sizes);

/// A result that is contiguous, and one whose matrices are column-major.
TensorSpec rows(DimVector sizes, ScalarType dtype, const Tensor& like);
TensorSpec columns(DimVector sizes, ScalarType dtype, const Tensor& like);
/// What stands for a result that is not computed.
TensorSpec nothing(ScalarType dtype, const Tensor& like);

/// "linalg.inv: The input tensor A must have at least 2 dimensions."
void check_matrix(const Tensor& t, const char* op, const char* name = "A");
/// "linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices".
void check_square(const Tensor& t, const char* op, const char* name = "A");
/// "linalg.inv: Expected a floating point or complex tensor as input. Got Int", and without `low` also
/// "linalg.inv: Low precision dtypes not supported. Got Half".
void check_floating(const Tensor& t, const char* op, bool low = true);
/// "\"lu_cpu\" not implemented for 'Half'": of what LAPACK has no routines for.
void check_lapack_dtype(const Tensor& t, const char* kernel);
/// "linalg.solve: Expected A and B to have the same dtype, but found A of type Float and B of type Double instead".
void check_same(const char* op, const Tensor& a, const char* a_name, const Tensor& b, const char* b_name);
/// "linalg.solve: Incompatible shapes of A and B for the equation AX = B (3x3 and 4x2)".
void check_system(const Tensor& a, const Tensor& b, bool left, const char* op);
/// Whether B holds one right-hand side for each of the matrices A.
bool is_vector_system(const Tensor& a, const Tensor& b);

/// What a number other than 0 in `info` says.
enum class Failure : uint8_t { kInverse, kSolve, kCholesky, kSvd, kEigen, kLu, kLdl };
/// Throws c10::LinAlgError (of an LU factorization c10::Error) for the first matrix that failed, with its place in the
/// batch.
void check_info(const Tensor& info, const char* op, Failure what);

/// Copies results that were computed and checked apart from where they go.
template <class Results, class... Outs>
void write_all(const Results& results, Outs&... outs) {
  std::apply([&](const auto&... from) { (at::copy_(outs, from), ...); }, results);
}

template <class F>
void visit_lapack(ScalarType type, F&& f) {
  switch (type) {
    case ScalarType::Float:
      return f(cpu::TypeTag<float>{});
    case ScalarType::Double:
      return f(cpu::TypeTag<double>{});
    case ScalarType::ComplexFloat:
      return f(cpu::TypeTag<c10::complex<float>>{});
    case ScalarType::ComplexDouble:
      return f(cpu::TypeTag<c10::complex<double>>{});
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "linalg: not implemented for '", toString(type), "'");
  }
}

inline int64_t product(IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

/// The matrices of a column-major tensor.
template <class T>
struct Matrices {
  explicit Matrices(const Tensor& t)
      : data(static_cast<T*>(t.mutable_data_ptr())),
        rows(cpu::lapack::checked_size(t.size(-2))),
        columns(cpu::lapack::checked_size(t.size(-1))),
        ld(std::max(rows, 1)),
        count(product(batch_of(t.sizes()))) {}
  T* operator[](int64_t i) const { return data + i * rows * columns; }

  T* data;
  int rows, columns, ld;
  int64_t count;
};

/// An unwritten tensor with column-major matrices on the device of `like`, and a copy of `t`, broadcast to `sizes`, in
/// one.
Tensor empty_columns(IntArrayRef sizes, ScalarType dtype, const Tensor& like);
Tensor column_copy(const Tensor& t, IntArrayRef sizes);
inline Tensor column_copy(const Tensor& t) {
  return column_copy(t, t.sizes());
}

/// Where a kernel writes column-major matrices: `out` where it has them, else a temporary that commit() copies.
class ColumnsOut {
 public:
  explicit ColumnsOut(Tensor& out) : out_(out) {
    if (out.strides() != IntArrayRef(column_strides(out.sizes())) || !is_aligned(out)) {
      temporary_ = empty_columns(out.sizes(), out.scalar_type(), out);
    }
  }
  Tensor& tensor() { return temporary_.defined() ? temporary_ : out_; }
  void commit() {
    if (temporary_.defined()) at::copy_(out_, temporary_);
  }

 private:
  Tensor& out_;
  Tensor temporary_;
};

/// f(first, last) for pieces of a batch; `work` is about how many operations a matrix takes.
template <class F>
void for_matrices(int64_t count, double work, const F& f) {
  if (count == 0) return;
  cpu::lapack::use_one_thread();
  const auto grain = static_cast<int64_t>(std::max(1.0, 65536.0 / std::max(work, 1.0)));
  at::parallel_for(0, count, grain, f);
}

/// How many operations a factorization of an m x n matrix takes.
inline double cubic(int64_t m, int64_t n) {
  const auto a = static_cast<double>(m), b = static_cast<double>(n);
  return a * b * std::min(a, b);
}

/// For each matrix 0, or `code` where it has elements that are not finite: iterations that meet them may never end.
Tensor finite_info(const Tensor& columns, int code);

/// LU factors of column-major matrices in place. `pivots` [.., min(m, n)] and `info` [..] are contiguous int tensors.
/// Without `pivot`, which the CPU does not know, rows are not exchanged.
void factor_lu(const Tensor& lu, const Tensor& pivots, const Tensor& info, bool pivot = true);
/// b = op(A)^-1 b in place, with the factors of A, which have the batch of b; `trans` 'N', 'T' or 'C'.
void solve_lu(const Tensor& lu, const Tensor& pivots, char trans, const Tensor& b);

}  // namespace at::native::linalg
