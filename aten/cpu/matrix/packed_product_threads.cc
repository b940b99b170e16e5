// Apart from the rest: programs whose products are small link no threads.
#include <algorithm>

#include "aten/cpu/matrix/packed_pieces.h"
#include "aten/cpu/matrix/packed_product.h"

namespace at::matrix {

void PackedProduct::run(int64_t m, const float* x, const float* add, float low, float high, float* y) const {
  const internal::PackedLayer l = layer(add, low, high, y);
  // Pieces of rows that stay in the second cache, for all strips; whole tiles.
  constexpr int64_t kPieceFloats = 1 << 16, kTile = 12;
  const int64_t piece = std::min(m, std::max<int64_t>(kPieceFloats / (k_ + 1) / kTile, 1) * kTile);
  const int64_t count = strips();
  internal::visit_pieces(
      m, piece, count, n_ * k_ / std::max<int64_t>(count, 1),
      [&](int64_t begin, int64_t end, int64_t first, int64_t last) { multiply(l, x, begin, end, first, last); });
}

}  // namespace at::matrix
