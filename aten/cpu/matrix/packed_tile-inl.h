// Tiles of sums in registers, of products with packed strips (packed_strips.h). Include after hwy/highway.h, once a
// target.

#if defined(ATEN_CPU_MATRIX_PACKED_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_MATRIX_PACKED_TILE_INL_H_
#undef ATEN_CPU_MATRIX_PACKED_TILE_INL_H_
#else
#define ATEN_CPU_MATRIX_PACKED_TILE_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "aten/cpu/matrix/packed_strips.h"
#include "aten/cpu/support/narrow-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// A strip has so many vectors of output channels, and tiles as many rows as there are registers for: few vectors and many
// rows, because each vector of weights comes from the second cache, and the first time from further away. One row alone
// takes several strips at a time, whose sums hide the latency of a multiply-add.
constexpr int kStripVectors = 2, kStripsAtOnce = 4;
#if HWY_TARGET <= HWY_AVX3 && !KINDLING_FEW_TILES
constexpr int kTall = 12, kLow = 4;
#else
constexpr int kTall = 6, kLow = 4;
#endif

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

// A vector of weights as floats.
HWY_INLINE V LoadWeights(const float* from) {
  return hn::LoadU(D(), from);
}
HWY_INLINE V LoadWeights(const c10::BFloat16* from) {
  return cpu::HWY_NAMESPACE::LoadFloats(D(), from);
}
HWY_INLINE V LoadWeights(const c10::Half* from) {
  return cpu::HWY_NAMESPACE::LoadFloats(D(), from);
}
HWY_INLINE V LoadWeights(const int8_t* from) {
  const hn::Rebind<int8_t, D> bytes;
  return hn::ConvertTo(D(), hn::PromoteTo(hn::RebindToSigned<D>(), hn::LoadU(bytes, from)));
}

// What is fetched meanwhile: the weights that come next lie further away than the second cache. `step` bytes for each
// number of a row.
struct Ahead {
  const char* at;
  int64_t step;
};

// sums[r][v] += from[r][k] b[k][v] for k < n. Returns what lies behind b.
template <int kRows, int kWide, class T>
HWY_INLINE const T* Accumulate(const float* const (&from)[kRows], int64_t n, const T* HWY_RESTRICT b,
                               V (&sums)[kRows][kWide], Ahead& ahead) {
  const D d;
  const int64_t lanes = Lanes();
  for (int64_t k = 0; k < n; ++k, b += kWide * lanes) {
#if HWY_TARGET <= HWY_AVX3 && !KINDLING_FEW_TILES
    __builtin_prefetch(ahead.at, 0, 2);
    ahead.at += ahead.step;
#endif
    V right[kWide];
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) right[v] = LoadWeights(b + v * lanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const V value = hn::Set(d, from[r][k]);
#pragma GCC unroll 4
      for (int v = 0; v < kWide; ++v) sums[r][v] = hn::MulAdd(value, right[v], sums[r][v]);
    }
  }
  return b;
}

// What sums of a channel begin with: the bias, or nothing where they are multiplied first (Scaled).
template <class T>
constexpr bool kIsScaled = std::is_same_v<T, int8_t>;
template <class T>
HWY_INLINE V Begin(const PackedLayer& l, int64_t channel) {
  return kIsScaled<T> ? hn::Zero(D()) : hn::LoadU(D(), l.bias + channel);
}
template <class T>
HWY_INLINE V Scaled(V sum, const PackedLayer& l, int64_t channel) {
  if constexpr (!kIsScaled<T>) return sum;
  return hn::MulAdd(sum, hn::LoadU(D(), l.scale + channel), hn::LoadU(D(), l.bias + channel));
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
template <int kRows, int kWide, class T, class Source>
HWY_NOINLINE void MultiplyTile(const Source& source, const PackedLayer& l, int64_t first, int64_t channel,
                               Ahead& ahead) {
  const D d;
  const int64_t lanes = Lanes();
  V sums[kRows][kWide];
#pragma GCC unroll 4
  for (int v = 0; v < kWide; ++v) {
    const V bias = Begin<T>(l, channel + v * lanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) sums[r][v] = bias;
  }
  const T* b = static_cast<const T*>(l.weights) + channel * l.numbers;
  source.template Visit<kRows>(
      first, [&](const float* const(&from)[kRows], int64_t n) { b = Accumulate(from, n, b, sums, ahead); },
      [&](int64_t n) {
        b += n * kWide * lanes;
        ahead.at += n * ahead.step;
      });
  const V low = hn::Set(d, l.low), high = hn::Set(d, l.high);
  int64_t at = first * l.channels + channel;
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r, at += l.channels) {
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) sums[r][v] = Scaled<T>(sums[r][v], l, channel + v * lanes);
    StoreRow<kWide>(l, sums[r], low, high, l.channels - channel, at);
  }
}

// One row, kStrips whole strips.
template <int kStrips, int kWide, class T, class Source>
HWY_NOINLINE void MultiplyRow(const Source& source, const PackedLayer& l, int64_t row, int64_t channel) {
  const D d;
  const int64_t lanes = Lanes(), strip = kWide * lanes;
  V sums[kStrips][kWide];
#pragma GCC unroll 4
  for (int s = 0; s < kStrips; ++s)
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) sums[s][v] = Begin<T>(l, channel + s * strip + v * lanes);
  const T* HWY_RESTRICT b = static_cast<const T*>(l.weights) + channel * l.numbers;
  source.template Visit<1>(
      row,
      [&](const float* const(&from)[1], int64_t n) {
        for (int64_t k = 0; k < n; ++k, b += strip) {
          const V value = hn::Set(d, from[0][k]);
#pragma GCC unroll 4
          for (int s = 0; s < kStrips; ++s)
#pragma GCC unroll 4
            for (int v = 0; v < kWide; ++v)
              sums[s][v] = hn::MulAdd(value, LoadWeights(b + s * l.numbers * strip + v * lanes), sums[s][v]);
        }
      },
      [&](int64_t n) { b += n * strip; });
  const V low = hn::Set(d, l.low), high = hn::Set(d, l.high);
#pragma GCC unroll 4
  for (int s = 0; s < kStrips; ++s) {
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) sums[s][v] = Scaled<T>(sums[s][v], l, channel + s * strip + v * lanes);
    StoreRow<kWide>(l, sums[s], low, high, l.channels - channel - s * strip, row * l.channels + channel + s * strip);
  }
}

// How a number of rows is cut: into tall tiles, then low ones, then one of what is left, while the weights are near; or
// else rows alone.
struct RowCut {
  int64_t tall, low, rest;  // tiles, tiles, rows
  int64_t rows() const { return tall * kTall + low * kLow + rest; }
};
HWY_INLINE RowCut CutRows(int64_t rows) {
  const int64_t tall = rows / kTall, left = rows % kTall;
  if (KINDLING_FEW_TILES) return {tall, 0, 0};
#if HWY_TARGET <= HWY_AVX3
  return {tall, left / kLow, rows == 1 ? 0 : left % kLow};
#else
  if (left < 2) return {tall, 0, 0};
  if (left >= kLow) return {tall, 1, 0};
  // Two low ones are faster than a tall one and several rows alone.
  return tall > 0 ? RowCut{tall - 1, 2, 0} : RowCut{0, 0, 0};
#endif
}

template <int kWide, class T, class Source>
HWY_INLINE void MultiplyTiles(const Source& source, const PackedLayer& l, int64_t begin, RowCut cut, int64_t channel) {
  int64_t row = begin;
  // The next strip, shared out among the tiles of this one.
  const int64_t bytes = kWide * Lanes() * static_cast<int64_t>(sizeof(T));
  Ahead ahead{static_cast<const char*>(l.weights) + (channel * static_cast<int64_t>(sizeof(T)) + bytes) * l.numbers,
              bytes / (cut.tall + cut.low + 1) + 1};
  for (int64_t i = 0; i < cut.tall; ++i, row += kTall) MultiplyTile<kTall, kWide, T>(source, l, row, channel, ahead);
#if !KINDLING_FEW_TILES
  for (int64_t i = 0; i < cut.low; ++i, row += kLow) MultiplyTile<kLow, kWide, T>(source, l, row, channel, ahead);
#if HWY_TARGET <= HWY_AVX3
  if (cut.rest == 3) MultiplyTile<3, kWide, T>(source, l, row, channel, ahead);
  if (cut.rest == 2) MultiplyTile<2, kWide, T>(source, l, row, channel, ahead);
  if (cut.rest == 1) MultiplyTile<1, kWide, T>(source, l, row, channel, ahead);
#endif
#endif
}

// Rows [begin, end) of strips [first_strip, last_strip), with weights of type T.
template <class T, class Source>
HWY_INLINE void Multiply(const Source& source, const PackedLayer& l, int64_t begin, int64_t end, int64_t first_strip,
                         int64_t last_strip) {
  const int64_t strip = Strip();
  // The last strip of all may have one vector.
  const int64_t whole = KINDLING_FEW_TILES ? last_strip : HWY_MIN(last_strip, (l.channels + Lanes() - 1) / strip);
  const RowCut cut = CutRows(end - begin);
  for (int64_t s = first_strip; s < whole; ++s) MultiplyTiles<kStripVectors, T>(source, l, begin, cut, s * strip);
#if !KINDLING_FEW_TILES
  if (whole < last_strip) MultiplyTiles<1, T>(source, l, begin, cut, whole * strip);
#endif
  for (int64_t row = begin + cut.rows(); row < end; ++row) {
    int64_t s = first_strip;
    for (; s + kStripsAtOnce <= whole; s += kStripsAtOnce)
      MultiplyRow<kStripsAtOnce, kStripVectors, T>(source, l, row, s * strip);
    for (; s < whole; ++s) MultiplyRow<1, kStripVectors, T>(source, l, row, s * strip);
#if !KINDLING_FEW_TILES
    if (whole < last_strip) MultiplyRow<1, 1, T>(source, l, row, whole * strip);
#endif
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the target
