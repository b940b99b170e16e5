#pragma once

#include <algorithm>
#include <cstdint>

#include "c10/parallel/parallel.h"

namespace at::matrix::internal {

/// Shares rows [0, m), cut into pieces, and strips out over threads: f(row, last row, strip, last strip). `work`: the
/// multiply-adds of a row and a strip.
template <class F>
void visit_pieces(int64_t m, int64_t piece, int64_t strips, int64_t work, const F& f) {
  constexpr int64_t kWorthAThread = 1 << 18;
  if (m <= 0) return;
  const int64_t pieces = at::divup(m, piece), grain = kWorthAThread / (piece * work + 1) + 1;
  at::parallel_for(0, pieces * strips, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t i = begin / strips, first = begin % strips, last = std::min(strips, first + end - begin);
      f(i * piece, std::min(m, (i + 1) * piece), first, last);
      begin += last - first;
    }
  });
}

}  // namespace at::matrix::internal
