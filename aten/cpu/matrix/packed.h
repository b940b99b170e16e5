#pragma once

#include <cstdint>

#include "aten/cpu/matrix/gemm.h"
#include "aten/cpu/matrix/internal.h"

// Products of many small matrices, one after the other, with one that stays: it is laid out once.
//
//   const PackedMatrix weights(Type::kFloat32, n, k, {w, 1, k});  // the transpose of w[n, k]
//   for (...) weights.multiply(rows, {x, k}, y, n, nullptr, 0);   // y[rows, n] = x[rows, k] weights

namespace at::matrix {

class PackedMatrix {
 public:
  /// Copies B[k, n], float32 or float64, given by its strides (a batch's are not read).
  PackedMatrix(Type type, int64_t n, int64_t k, const Operand& b);

  /// C[m, n] = alpha A[m, k] B + add, in this thread. A has any strides (a batch's are not read); the rows of C and
  /// `add` are dense and `*_row` elements apart; `add` may be null, C itself, or one row for all (add_row 0). An
  /// element of C does not depend on m.
  void multiply(int64_t m, const Operand& a, void* c, int64_t c_row, const void* add, int64_t add_row,
                double alpha = 1) const {
    multiply_part(m, n_, k_, a, c, c_row, add, add_row, alpha);
  }
  /// The same with the first n columns and k rows of B alone.
  void multiply_part(int64_t m, int64_t n, int64_t k, const Operand& a, void* c, int64_t c_row, const void* add,
                     int64_t add_row, double alpha = 1) const;

  Type type() const { return type_; }
  int64_t n() const { return n_; }
  int64_t k() const { return k_; }

 private:
  Type type_;
  int64_t n_, k_;
  internal::Scratch packed_;
};

}  // namespace at::matrix
