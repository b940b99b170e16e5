// The register tile of float32, float64, uint32 and uint64 products and the packing of its panels, for sources compiled
// once a target. Include after hwy/highway.h.

#if defined(ATEN_CPU_MATRIX_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_MATRIX_TILE_INL_H_
#undef ATEN_CPU_MATRIX_TILE_INL_H_
#else
#define ATEN_CPU_MATRIX_TILE_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The register tile: kRows x 2 vectors of accumulators, two vectors of B and one of A must fit the register file.
// Small binaries have two tiles instead of six.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
inline constexpr int kRows = 14, kMiddleRows = KINDLING_FEW_TILES ? 14 : 8, kFewRows = 4;
#else
inline constexpr int kRows = 6, kMiddleRows = KINDLING_FEW_TILES ? 6 : 4, kFewRows = 2;
#endif

template <class V>
HWY_INLINE V Multiply(V x, V y) {
  if constexpr (!std::is_same_v<hn::TFromV<V>, uint64_t> || HWY_TARGET <= HWY_AVX3) {
    return hn::Mul(x, y);
  } else {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(hn::DFromV<V>(), hn::GetLane(x) * hn::GetLane(y));
#else
    // Of the halves: low times low, and what crosses into the upper half.
    const hn::DFromV<V> d;
    const hn::Repartition<uint32_t, decltype(d)> halves;
    const auto low_x = hn::BitCast(halves, x), low_y = hn::BitCast(halves, y);
    const V crossed = hn::Add(hn::MulEven(hn::BitCast(halves, hn::ShiftRight<32>(x)), low_y),
                              hn::MulEven(low_x, hn::BitCast(halves, hn::ShiftRight<32>(y))));
    return hn::Add(hn::MulEven(low_x, low_y), hn::ShiftLeft<32>(crossed));
#endif
  }
}

// x * y + sum
template <class V>
HWY_INLINE V MultiplyAdd(V x, V y, V sum) {
  if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
    return hn::MulAdd(x, y, sum);
  } else {
    return hn::Add(Multiply(x, y), sum);
  }
}

template <class T>
struct Tile {
  const T* a;  // packed panel: kRows values for each k
  const T* b;  // packed panel: kVectors vectors for each k
  int64_t k;
  T* c;
  int64_t c_row;
  const T* add;  // null: nothing
  int64_t add_row;
  int64_t add_col = 1;  // or 0: one number a row
  T alpha, beta;
  int64_t rows, columns;  // of the tile that exist
};

template <class T, int kTileRows, int kVectors>
HWY_NOINLINE void RunTile(const Tile<T>& t) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  V sum[kTileRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kTileRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  const T* HWY_RESTRICT a = t.a;
  const T* HWY_RESTRICT b = t.b;
  for (int64_t r = 0; r < t.rows; ++r) {
    hwy::Prefetch(t.c + r * t.c_row);
    hwy::Prefetch(t.c + r * t.c_row + t.columns - 1);
  }
  for (int64_t k = t.k; k > 0; --k) {
    V row[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      row[v] = hn::Load(d, b + v * lanes);
      // With many registers the loads are few, and the second cache's own fetching keeps up.
      if (HWY_TARGET > HWY_AVX3) hwy::Prefetch(b + (8 * kVectors + v) * lanes);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kTileRows; ++r) {
      const V x = hn::Set(d, a[r]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[r][v] = MultiplyAdd(x, row[v], sum[r][v]);
    }
    a += kTileRows;
    b += kVectors * lanes;
  }
  const V alpha = hn::Set(d, t.alpha), beta = hn::Set(d, t.beta);
  const bool whole = t.columns == kVectors * lanes;
#pragma GCC unroll 16
  for (int r = 0; r < kTileRows; ++r) {
    if (r >= t.rows) break;
    T* c = t.c + r * t.c_row;
    const T* add = t.add == nullptr ? nullptr : t.add + r * t.add_row;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      V value = Multiply(alpha, sum[r][v]);
      if (whole) {
        if (add != nullptr) {
          const V more = t.add_col == 0 ? hn::Set(d, *add) : hn::LoadU(d, add + v * lanes);
          value = MultiplyAdd(beta, more, value);
        }
        hn::StoreU(value, d, c + v * lanes);
      } else {
        const int64_t left = t.columns - v * lanes;
        if (left <= 0) break;
        HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
        const int64_t count = left < lanes ? left : lanes;
        hn::Store(value, d, buffer);
        for (int64_t j = 0; j < count; ++j)
          c[v * lanes + j] = add != nullptr ? t.beta * add[(v * lanes + j) * t.add_col] + buffer[j] : buffer[j];
      }
    }
  }
}

// The width of a panel of B with `valid` columns: one vector or two.
HWY_INLINE int64_t PanelWidth(int64_t valid, int64_t lanes) {
  return KINDLING_FEW_TILES || valid > lanes ? 2 * lanes : lanes;
}

// out[k][0..kLines) = lines[0..kLines)[k] by blocks that are turned in registers. Returns how many k that are.
template <int kLines, class T>
HWY_INLINE int64_t TurnBlocks(const T* const (&s)[kLines], int64_t depth, int64_t width, T* HWY_RESTRICT out) {
  int64_t k = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 4 && kLines == 4) {
    const hn::FixedTag<T, 4> d;
    for (; k + 4 <= depth; k += 4, out += 4 * width) {
      const auto r0 = hn::LoadU(d, s[0] + k), r1 = hn::LoadU(d, s[1] + k);
      const auto r2 = hn::LoadU(d, s[2] + k), r3 = hn::LoadU(d, s[3] + k);
      const auto even_low = hn::InterleaveLower(d, r0, r2), odd_low = hn::InterleaveLower(d, r1, r3);
      const auto even_high = hn::InterleaveUpper(d, r0, r2), odd_high = hn::InterleaveUpper(d, r1, r3);
      hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, out);
      hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, out + width);
      hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, out + 2 * width);
      hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, out + 3 * width);
    }
  } else if constexpr (sizeof(T) == 4) {
    const hn::FixedTag<T, 4> d;
    const hn::FixedTag<T, 2> half;
    for (; k + 4 <= depth; k += 4, out += 4 * width) {
      const auto r0 = hn::LoadU(d, s[0] + k), r1 = hn::LoadU(d, s[1] + k);
      const auto low = hn::InterleaveLower(d, r0, r1), high = hn::InterleaveUpper(d, r0, r1);
      hn::StoreU(hn::LowerHalf(half, low), half, out);
      hn::StoreU(hn::UpperHalf(half, low), half, out + width);
      hn::StoreU(hn::LowerHalf(half, high), half, out + 2 * width);
      hn::StoreU(hn::UpperHalf(half, high), half, out + 3 * width);
    }
  } else if constexpr (sizeof(T) == 8) {
    const hn::FixedTag<T, 2> d;
    for (; k + 2 <= depth; k += 2, out += 2 * width) {
      for (int l = 0; l < kLines; l += 2) {
        const auto r0 = hn::LoadU(d, s[l] + k), r1 = hn::LoadU(d, s[l + 1] + k);
        hn::StoreU(hn::InterleaveLower(d, r0, r1), d, out + l);
        hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, out + width + l);
      }
    }
  }
#endif
  return k;
}

// Several lines at a time, so that a store fills more than one element of a cache line.
template <int kLines, class T>
HWY_INLINE void PackLines(const T* src, int64_t step, int64_t depth_step, int64_t depth, int64_t width,
                          T* HWY_RESTRICT out) {
  const T* s[kLines];
  for (int l = 0; l < kLines; ++l) s[l] = src + l * step;
  int64_t k = 0;
  if constexpr (kLines > 1) {
    if (depth_step == 1) k = TurnBlocks<kLines>(s, depth, width, out);
  }
  for (out += k * width; k < depth; ++k, out += width) {
    for (int l = 0; l < kLines; ++l) out[l] = s[l][k * depth_step];
  }
}

// dst[k][0..width) = src(0..valid, k), the rest zero; `step` is along the panel, `depth_step` along k.
template <class T>
void PackPanel(const T* src, int64_t step, int64_t depth_step, int64_t valid, int64_t width, int64_t depth,
               T* HWY_RESTRICT dst) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (step == 1) {
    const hn::Half<decltype(d)> d2;
    const int64_t half = static_cast<int64_t>(hn::Lanes(d2));
    for (int64_t k = 0; k < depth; ++k, src += depth_step, dst += width) {
      int64_t i = 0;
      for (; i + lanes <= valid; i += lanes) hn::StoreU(hn::LoadU(d, src + i), d, dst + i);
      // The rest is in a vector that ends with it, or in two halves.
      if (i < valid && valid >= lanes) {
        hn::StoreU(hn::LoadU(d, src + valid - lanes), d, dst + valid - lanes);
        i = valid;
      } else if (i < valid && valid >= half) {
        hn::StoreU(hn::LoadU(d2, src), d2, dst);
        hn::StoreU(hn::LoadU(d2, src + valid - half), d2, dst + valid - half);
        i = valid;
      }
      for (; i < valid; ++i) dst[i] = src[i];
      for (; i < width; ++i) dst[i] = 0;
    }
    return;
  }
  int64_t i = 0;
  for (; i + 4 <= valid; i += 4) PackLines<4>(src + i * step, step, depth_step, depth, width, dst + i);
  for (; i + 2 <= valid; i += 2) PackLines<2>(src + i * step, step, depth_step, depth, width, dst + i);
  if (i < valid) PackLines<1>(src + i * step, step, depth_step, depth, width, dst + i);
  for (i = valid; i < width; ++i) {
    for (int64_t k = 0; k < depth; ++k) dst[k * width + i] = 0;
  }
}

// The elements that PackColumns writes behind a panel.
template <class T>
HWY_INLINE int64_t ColumnSpill() {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  return (kRows + lanes - 1) / lanes * lanes - kRows;
}

// Packs panels of kRows rows of A, `apart` elements from one to the next, where the elements of a column are
// contiguous: memory is read in long runs. Reads and writes ColumnSpill() elements behind each panel's part of a column.
template <class T>
void PackColumns(const T* src, int64_t column, int64_t panels, int64_t depth, int64_t apart, T* HWY_RESTRICT dst) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t k = 0; k < depth; ++k, src += column, dst += kRows) {
    for (int64_t p = 0; p < panels; ++p) {
      hwy::Prefetch(src + 8 * column + p * kRows);
      for (int64_t r = 0; r < kRows; r += lanes) {
        hn::StoreU(hn::LoadU(d, src + p * kRows + r), d, dst + p * apart + r);
      }
    }
  }
}

// Packs all panels of a block of B whose rows are contiguous, several panels side by side, so that memory is read in
// long runs.
template <class T>
void PackRows(const T* src, int64_t row, int64_t columns, int64_t width, int64_t depth, T* HWY_RESTRICT dst) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t strip = 16 * width;
  for (int64_t j0 = 0; j0 < columns; j0 += strip) {
    const int64_t whole = HWY_MIN(strip, columns - j0) / width;
    for (int64_t k = 0; k < depth; ++k) {
      const T* from = src + k * row + j0;
      T* to = dst + j0 * depth + k * width;
      for (int64_t p = 0; p < whole; ++p, from += width, to += width * depth) {
        hwy::Prefetch(from + 8 * row);
        for (int64_t v = 0; v < width; v += lanes) hn::StoreU(hn::LoadU(d, from + v), d, to + v);
      }
    }
    const int64_t rest = j0 + whole * width;
    if (rest < columns && rest < j0 + strip) {
      const int64_t valid = columns - rest;
      PackPanel<T>(src + rest, 1, row, valid, PanelWidth(valid, lanes), depth, dst + rest * depth);
    }
  }
}

// C = alpha A B + beta add: A read in place, B of rows that are dense and lie `b_row` apart. Targets without masked
// loads read whole vectors of B.
template <class T>
struct Strip {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row;
  T* c;
  int64_t c_row;
  const T* add;  // null: nothing
  int64_t add_row, add_col;
  T alpha, beta;
};

inline constexpr int64_t kStripBytes = 32 * 1024;  // of B, in the first cache
inline constexpr int64_t kStripRows = 6;           // of the tiles below that use all registers

// The columns of a strip of B: one tile wide.
template <class T>
HWY_INLINE int64_t StripWidth() {
  return (HWY_TARGET <= HWY_AVX3 ? 4 : 2) * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
}
// The most rows of one that is packed.
template <class T>
HWY_INLINE int64_t StripDepth() {
  return HWY_MIN(int64_t{256}, kStripBytes / (StripWidth<T>() * static_cast<int64_t>(sizeof(T))));
}

// `kTall` rows from row i on, `kWide` vectors of columns from j on, of which the last has `last` columns; all of them where
// `kWhole`, which spares a register for their mask. The first `done` rows are not written.
template <class T, int kTall, int kWide, bool kWhole = false>
HWY_INLINE void StripTile(const Strip<T>& s, int64_t i, int64_t j, int64_t last, int64_t done = 0) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const T* a = s.a + i * s.a_row;
  const T* b = s.b + j;
#if HWY_TARGET <= HWY_AVX2
  const auto part = hn::FirstN(d, static_cast<size_t>(last));
#endif
  V sum[kTall][kWide];
#pragma GCC unroll 8
  for (int r = 0; r < kTall; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) sum[r][v] = hn::Zero(d);
  for (int64_t k = 0; k < s.k; ++k, a += s.a_col, b += s.b_row) {
    V row[kWide];
#pragma GCC unroll 4
    for (int v = 0; v < kWide - 1; ++v) row[v] = hn::LoadU(d, b + v * lanes);
#if HWY_TARGET <= HWY_AVX2
    row[kWide - 1] = kWhole ? hn::LoadU(d, b + (kWide - 1) * lanes) : hn::MaskedLoad(part, d, b + (kWide - 1) * lanes);
#else
    row[kWide - 1] = hn::LoadU(d, b + (kWide - 1) * lanes);
#endif
#pragma GCC unroll 8
    for (int r = 0; r < kTall; ++r) {
      const V x = hn::Set(d, a[r * s.a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < kWide; ++v) sum[r][v] = MultiplyAdd(x, row[v], sum[r][v]);
    }
  }
  const V alpha = hn::Set(d, s.alpha), beta = hn::Set(d, s.beta);
  const T* add = s.add == nullptr ? nullptr : s.add + i * s.add_row + j * s.add_col;
  T* c = s.c + i * s.c_row + j;
#pragma GCC unroll 8
  for (int r = 0; r < kTall; ++r) {
    if (r < done) continue;
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) {
      V value = Multiply(alpha, sum[r][v]);
      const T* more = add == nullptr ? nullptr : add + r * s.add_row + v * lanes * s.add_col;
      T* to = c + r * s.c_row + v * lanes;
      if (kWhole || v < kWide - 1 || last == lanes) {
        if (more != nullptr) value = MultiplyAdd(beta, s.add_col == 0 ? hn::Set(d, *more) : hn::LoadU(d, more), value);
        hn::StoreU(value, d, to);
        continue;
      }
#if HWY_TARGET <= HWY_AVX2
      if (more != nullptr)
        value = MultiplyAdd(beta, s.add_col == 0 ? hn::Set(d, *more) : hn::MaskedLoad(part, d, more), value);
      hn::BlendedStore(value, part, d, to);
#else
      HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
      hn::Store(value, d, buffer);
      for (int64_t l = 0; l < last; ++l) to[l] = more != nullptr ? s.beta * more[l * s.add_col] + buffer[l] : buffer[l];
#endif
    }
  }
}

// Tiles of kTall rows, then one that is low enough for the rest and begins early enough to be whole. m >= kTall.
template <class T, int kTall, int kWide, bool kWhole>
HWY_NOINLINE void SomeStripTiles(const Strip<T>& s, int64_t j, int64_t last) {
  int64_t i = 0;
  for (; i + kTall <= s.m; i += kTall) StripTile<T, kTall, kWide, kWhole>(s, i, j, last);
  const auto rest = [&]<int kLow>(std::integral_constant<int, kLow>) HWY_ATTR {
    StripTile<T, kLow, kWide, kWhole>(s, s.m - kLow, j, last, i - (s.m - kLow));
  };
  const int64_t left = s.m - i;
  if (left > 4) {
    rest(std::integral_constant<int, kTall>());
  } else if (left > 2) {
    rest(std::integral_constant<int, 4>());
  } else if (left > 0) {
    rest(std::integral_constant<int, 2>());
  }
}
template <class T, int kTall, int kWide>
HWY_INLINE void StripTiles(const Strip<T>& s, int64_t j, int64_t last) {
  const bool whole = last == static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  return whole ? SomeStripTiles<T, kTall, kWide, true>(s, j, last) : SomeStripTiles<T, kTall, kWide, false>(s, j, last);
}

// An element of C does not depend on m.
template <class T>
void MultiplyStrip(const Strip<T>& s) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  for (int64_t j = 0; j < s.n;) {
    const int64_t left = s.n - j;
    if constexpr (!KINDLING_FEW_TILES && hwy::IsFloat<T>()) {
      // As many sums as there are registers for.
#if HWY_TARGET <= HWY_AVX3
      if (left > 3 * lanes && s.m >= kStripRows) {
        StripTiles<T, kStripRows, 4>(s, j, HWY_MIN(lanes, left - 3 * lanes));
        j += 4 * lanes;
        continue;
      }
      if (left > 2 * lanes && left <= 3 * lanes && s.m >= 8) return StripTiles<T, 8, 3>(s, j, left - 2 * lanes);
#endif
      if (left > lanes && s.m >= kStripRows) {
        StripTiles<T, kStripRows, 2>(s, j, HWY_MIN(lanes, left - lanes));
        j += 2 * lanes;
        continue;
      }
    }
    const int64_t last = HWY_MIN(lanes, left);
    int64_t i = 0;
    // Eight sums hide the latency of a multiply-add; small binaries have one tile less.
    for (; !KINDLING_FEW_TILES && i + 8 <= s.m; i += 8) StripTile<T, 8, 1>(s, i, j, last);
    for (; i + 4 <= s.m; i += 4) StripTile<T, 4, 1>(s, i, j, last);
    if (s.m - i == 3) StripTile<T, 3, 1>(s, i, j, last);
    if (s.m - i == 2) StripTile<T, 2, 1>(s, i, j, last);
    if (s.m - i == 1) StripTile<T, 1, 1>(s, i, j, last);
    j += lanes;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the target
