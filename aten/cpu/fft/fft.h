#pragma once
// Fourier transforms of lines of numbers, float and double, of any length. Plans (factors and roots of unity) are
// cached.

#include <cstddef>
#include <cstdint>

#include "aten/cpu/support/cache_stats.h"
#include "c10/util/small_vector.h"

namespace at::cpu::fft {

enum class Kind : uint8_t {
  kComplex,     ///< n complex numbers from n complex ones
  kRealToHalf,  ///< n / 2 + 1 complex numbers from n real ones
  kHalfToReal,  ///< n real numbers from n / 2 + 1 complex ones; imaginary parts that must be 0 count as 0
};

/// What is done with a line of n >= 1 numbers: X[k] = scale * sum over j of x[j] exp(-2 pi i j k / n), with +2 where it
/// is not `forward`.
struct Transform {
  Kind kind = Kind::kComplex;
  bool forward = true;
  int64_t n = 1;
  double scale = 1;
};

/// Where the lines are. Strides count elements of the respective type: complex ones, or real ones on the real side.
struct Lines {
  c10::SmallVector<int64_t, 6> sizes, in_strides, out_strides;  ///< of the dimensions that number the lines
  int64_t in_step = 1, out_step = 1;                            ///< from one number of a line to the next
};

/// Transforms all lines, shared out over threads. `out` may be `in` where both have the same strides; else they must
/// not overlap. T is float or double; complex numbers are pairs of T.
template <class T>
void transform(const Transform& what, const Lines& lines, const T* in, T* out);

/// to[k] is the conjugate of from[-k], for k < count: complex numbers, as pairs of T. They must not overlap.
template <class T>
void mirror_conjugates(const T* from, size_t count, T* to);

CacheStats plan_cache_stats();

/// Bounds the bytes of the plans that are kept; what was used longest ago goes first. 64 MiB at the start, 0 keeps
/// none.
void set_plan_cache_limit(size_t bytes);

}  // namespace at::cpu::fft
