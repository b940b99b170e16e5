#pragma once
// Distances and angles of contiguous rows, float and double. Nothing here allocates or starts threads.

#include <cstdint>

namespace at::cpu {

/// A norm's exponent, as the loops take it.
struct DistanceNorm {
  enum class Kind { kZero, kOne, kTwo, kInf, kWhole, kPower };
  Kind kind;
  int whole;  // the exponent of kWhole
  double p;
  explicit DistanceNorm(double exponent);
  /// Whether distances() leaves the root to its caller.
  bool needs_root() const { return kind == Kind::kWhole || kind == Kind::kPower; }
};

/// Columns that distances() packs at a time: `packed` has room for `width` times as many.
inline constexpr int64_t kDistancePanel = 64;

/// out[i * out_stride + j] = the norm of x[i] - y[j] (without the root where the norm needs_root), rows of `width` elements.
/// Sums of more than a few hundred elements are added in blocks.
template <class T>
void distances(const T* x, int64_t x_rows, const T* y, int64_t y_rows, int64_t width, const DistanceNorm& norm, T* packed,
               T* out, int64_t out_stride);

/// The products x . y[j] in `row` become the distances of x and y[j], which have the squares x_square and y_squares[j]. False
/// if digits were lost in one of them, where the distance is short beside the vectors: those are negative now.
template <class T>
bool distances_from_products(T* row, int64_t n, T x_square, const T* y_squares);

/// x . y, x . x and y . y in out.
template <class T>
void row_products(const T* x, const T* y, int64_t n, double* out);

}  // namespace at::cpu
