#pragma once

#include <cstdint>

// The matrix engine: products of strided matrices on raw memory, through an ordered list of candidates.
//
//   at::matrix::Gemm g;                          // C[2, 3] = A[2, 4] * B[4, 3], all row-major
//   g.type = at::matrix::Type::kFloat32;
//   g.m = 2, g.n = 3, g.k = 4;
//   g.a = {a, 4, 1};
//   g.b = {b, 3, 1};
//   g.c = c, g.c_row = 3;
//   at::matrix::gemm(g);
//
// Strides count elements and may be anything for A, B and the addend: a transposed matrix is passed by its strides and
// is not copied. The output must not overlap an input, except that `add` may be C itself with C's strides.

namespace at::matrix {

enum class Type : uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kUint8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kComplex64,
  kComplex128,
};

/// Bytes of one element.
int64_t type_size(Type type);

/// A factor: its real and imaginary part for floating types, its integer for integer types.
struct Factor {
  double real = 0, imag = 0;
  int64_t integer = 0;

  Factor() = default;
  Factor(int value) : real(value), integer(value) {}
  Factor(int64_t value) : real(static_cast<double>(value)), integer(value) {}
  Factor(double value, double imaginary = 0)
      : real(value), imag(imaginary), integer(value >= -9.2e18 && value <= 9.2e18 ? static_cast<int64_t>(value) : 0) {}
  bool is_zero() const { return real == 0 && imag == 0 && integer == 0; }
};

/// Element (i, j) of batch (p, q) lies at data + i * row + j * col + p * batch[0] + q * batch[1].
struct Operand {
  const void* data = nullptr;
  int64_t row = 0, col = 1;
  int64_t batch[2] = {0, 0};
};

/// C = alpha * A * B + beta * add, for each of batch[0] * batch[1] matrices.
struct Gemm {
  Type type = Type::kFloat32;
  int64_t m = 0, n = 0, k = 0;
  int64_t batch[2] = {1, 1};
  Operand a;    // m x k
  Operand b;    // k x n
  Operand add;  // m x n, broadcast by zero strides (a bias has row == 0); data null: nothing is added
  void* c = nullptr;
  int64_t c_row = 0, c_col = 1;
  int64_t c_batch[2] = {0, 0};
  Factor alpha = 1;
  Factor beta = 1;  // of `add`; where it is zero `add` is not read, so its NaN do not count
};

/// Computes `g` with the first candidate that takes it. Zero sizes are allowed: k == 0 gives beta * add. An `alpha` of zero
/// does not read A and B. float16 and bfloat16 accumulate in float32, integers wrap. With several threads allowed
/// (at::get_num_threads) large products use them.
void gemm(const Gemm& g);

/// One way to compute products.
struct Candidate {
  const char* name;
  /// Null if it takes `g`, else why not.
  const char* (*refusal)(const Gemm& g);
  void (*run)(const Gemm& g);
};

/// The candidates, best first. The last takes everything.
const Candidate* candidate(int i);
int candidate_count();

/// Runs one candidate by its name; returns its refusal, or null after it ran. For tests and benchmarks.
const char* gemm_with(const char* candidate, const Gemm& g);

/// When set, every product prints one line to stderr: its sizes, the candidate that ran and why the ones before refused.
/// Also set by the environment variable KINDLING_MATRIX_VERBOSE=1.
void set_verbose(bool verbose);
bool verbose();

}  // namespace at::matrix
