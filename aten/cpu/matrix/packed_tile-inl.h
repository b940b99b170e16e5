// Tiles of sums in registers, of products with packed strips (packed_strips.h). Include after hwy/highway.h, once a
// target.

#if defined(ATEN_CPU_MATRIX_PACKED_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_MATRIX_PACKED_TILE_INL_H_
#undef ATEN_CPU_MATRIX_PACKED_TILE_INL_H_
#else
#define ATEN_CPU_MATRIX_PACKED_TILE_INL_H_
#endif

#include <cstdint>

#include "aten/cpu/matrix/packed_strips.h"

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// A strip has so many vectors of output channels, and tiles as many rows as there are registers for. One row alone
// takes several strips at a time, whose sums hide the latency of a multiply-add.
#if HWY_TARGET <= HWY_AVX3 && !KINDLING_FEW_TILES
constexpr int kStripVectors = 4, kStripsAtOnce = 2;
#else
constexpr int kStripVectors = 2, kStripsAtOnce = 4;
#endif
constexpr int kTall = 6, kLow = 4;

HWY_INLINE int64_t Lanes() {
  return static_cast<int64_t>(hn::Lanes(D()));
}
HWY_INLINE int64_t Strip() {
  return kStripVectors * Lanes();
}
// The last strip has whole vectors of channels; where code is to be small, it is as wide as the others.
HWY_INLINE int64_t FilledTo() {
  return KINDLING_FEW_TILES ? Strip() : Lanes();
}

// sums[r][v] += from[r][k] b[k][v] for k < n. Returns what lies behind b.
template <int kRows, int kWide>
HWY_INLINE const float* Accumulate(const float* const (&from)[kRows], int64_t n, const float* HWY_RESTRICT b,
                                   V (&sums)[kRows][kWide]) {
  const D d;
  const int64_t lanes = Lanes();
  for (int64_t k = 0; k < n; ++k, b += kWide * lanes) {
    V right[kWide];
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) right[v] = hn::LoadU(d, b + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const V value = hn::Set(d, from[r][k]);
#pragma GCC unroll 4
      for (int v = 0; v < kWide; ++v) sums[r][v] = hn::MulAdd(value, right[v], sums[r][v]);
    }
  }
  return b;
}

HWY_INLINE V Finish(V value, const float* add, V low, V high) {
  const D d;
  if (add != nullptr) value = hn::Add(value, hn::LoadU(d, add));
  value = hn::IfThenElse(hn::Lt(value, low), low, value);
  return hn::IfThenElse(hn::Gt(value, high), high, value);
}

// The same of `count` channels, one by one.
inline HWY_NOINLINE void FinishFew(const PackedLayer& l, const float* sums, int64_t count, int64_t at) {
  for (int64_t i = 0; i < count; ++i) {
    float value = l.add == nullptr ? sums[i] : sums[i] + l.add[at + i];
    value = value < l.low ? l.low : value;
    l.output[at + i] = value > l.high ? l.high : value;
  }
}

// One row of sums to the output's numbers from `at` on, of which `valid` are channels.
template <int kWide>
HWY_INLINE void StoreRow(const PackedLayer& l, const V (&sums)[kWide], V low, V high, int64_t valid, int64_t at) {
  const D d;
  const int64_t lanes = Lanes();
  if (HWY_LIKELY(valid >= kWide * lanes)) {
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) {
      const int64_t i = at + v * lanes;
      hn::StoreU(Finish(sums[v], l.add == nullptr ? nullptr : l.add + i, low, high), d, l.output + i);
    }
    return;
  }
  HWY_ALIGN float buffer[kWide * HWY_MAX_BYTES / sizeof(float)];
#pragma GCC unroll 4
  for (int v = 0; v < kWide; ++v) hn::Store(sums[v], d, buffer + v * lanes);
  FinishFew(l, buffer, valid, at);
}

// kRows rows from `first` on, one strip. Source::Visit<kRows>(first, f) calls f(from, n, skipped) for the runs of
// numbers that the rows have: n from each of `from`; of those that it leaves out, which are zeros, it says how many.
template <int kRows, int kWide, class Source>
HWY_NOINLINE void MultiplyTile(const Source& source, const PackedLayer& l, int64_t first, int64_t channel) {
  const D d;
  const int64_t lanes = Lanes();
  V sums[kRows][kWide];
#pragma GCC unroll 4
  for (int v = 0; v < kWide; ++v) {
    const V bias = hn::LoadU(d, l.bias + channel + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sums[r][v] = bias;
  }
  const float* b = l.weights + channel * l.numbers;
  source.template Visit<kRows>(
      first, [&](const float* const(&from)[kRows], int64_t n) { b = Accumulate(from, n, b, sums); },
      [&](int64_t n) { b += n * kWide * lanes; });
  const V low = hn::Set(d, l.low), high = hn::Set(d, l.high);
  int64_t at = first * l.channels + channel;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r, at += l.channels) StoreRow<kWide>(l, sums[r], low, high, l.channels - channel, at);
}

// One row, kStrips whole strips.
template <int kStrips, int kWide, class Source>
HWY_NOINLINE void MultiplyRow(const Source& source, const PackedLayer& l, int64_t row, int64_t channel) {
  const D d;
  const int64_t lanes = Lanes(), strip = kWide * lanes;
  V sums[kStrips][kWide];
#pragma GCC unroll 4
  for (int s = 0; s < kStrips; ++s)
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) sums[s][v] = hn::LoadU(d, l.bias + channel + s * strip + v * lanes);
  const float* HWY_RESTRICT b = l.weights + channel * l.numbers;
  source.template Visit<1>(
      row,
      [&](const float* const(&from)[1], int64_t n) {
        for (int64_t k = 0; k < n; ++k, b += strip) {
          const V value = hn::Set(d, from[0][k]);
#pragma GCC unroll 4
          for (int s = 0; s < kStrips; ++s)
#pragma GCC unroll 4
            for (int v = 0; v < kWide; ++v)
              sums[s][v] = hn::MulAdd(value, hn::LoadU(d, b + s * l.numbers * strip + v * lanes), sums[s][v]);
        }
      },
      [&](int64_t n) { b += n * strip; });
  const V low = hn::Set(d, l.low), high = hn::Set(d, l.high);
#pragma GCC unroll 4
  for (int s = 0; s < kStrips; ++s) {
    StoreRow<kWide>(l, sums[s], low, high, l.channels - channel - s * strip, row * l.channels + channel + s * strip);
  }
}

// How a number of rows is cut: into tall tiles, then low ones, then rows that are left.
struct RowCut {
  int64_t tall, low;  // tiles
};
HWY_INLINE RowCut CutRows(int64_t rows) {
  const int64_t tall = rows / kTall, left = rows % kTall;
  if (KINDLING_FEW_TILES || left < 2) return {tall, 0};
  if (left >= kLow) return {tall, 1};
  // Two low ones are faster than a tall one and several rows alone.
  return tall > 0 ? RowCut{tall - 1, 2} : RowCut{0, 0};
}

template <int kWide, class Source>
HWY_INLINE void MultiplyTiles(const Source& source, const PackedLayer& l, int64_t begin, RowCut cut, int64_t channel) {
  int64_t row = begin;
  for (int64_t i = 0; i < cut.tall; ++i, row += kTall) MultiplyTile<kTall, kWide>(source, l, row, channel);
#if !KINDLING_FEW_TILES
  for (int64_t i = 0; i < cut.low; ++i, row += kLow) MultiplyTile<kLow, kWide>(source, l, row, channel);
#endif
}

// Rows [begin, end) of strips [first_strip, last_strip).
template <class Source>
HWY_INLINE void Multiply(const Source& source, const PackedLayer& l, int64_t begin, int64_t end, int64_t first_strip,
                         int64_t last_strip) {
  const int64_t strip = Strip();
  const RowCut cut = CutRows(end - begin);
  for (int64_t s = first_strip; s < last_strip; ++s) {
    const int64_t channel = s * strip, vectors = (l.channels - channel + Lanes() - 1) / Lanes();
    if (KINDLING_FEW_TILES || vectors >= kStripVectors) {
      MultiplyTiles<kStripVectors>(source, l, begin, cut, channel);
#if !KINDLING_FEW_TILES
    } else if (kStripVectors == 4 && vectors == 3) {
      MultiplyTiles<3>(source, l, begin, cut, channel);
    } else if (kStripVectors == 4 && vectors == 2) {
      MultiplyTiles<2>(source, l, begin, cut, channel);
    } else {
      MultiplyTiles<1>(source, l, begin, cut, channel);
#endif
    }
  }
  int64_t row = begin + cut.tall * kTall + cut.low * kLow;
  for (; row < end; ++row) {
    int64_t s = first_strip;
    const int64_t whole = KINDLING_FEW_TILES ? last_strip : HWY_MIN(last_strip, l.channels / strip);
    for (; s + kStripsAtOnce <= whole; s += kStripsAtOnce)
      MultiplyRow<kStripsAtOnce, kStripVectors>(source, l, row, s * strip);
    for (; s < whole; ++s) MultiplyRow<1, kStripVectors>(source, l, row, s * strip);
#if !KINDLING_FEW_TILES
    if (s == last_strip) continue;
    const int64_t channel = s * strip, vectors = (l.channels - channel + Lanes() - 1) / Lanes();
    if (vectors == kStripVectors) {
      MultiplyRow<1, kStripVectors>(source, l, row, channel);
    } else if (kStripVectors == 4 && vectors == 3) {
      MultiplyRow<1, 3>(source, l, row, channel);
    } else if (kStripVectors == 4 && vectors == 2) {
      MultiplyRow<1, 2>(source, l, row, channel);
    } else {
      MultiplyRow<1, 1>(source, l, row, channel);
    }
#endif
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the target
