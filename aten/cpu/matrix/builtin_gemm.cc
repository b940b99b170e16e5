// Products of float32, float64, int32 and int64 with Highway: packed, cache-blocked and register-tiled, after K. Goto
// and R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/builtin_gemm.cc"
#include "hwy/foreach_target.h"  // keep first
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/matrix/tile-inl.h"

#include <cstring>

#include "aten/cpu/matrix/internal.h"

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A panel of B so deep stays in the first cache. Every block of the depth reads and writes C once more.
template <class T>
inline constexpr int64_t kDepth = sizeof(T) == 4 ? 384 : 256;
// Of a block of B, which lies in the third cache: A is packed once more for each.
inline constexpr int64_t kBlockBytes = 2048 * 1024;

template <class T>
using TileFunction = void (*)(const Tile<T>&);

template <class T, int kVectors>
TileFunction<T> ChooseTile(int64_t rows) {
  if constexpr (KINDLING_FEW_TILES) return rows == kRows ? RunTile<T, kRows, 2> : RunTile<T, kFewRows, 2>;
  return rows == kRows ? RunTile<T, kRows, kVectors> : rows == kMiddleRows ? RunTile<T, kMiddleRows, kVectors>
                                                                          : RunTile<T, kFewRows, kVectors>;
}

// The height of the panel that holds the first `left` rows of what is left.
HWY_INLINE int64_t PanelRows(int64_t left) { return left > kMiddleRows ? kRows : left > kFewRows ? kMiddleRows : kFewRows; }

// Rows of A that are packed together: they stay in the second cache while a panel of B in the first passes by them.
inline constexpr int64_t kBlockRows = KINDLING_FEW_TILES ? kRows : kRows > 6 ? 8 * kRows : 16 * kRows;

// Packs `rows` rows of A from row m0 on, in panels that lie `apart` elements apart.
template <class T>
void PackLeft(const Gemm& g, int64_t m0, int64_t rows, int64_t k0, int64_t deep, int64_t apart, T* packed) {
  const T* a = static_cast<const T*>(g.a.data) + m0 * g.a.row + k0 * g.a.col;
  int64_t i = 0;
  if (!KINDLING_FEW_TILES && g.a.row == 1 && g.m - m0 >= kRows + ColumnSpill<T>()) {
    const int64_t whole = HWY_MIN(rows, g.m - m0 - ColumnSpill<T>()) / kRows;
    PackColumns<T>(a, g.a.col, whole, deep, apart, packed);
    i = whole * kRows;
  }
  for (packed += i / kRows * apart; i < rows; i += kRows, packed += apart) {
    PackPanel<T>(a + i * g.a.row, g.a.row, g.a.col, HWY_MIN(kRows, rows - i), PanelRows(rows - i), deep, packed);
  }
}

template <class T>
void ProductIn(const Gemm& g, T* packed_a, T* packed_b, int64_t depth, int64_t block_columns, T alpha) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t width = 2 * lanes, apart = kRows * depth + ColumnSpill<T>();
  const T* b = static_cast<const T*>(g.b.data);
  const T* add = static_cast<const T*>(g.add.data);
  T* c = static_cast<T*>(g.c);
  for (int64_t n0 = 0; n0 < g.n; n0 += block_columns) {
    const int64_t columns = HWY_MIN(block_columns, g.n - n0);
    for (int64_t k0 = 0; k0 < g.k; k0 += depth) {
      const int64_t deep = HWY_MIN(depth, g.k - k0);
      if (g.b.col == 1) PackRows<T>(b + k0 * g.b.row + n0, g.b.row, columns, width, deep, packed_b);
      for (int64_t j = 0; g.b.col != 1 && j < columns; j += width) {
        const int64_t valid = HWY_MIN(width, columns - j);
        const int64_t panel_width = PanelWidth(valid, lanes);
        PackPanel<T>(b + k0 * g.b.row + (n0 + j) * g.b.col, g.b.col, g.b.row, valid, panel_width, deep,
                     packed_b + j * deep);
      }
      for (int64_t m0 = 0; m0 < g.m; m0 += kBlockRows) {
        const int64_t rows = HWY_MIN(kBlockRows, g.m - m0);
        PackLeft<T>(g, m0, rows, k0, deep, apart, packed_a);
        for (int64_t j = 0; j < columns; j += width) {
          Tile<T> t;
          t.b = packed_b + j * deep;
          t.k = deep;
          t.c_row = g.c_row;
          t.alpha = alpha;
          t.columns = HWY_MIN(width, columns - j);
          const bool two = PanelWidth(t.columns, lanes) == width;
          t.a = packed_a;
          for (int64_t i = 0; i < rows; i += kRows, t.a += apart) {
            t.rows = HWY_MIN(kRows, rows - i);
            t.c = c + (m0 + i) * g.c_row + n0 + j;
            if (k0 != 0) {
              t.add = t.c;
              t.add_row = g.c_row;
              t.add_col = 1;
              t.beta = 1;
            } else {
              t.add = add == nullptr ? nullptr : add + (m0 + i) * g.add.row + (n0 + j) * g.add.col;
              t.add_row = g.add.row;
              t.add_col = g.add.col;
              t.beta = factor_of<T>(g.beta);
            }
            const int64_t panel = PanelRows(rows - i);
            (two ? ChooseTile<T, 2>(panel) : ChooseTile<T, 1>(panel))(t);
          }
        }
      }
    }
  }
}

// C (c_col == 1) = alpha A B + beta add, one thread.
template <class T>
void Product(const Gemm& g) {
  const hn::ScalableTag<T> d;
  const int64_t width = 2 * static_cast<int64_t>(hn::Lanes(d)), item = static_cast<int64_t>(sizeof(T));
  const T alpha = factor_of<T>(g.alpha);
  const int64_t depth_blocks = (g.k + kDepth<T> - 1) / kDepth<T>;
  const int64_t depth = (g.k + depth_blocks - 1) / depth_blocks;
  const int64_t most = HWY_MAX(width, kBlockBytes / (depth * item) / width * width);
  const int64_t block_columns = HWY_MIN(most, (g.n + width - 1) / width * width);
  const int64_t panels = (HWY_MIN(kBlockRows, g.m) + kRows - 1) / kRows;
  const size_t a_bytes = static_cast<size_t>((panels * (kRows * depth + ColumnSpill<T>()) * item + 63) / 64 * 64);
  const size_t bytes = a_bytes + static_cast<size_t>(block_columns * depth * item);
  constexpr size_t kOnStack = 24 * 1024;
  const auto run = [&](unsigned char* memory) {
    ProductIn<T>(g, reinterpret_cast<T*>(memory), reinterpret_cast<T*>(memory + a_bytes), depth, block_columns, alpha);
  };
  if (bytes > kOnStack) {
    const Scratch scratch(bytes);
    return run(scratch.as<unsigned char>());
  }
  alignas(64) unsigned char small[kOnStack];
  run(small);
}

// y[i] (stride y_step) = alpha * sum_k M(i, k) x[k] + beta * add[i]; x has stride x_step.
template <class T>
void MatrixVector(const T* m, int64_t row, int64_t col, const T* x, int64_t x_step, int64_t rows, int64_t depth, T alpha,
                  const T* add, int64_t add_step, T beta, T* y, int64_t y_step) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  auto finish = [&](int64_t i, T sum) {
    y[i * y_step] = add != nullptr ? alpha * sum + beta * add[i * add_step] : alpha * sum;
  };
  int64_t i = 0;
  if (col == 1 && x_step == 1) {
    for (; i + 4 <= rows; i += 4) {
      const T* p = m + i * row;
      V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
      int64_t k = 0;
      for (; k + lanes <= depth; k += lanes) {
        const V v = hn::LoadU(d, x + k);
        s0 = MultiplyAdd(v, hn::LoadU(d, p + k), s0);
        s1 = MultiplyAdd(v, hn::LoadU(d, p + row + k), s1);
        s2 = MultiplyAdd(v, hn::LoadU(d, p + 2 * row + k), s2);
        s3 = MultiplyAdd(v, hn::LoadU(d, p + 3 * row + k), s3);
      }
      T t0 = hn::GetLane(hn::SumOfLanes(d, s0)), t1 = hn::GetLane(hn::SumOfLanes(d, s1));
      T t2 = hn::GetLane(hn::SumOfLanes(d, s2)), t3 = hn::GetLane(hn::SumOfLanes(d, s3));
      for (; k < depth; ++k) {
        t0 += p[k] * x[k];
        t1 += p[row + k] * x[k];
        t2 += p[2 * row + k] * x[k];
        t3 += p[3 * row + k] * x[k];
      }
      finish(i, t0), finish(i + 1, t1), finish(i + 2, t2), finish(i + 3, t3);
    }
    for (; i < rows; ++i) {
      const T* p = m + i * row;
      V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
      int64_t k = 0;
      for (; k + 4 * lanes <= depth; k += 4 * lanes) {
        s0 = MultiplyAdd(hn::LoadU(d, x + k), hn::LoadU(d, p + k), s0);
        s1 = MultiplyAdd(hn::LoadU(d, x + k + lanes), hn::LoadU(d, p + k + lanes), s1);
        s2 = MultiplyAdd(hn::LoadU(d, x + k + 2 * lanes), hn::LoadU(d, p + k + 2 * lanes), s2);
        s3 = MultiplyAdd(hn::LoadU(d, x + k + 3 * lanes), hn::LoadU(d, p + k + 3 * lanes), s3);
      }
      for (; k + lanes <= depth; k += lanes) s0 = MultiplyAdd(hn::LoadU(d, x + k), hn::LoadU(d, p + k), s0);
      T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
      for (; k < depth; ++k) sum += p[k] * x[k];
      finish(i, sum);
    }
    return;
  }
  if (row == 1) {
    // Columns are contiguous along y: keep a strip of y in registers while walking down k.
    HWY_ALIGN T strip[4 * HWY_MAX_BYTES / sizeof(T)];
    for (; i + 4 * lanes <= rows; i += 4 * lanes) {
      V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
      const T* p = m + i;
      for (int64_t k = 0; k < depth; ++k, p += col) {
        const V v = hn::Set(d, x[k * x_step]);
        s0 = MultiplyAdd(v, hn::LoadU(d, p), s0);
        s1 = MultiplyAdd(v, hn::LoadU(d, p + lanes), s1);
        s2 = MultiplyAdd(v, hn::LoadU(d, p + 2 * lanes), s2);
        s3 = MultiplyAdd(v, hn::LoadU(d, p + 3 * lanes), s3);
      }
      hn::Store(s0, d, strip);
      hn::Store(s1, d, strip + lanes);
      hn::Store(s2, d, strip + 2 * lanes);
      hn::Store(s3, d, strip + 3 * lanes);
      for (int64_t j = 0; j < 4 * lanes; ++j) finish(i + j, strip[j]);
    }
    for (; i + lanes <= rows; i += lanes) {
      V s0 = hn::Zero(d);
      const T* p = m + i;
      for (int64_t k = 0; k < depth; ++k, p += col) s0 = MultiplyAdd(hn::Set(d, x[k * x_step]), hn::LoadU(d, p), s0);
      hn::Store(s0, d, strip);
      for (int64_t j = 0; j < lanes; ++j) finish(i + j, strip[j]);
    }
  }
  for (; i < rows; ++i) {
    T sum = 0;
    for (int64_t k = 0; k < depth; ++k) sum += m[i * row + k * col] * x[k * x_step];
    finish(i, sum);
  }
}

#if HWY_TARGET <= HWY_AVX2  // masked loads touch nothing behind the mask
// Of the tiles of products by lines: with their sums all registers are used.
inline constexpr int64_t kFewLines = HWY_TARGET <= HWY_AVX3 ? 6 : 4, kManyLines = HWY_TARGET <= HWY_AVX3 ? 4 : 3;

// Products of up to about this many multiply-adds are faster where B is read in place.
bool IsSmallProduct(const Gemm& g) {
  constexpr int64_t kMost = 16 * 16 * 32;
  return g.m <= kMost && g.n <= kMost && g.k <= kMost && g.m * g.n * g.k <= kMost && g.b.col == 1 && g.c_col == 1;
}

template <class T>
Strip<T> StripOf(const Gemm& g) {
  Strip<T> s;
  s.m = g.m, s.n = g.n, s.k = g.k;
  s.a = static_cast<const T*>(g.a.data), s.a_row = g.a.row, s.a_col = g.a.col;
  s.b = static_cast<const T*>(g.b.data), s.b_row = g.b.row;
  s.c = static_cast<T*>(g.c), s.c_row = g.c_row;
  s.add = static_cast<const T*>(g.add.data), s.add_row = g.add.row, s.add_col = g.add.col;
  s.alpha = factor_of<T>(g.alpha), s.beta = factor_of<T>(g.beta);
  return s;
}

// The sum of the blocks of 16 bytes of a vector.
template <class D>
HWY_INLINE hn::Vec128<hn::TFromD<D>> SumOfBlocks(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(d) * sizeof(hn::TFromD<D>) == 16) {
    return v;
  } else {
    const hn::Half<D> half;
    return SumOfBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The sums of the lanes of `count` vectors, in order. Reads and writes up to the next multiple of 16 bytes.
template <class D, class V>
HWY_INLINE void SumsOfLanes(D d, const V* v, int count, hn::TFromD<D>* sums) {
  using T = hn::TFromD<D>;
  constexpr int kGroup = 16 / sizeof(T);
  const hn::FixedTag<T, kGroup> block;
  const auto half_sums = [d](V a, V b) HWY_ATTR {
    return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  };
#pragma GCC unroll 8
  for (int i = 0; i < count; i += kGroup) {
    V all;
    if constexpr (kGroup == 4) {
      all = half_sums(half_sums(v[i], v[i + 2]), half_sums(v[i + 1], v[i + 3]));
    } else {
      all = half_sums(v[i], v[i + 1]);
    }
    hn::Store(SumOfBlocks(d, all), block, sums + i);
  }
}

// Sums along the depth of kLines lines by kOthers, which lie dense: sums[line * kOthers + other].
template <class T, int kLines, int kOthers>
HWY_NOINLINE void DotTile(const T* a, int64_t a_step, const T* b, int64_t b_step, int64_t depth, T* sums) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  constexpr int kSums = kLines * kOthers, kGroup = 16 / sizeof(T);
  V sum[(kSums + kGroup - 1) / kGroup * kGroup];
#pragma GCC unroll 24
  for (V& s : sum) s = hn::Zero(d);
  const auto add = [&](const auto& read) HWY_ATTR {
    V other[kOthers];
#pragma GCC unroll 4
    for (int o = 0; o < kOthers; ++o) other[o] = read(b + o * b_step);
#pragma GCC unroll 8
    for (int l = 0; l < kLines; ++l) {
      const V x = read(a + l * a_step);
#pragma GCC unroll 4
      for (int o = 0; o < kOthers; ++o) sum[l * kOthers + o] = MultiplyAdd(x, other[o], sum[l * kOthers + o]);
    }
  };
  int64_t k = 0;
  for (; k + lanes <= depth; k += lanes) add([&](const T* line) HWY_ATTR { return hn::LoadU(d, line + k); });
  if (k < depth) {
    const auto part = hn::FirstN(d, static_cast<size_t>(depth - k));
    add([&](const T* line) HWY_ATTR { return hn::MaskedLoad(part, d, line + k); });
  }
  SumsOfLanes(d, sum, kSums, sums);
}

template <class T>
using DotTileFunction = void (*)(const T*, int64_t, const T*, int64_t, int64_t, T*);

template <class T, int kOthers>
DotTileFunction<T> ChooseDotTile(int64_t lines) {
  switch (lines) {
    case 1: return DotTile<T, 1, kOthers>;
    case 2: return DotTile<T, 2, kOthers>;
    case 3: return DotTile<T, 3, kOthers>;
    case 4: return DotTile<T, 4, kOthers>;
    default: return DotTile<T, static_cast<int>(kFewLines), kOthers>;
  }
}

// Of has_few_lines(): nothing is packed.
template <class T>
void ProductByLines(const Gemm& g) {
  const T alpha = factor_of<T>(g.alpha), beta = factor_of<T>(g.beta);
  const T* const add = static_cast<const T*>(g.add.data);
  T* const c = static_cast<T*>(g.c);
  // The larger matrix is gone through once.
  const bool few_rows = g.m <= g.n;
  const Operand& few = few_rows ? g.a : g.b;
  const Operand& many = few_rows ? g.b : g.a;
  const int64_t few_step = few_rows ? few.row : few.col, many_step = few_rows ? many.col : many.row;
  const int64_t few_count = HWY_MIN(g.m, g.n), many_count = HWY_MAX(g.m, g.n);
  // Whether sums that belong to neighbouring columns can be taken together.
  const bool in_vectors = few_rows && g.c_col == 1 && (add == nullptr || g.add.col == 0 || g.add.col == 1);
  alignas(16) T sums[kFewLines * kManyLines + 16 / sizeof(T)];
  for (int64_t m = 0; m < many_count;) {
    const int64_t ms = many_count - m >= kManyLines ? kManyLines : 1;
    const T* const y = static_cast<const T*>(many.data) + m * many_step;
    for (int64_t f = 0; f < few_count;) {
      const int64_t left = few_count - f, fs = left >= kFewLines ? kFewLines : HWY_MIN(left, 4);
      const auto tile = ms == 1 ? ChooseDotTile<T, 1>(fs) : ChooseDotTile<T, static_cast<int>(kManyLines)>(fs);
      tile(static_cast<const T*>(few.data) + f * few_step, few_step, y, many_step, g.k, sums);
      if (in_vectors && ms == 4) {
        const hn::FixedTag<T, 4> four;
        for (int64_t l = 0; l < fs; ++l) {
          auto value = hn::Mul(hn::Set(four, alpha), hn::LoadU(four, sums + 4 * l));
          if (add != nullptr) {
            const T* const more = add + (f + l) * g.add.row + m * g.add.col;
            const auto addend = g.add.col == 0 ? hn::Set(four, *more) : hn::LoadU(four, more);
            value = hn::MulAdd(hn::Set(four, beta), addend, value);
          }
          hn::StoreU(value, four, c + (f + l) * g.c_row + m);
        }
      } else {
        for (int64_t l = 0; l < fs; ++l) {
          for (int64_t o = 0; o < ms; ++o) {
            const int64_t i = few_rows ? f + l : m + o, j = few_rows ? m + o : f + l;
            const T sum = alpha * sums[l * ms + o];
            c[i * g.c_row + j] = add == nullptr ? sum : sum + beta * add[i * g.add.row + j * g.add.col];
          }
        }
      }
      f += fs;
    }
    m += ms;
  }
}

// Whether B is so small that packing A would cost more than it gains. Where A's rows are not dense, its columns must be,
// and A small too.
bool HasNearRight(const Gemm& g) {
  constexpr double kNearBytes = 256 * 1024, kNearLeftBytes = 64 * 1024;
  const auto bytes = [&](int64_t rows, int64_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(type_size(g.type));
  };
  return g.m >= kStripRows && (g.a.col == 1 || (g.a.row == 1 && bytes(g.m, g.k) <= kNearLeftBytes)) &&
         bytes(g.k, g.n) <= kNearBytes;
}

// A is read in place, B packed strip by strip of columns that the first cache holds.
template <class T>
void ProductByStrips(const Gemm& g) {
  const int64_t width = StripWidth<T>();
  const int64_t blocks = (g.k + StripDepth<T>() - 1) / StripDepth<T>(), depth = (g.k + blocks - 1) / blocks;
  alignas(64) unsigned char memory[kStripBytes];
  T* const packed = reinterpret_cast<T*>(memory);
  for (int64_t k0 = 0; k0 < g.k; k0 += depth) {
    for (int64_t j = 0; j < g.n; j += width) {
      Strip<T> s = StripOf<T>(g);
      s.n = HWY_MIN(width, g.n - j), s.k = HWY_MIN(depth, g.k - k0);
      PackPanel<T>(s.b + k0 * g.b.row + j * g.b.col, g.b.col, g.b.row, s.n, width, s.k, packed);
      s.a += k0 * g.a.col;
      s.b = packed, s.b_row = width;
      s.c += j;
      if (k0 > 0) {
        s.add = s.c, s.add_row = s.c_row, s.add_col = 1;
        s.beta = 1;
      } else if (s.add != nullptr) {
        s.add += j * s.add_col;
      }
      MultiplyStrip<T>(s);
    }
  }
}
#endif

// One batch entry (or a part of one) in this thread; c_col is 1 unless n is 1 or m is 1.
template <class T>
void Serial(const Gemm& g) {
  const T alpha = factor_of<T>(g.alpha), beta = factor_of<T>(g.beta);
  const T* a = static_cast<const T*>(g.a.data);
  const T* b = static_cast<const T*>(g.b.data);
  const T* add = static_cast<const T*>(g.add.data);
  T* c = static_cast<T*>(g.c);
  if (g.n == 1)
    return MatrixVector<T>(a, g.a.row, g.a.col, b, g.b.row, g.m, g.k, alpha, add, g.add.row, beta, c, g.c_row);
  if (g.m == 1)
    return MatrixVector<T>(b, g.b.col, g.b.row, a, g.a.col, g.n, g.k, alpha, add, g.add.col, beta, c, g.c_col);
#if HWY_TARGET <= HWY_AVX2
  if (IsSmallProduct(g)) return MultiplyStrip<T>(StripOf<T>(g));
  if constexpr (!KINDLING_FEW_TILES && hwy::IsFloat<T>()) {
    if (has_few_lines(g)) return ProductByLines<T>(g);
    if (HasNearRight(g)) return ProductByStrips<T>(g);
  }
#endif
  Product<T>(g);
}

void SerialFloat(const Gemm& g) { Serial<float>(g); }
void SerialDouble(const Gemm& g) { Serial<double>(g); }
#if !KINDLING_FEW_TILES
void SerialInt(const Gemm& g) { Serial<uint32_t>(g); }
void SerialLong(const Gemm& g) { Serial<uint64_t>(g); }
#endif

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::matrix::internal {

namespace {

void serial_float(const Gemm& g) { AT_ISA_FUNCTION(SerialFloat)(g); }
void serial_double(const Gemm& g) { AT_ISA_FUNCTION(SerialDouble)(g); }
#if !KINDLING_FEW_TILES
void serial_int(const Gemm& g) { AT_ISA_FUNCTION(SerialInt)(g); }
void serial_long(const Gemm& g) { AT_ISA_FUNCTION(SerialLong)(g); }
#endif

// The product in one thread; null where there is none.
void (*serial_of(Type type))(const Gemm&) {
  switch (type) {
    case Type::kFloat32: return serial_float;
    case Type::kFloat64: return serial_double;
#if !KINDLING_FEW_TILES
    case Type::kInt32: return serial_int;
    case Type::kInt64: return serial_long;
#endif
    default: return nullptr;
  }
}

const char* refusal(const Gemm& g) { return serial_of(g.type) != nullptr ? nullptr : "not of this type"; }

// Products whose output has no unit stride go by way of a dense copy. T has the size of an element.
template <class T>
void run_dense(const Gemm& g, void (*run)(const Gemm&)) {
  Scratch scratch(static_cast<size_t>(g.m) * g.n * sizeof(T));
  T* dense = scratch.as<T>();
  const int64_t batches = g.batch[0] * g.batch[1];
  for (int64_t i = 0; i < batches; ++i) {
    Gemm entry = batch_entry(g, i);
    T* c = static_cast<T*>(entry.c);
    entry.c = dense;
    entry.c_row = g.n;
    entry.c_col = 1;
    run(entry);
    for (int64_t r = 0; r < g.m; ++r)
      for (int64_t j = 0; j < g.n; ++j) std::memcpy(c + r * g.c_row + j * g.c_col, dense + r * g.n + j, sizeof(T));
  }
}

void run(const Gemm& given) {
  const auto serial = serial_of(given.type);
  const bool adds = given.add.data != nullptr;
  const bool in_tiles = given.add.col == 0 || given.add.col == 1;
  if (given.c_col == 1 && (!adds || (in_tiles && !given.beta.is_zero()))) return run_in_parts(given, 56, 64, serial);
  Gemm g = given;
  if (g.add.data == nullptr || g.beta.is_zero()) g.add = Operand{};
  const bool vector = g.m == 1 || g.n == 1;
  if (!vector && g.c_col != 1 && g.c_row == 1) g = transposed(g);
  if (!vector && g.c_col != 1) {
    return type_size(g.type) == 4 ? run_dense<uint32_t>(g, run) : run_dense<uint64_t>(g, run);
  }
  if (!vector && g.add.data != nullptr && !in_tiles) {
    // The tiles read the addend in vectors, or one number a row: lay it into C first.
    fill_with_addend(g);
    g.add = Operand{g.c, g.c_row, g.c_col, {g.c_batch[0], g.c_batch[1]}};
    g.beta = 1;
  }
  run_in_parts(g, 56, 64, serial);
}

}  // namespace

constinit const Candidate kBuiltinVector{"builtin", refusal, run};

}  // namespace at::matrix::internal
#endif
