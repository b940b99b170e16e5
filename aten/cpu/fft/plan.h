#pragma once
// How a line of n numbers is transformed: passes of small transforms (Stockham's order, which needs no bit reversal),
// or Bluestein's convolution where n has a large prime factor.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace at::cpu::fft {

// The widest vectors have so many lanes; a block of lines has as many.
template <class T>
inline constexpr size_t kLanes = 64 / sizeof(T);

inline constexpr int kLargestRadix = 13;

// One pass over n = radix * m * s numbers: for p < m and q < s, out[q + s (radix p + k)] = w(p k) * the small transform
// of in[q + s (p + m j)] over j. `roots` are w(p k) = exp(-2 pi i p k / (radix m)) as (real, imaginary), k = 1 ...
// radix - 1 for each p; `spread` has them once for each of the s * m numbers i = q + s p, all real parts of k = 1, then
// all imaginary ones, then k = 2, where s is less than a vector.
template <class T>
struct Pass {
  int radix = 1;
  size_t m = 1;
  size_t s = 1;
  std::vector<T> roots;
  std::vector<T> spread;
};

template <class T>
struct Plan {
  size_t n = 1;
  std::vector<Pass<T>> passes;

  // Bluestein: chirp[j] = exp(-pi i j^2 / n), and the transform of its conjugate, laid out for a cyclic convolution of
  // convolution->n >= 2 n - 1 numbers and divided by that length. Real parts first, then imaginary ones.
  std::vector<T> chirp, chirp_spectrum;
  std::shared_ptr<const Plan> convolution;

  // exp(-2 pi i k / (2 n)) for k <= n / 2, real parts first, in a plan for real lines of 2 n numbers.
  std::vector<T> half_roots;

  size_t work_length() const { return convolution ? convolution->n : n; }
  size_t bytes() const;
};

// With `real_roots`, half_roots too. Cached.
template <class T>
std::shared_ptr<const Plan<T>> find_plan(size_t n, bool real_roots);

}  // namespace at::cpu::fft
