#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "aten/cpu/isa.h"
#include "aten/cpu/matrix/gemm.h"
#include "aten/cpu/support/scratch.h"

namespace at::matrix::internal {

using cpu::Scratch;

/// A complex number as the engine has it in memory.
template <class T>
struct Pair {
  T re, im;
  friend Pair operator+(Pair x, Pair y) { return {x.re + y.re, x.im + y.im}; }
  friend Pair operator*(Pair x, Pair y) { return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }
};

/// A factor as an element.
template <class T>
T factor_of(const Factor& f) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(f.integer);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(f.real);
  } else if constexpr (requires(T x) { x.im; }) {
    return {static_cast<decltype(T::re)>(f.real), static_cast<decltype(T::im)>(f.imag)};
  } else {  // half types
    return static_cast<T>(static_cast<float>(f.real));
  }
}

/// m * n * k * batches, saturating: the number of multiply-adds.
double work(const Gemm& g);

/// The whole problem of one batch entry, with batch sizes 1.
Gemm batch_entry(const Gemm& g, int64_t i);

/// The part rows [m0, m0 + m) and columns [n0, n0 + n) of a problem with batch sizes 1.
Gemm part(const Gemm& g, int64_t m0, int64_t m, int64_t n0, int64_t n);

/// C^T = B^T A^T: the same memory, seen transposed.
Gemm transposed(const Gemm& g);

/// Cuts `g` into independent serial problems and runs `serial` on each, with several threads where the work allows.
/// Cuts fall on multiples of row_unit and col_unit.
void run_in_parts(const Gemm& g, int64_t row_unit, int64_t col_unit, void (*serial)(const Gemm&));

/// C = beta * add (zero without one), for every batch entry; any type.
void fill_with_addend(const Gemm& g);

/// Whether there are so few rows or columns, of matrices whose lines along a long k lie dense, that packing the other
/// matrix would take longer than what it saves.
inline bool has_few_lines(const Gemm& g) {
  // With 32 registers nothing but the sums of lanes is lost, as long as the second cache holds the rows.
  const int64_t most_rows = cpu::isa() == cpu::Isa::kAvx512 ? (g.k <= 1024 ? 192 : 64) : g.k >= 512 ? 16 : 8;
  return g.k >= 128 && g.a.col == 1 && g.b.row == 1 && ((g.m <= most_rows && g.m <= g.n) || g.n < 8);
}

// Candidates.
extern const Candidate kBuiltinVector;  // float32, float64, int32 and int64 with Highway
extern const Candidate kPlain;          // every type, plain loops
extern const Candidate kConverting;     // types of one or two bytes by way of wider ones
extern const Candidate kComplex;        // complex numbers by way of real ones
#if KINDLING_HAVE_ONEDNN
extern const Candidate kOneDnn;
#endif

}  // namespace at::matrix::internal
