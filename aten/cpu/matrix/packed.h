#pragma once

#include <cstdint>

#include "aten/cpu/matrix/gemm.h"
#include "aten/cpu/matrix/internal.h"

// Products of many small matrices, one after the other, with one that stays: it is laid out once.
//
//   const PackedMatrix weights(Type::kFloat32, n, k, {w, 1, k});  // the transpose of w[n, k]
//   for (...) weights.multiply(rows, x, k, y, n, nullptr, 0);     // y[rows, n] = x[rows, k] weights

namespace at::matrix {

class PackedMatrix {
 public:
  /// Copies B[k, n], float32 or float64, given by its strides (a batch's are not read).
  PackedMatrix(Type type, int64_t n, int64_t k, const Operand& b);

  /// C[m, n] = A[m, k] B + add, in this thread. The rows of A, C and `add` are dense and `*_row` elements apart; `add`
  /// may be null, C itself, or one row for all (add_row 0). An element of C does not depend on m.
  void multiply(int64_t m, const void* a, int64_t a_row, void* c, int64_t c_row, const void* add,
                int64_t add_row) const;

  int64_t n() const { return n_; }
  int64_t k() const { return k_; }

 private:
  Type type_;
  int64_t n_, k_;
  internal::Scratch packed_;
};

}  // namespace at::matrix
