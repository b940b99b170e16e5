#pragma once

#include <cstdint>

#include "aten/cpu/matrix/packed_strips.h"

// float32 products with a matrix that is laid out once.
//
//   const PackedProduct layer(n, k, weight, bias);
//   layer.run(m, x, nullptr, 0, INFINITY, y);   // y = relu(x weight^T + bias)

namespace at::matrix {

class PackedProduct {
 public:
  /// `weight` [n, k], `bias` [n] or null. Copies both.
  PackedProduct(int64_t n, int64_t k, const float* weight, const float* bias);

  /// y = min(max(x weight^T + bias + add, low), high), x [m, k], y [m, n]; NaN stays. `add` lies like y, which it may
  /// be, or is null. On several threads where the work is worth it. A row does not depend on the others.
  void run(int64_t m, const float* x, const float* add, float low, float high, float* y) const;
  /// In the calling thread.
  void run_alone(int64_t m, const float* x, const float* add, float low, float high, float* y) const;

 private:
  internal::PackedLayer layer(const float* add, float low, float high, float* y) const;
  int64_t strips() const;
  /// Rows [begin, end) of strips [first_strip, last_strip).
  static void multiply(const internal::PackedLayer& layer, const float* x, int64_t begin, int64_t end,
                       int64_t first_strip, int64_t last_strip);

  int64_t n_, k_;
  internal::Floats packed_;
};

}  // namespace at::matrix
