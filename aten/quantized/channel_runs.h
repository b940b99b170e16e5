#pragma once
// Loops over elements whose channels have scales and zero points of their own.

#include <algorithm>
#include <cstdint>

#include "aten/ops/dense/dense.h"
#include "aten/quantized/element_loops.h"
#include "aten/quantized/quantized_parts.h"
#include "c10/parallel/parallel.h"

namespace at::quantized {

/// Calls f(begin, end, steps) in parallel on runs of elements whose channels, along split.size, have these scales and
/// zero points.
template <class F>
void for_each_run(const native::DimSplit& split, const float* scales, const float* zeros, const F& f) {
  constexpr int64_t kNarrow = 32, kPiece = 1024;
  const int64_t size = split.size, inner = split.inner, numel = split.outer * size * inner;
  // Runs of one channel, or of all of them as their scales lie.
  const bool each = inner == 1 && size >= kPiece;
  if (each || inner >= kNarrow || split.outer * size == 1) {
    const int64_t length = each ? size : inner;
    at::parallel_for(0, numel, kGrain, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t channel = begin / inner % size, stop = std::min(end, (begin / length + 1) * length);
        f(begin, stop, Steps{scales + channel, zeros + channel, each});
        begin = stop;
      }
    });
    return;
  }
  // Channels that lie close together: a scale and a zero point for each element of a piece, which serve the next ones
  // where the channels begin anew with a piece.
  at::parallel_for(0, numel, kGrain, [&](int64_t begin, int64_t end) {
    float own_scales[kPiece], own_zeros[kPiece];
    const int64_t period = size * inner, length = period <= kPiece ? kPiece / period * period : kPiece;
    for (int64_t at = begin; at < end; at += length) {
      const int64_t count = std::min(length, end - at);
      if (at == begin || period > kPiece) {
        int64_t channel = at / inner % size, left = inner - at % inner;
        for (int64_t i = 0; i < count; i += left, left = inner, channel = channel + 1 < size ? channel + 1 : 0) {
          left = std::min(left, count - i);
          std::fill_n(own_scales + i, left, scales[channel]);
          std::fill_n(own_zeros + i, left, zeros[channel]);
        }
      }
      f(at, at + count, Steps{own_scales, own_zeros, true});
    }
  });
}

}  // namespace at::quantized
