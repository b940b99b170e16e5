#pragma once

#include <algorithm>
#include <cstdint>

#include "aten/cpu/matrix/packed_pieces.h"
#include "aten/cpu/matrix/packed_strips.h"
#include "c10/util/bfloat16.h"
#include "c10/util/half.h"

// float32 products with a matrix that is laid out once, of floats, or of numbers of one or two bytes, which become
// floats when they are read: what waits for memory takes a half or a fourth of the time.
//
//   const PackedProduct<float> layer(n, k, weight, nullptr, bias);
//   layer.run(m, x, nullptr, 0, INFINITY, y);   // y = relu(x weight^T + bias)

namespace at::matrix {

/// T: float, c10::BFloat16, c10::Half or int8_t. What is called is linked: the kernels of each are a source of their
/// own.
template <class T>
class PackedProduct {
 public:
  /// `weight` [n, k]; `scale` [n] where T is int8_t, whose weights are scale[j] * weight[j], else null; `bias` [n] or
  /// null. Copies all.
  PackedProduct(int64_t n, int64_t k, const T* weight, const float* scale, const float* bias)
      : n_(n), k_(k), packed_(filled(n) * k), numbers_(2 * filled(n)) {
    internal::pack_strips(weight, n, k, 1, strip(), filled_to(), packed_.data());
    float* const to = internal::pack_bias(bias, n, filled_to(), numbers_.data());
    internal::pack_bias(scale, n, filled_to(), to);
  }

  /// y = min(max(x weight^T + bias + add, low), high), x [m, k], y [m, n]; NaN stays. `add` lies like y, which it may
  /// be, or is null. On several threads where the work is worth it. A row does not depend on the others.
  void run(int64_t m, const float* x, const float* add, float low, float high, float* y) const {
    const internal::PackedLayer l = layer(add, low, high, y);
    // Pieces of rows that stay in the second cache, for all strips; whole tiles.
    constexpr int64_t kPieceFloats = 1 << 16, kTile = 12;
    const int64_t piece = std::min(m, std::max<int64_t>(kPieceFloats / (k_ + 1) / kTile, 1) * kTile);
    internal::visit_pieces(
        m, piece, strips(), strip() * k_,
        [&](int64_t begin, int64_t end, int64_t first, int64_t last) { multiply(l, x, begin, end, first, last); });
  }
  /// In the calling thread: programs whose products are small link no threads.
  void run_alone(int64_t m, const float* x, const float* add, float low, float high, float* y) const {
    multiply(layer(add, low, high, y), x, 0, m, 0, strips());
  }

 private:
  internal::PackedLayer layer(const float* add, float low, float high, float* y) const {
    return {packed_.data(), numbers_.data() + filled(n_), numbers_.data(), k_, n_, add, low, high, y};
  }
  int64_t strips() const { return (n_ + strip() - 1) / strip(); }
  static int64_t filled(int64_t n) { return internal::rounded_up(n, filled_to()); }

  // By the instruction set.
  static int64_t strip();
  static int64_t filled_to();
  /// Rows [begin, end) of strips [first_strip, last_strip).
  static void multiply(const internal::PackedLayer& layer, const float* x, int64_t begin, int64_t end,
                       int64_t first_strip, int64_t last_strip);

  int64_t n_, k_;
  internal::Aligned<T> packed_;
  internal::Floats numbers_;  // bias and scale
};

}  // namespace at::matrix
