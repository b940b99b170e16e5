#include "aten/cpu/matrix/integer_tiles.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/integer_tiles.cc"
#include "hwy/foreach_target.h"  // keep first
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Accumulators of kTall x 2 vectors, two vectors of weights and one of input must fit the register file.
#if HWY_TARGET <= HWY_AVX3
inline constexpr int kTall = 12;
#else
inline constexpr int kTall = 5;
#endif

// Columns of a panel: two vectors of sums.
HWY_INLINE int64_t PanelWidth() {
  return 2 * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<int32_t>()));
}

int64_t PanelColumns() {
  return PanelWidth();
}

int64_t PackedShorts(int64_t n, int64_t k) {
  const int64_t width = PanelWidth();
  return (n + width - 1) / width * width * ((k + 1) / 2 * 2);
}

// Panel by panel; within one for each pair of the inner dimension the pairs of its columns.
void PackShorts(int64_t n, int64_t k, const int16_t* b, int16_t* packed) {
  const int64_t width = PanelWidth();
  for (int64_t column = 0; column < n; column += width) {
    for (int64_t i = 0; i < k; i += 2) {
      for (int64_t c = column; c < column + width; ++c, packed += 2) {
        packed[0] = c < n ? b[c * k + i] : int16_t{0};
        packed[1] = c < n && i + 1 < k ? b[c * k + i + 1] : int16_t{0};
      }
    }
  }
}

#if HWY_TARGET == HWY_SCALAR
template <int kRows>
void SumTile(int64_t pairs, const int16_t* a, int64_t a_row, const int16_t* b, int32_t* to, int64_t to_row,
             int64_t columns) {
  for (int r = 0; r < kRows; ++r, a += a_row, to += to_row) {
    for (int64_t c = 0; c < columns; ++c) {
      uint32_t sum = 0;
      for (int64_t p = 0; p < pairs; ++p) {
        const int16_t *const x = a + 2 * p, *const y = b + 4 * p + 2 * c;
        sum += static_cast<uint32_t>(x[0] * y[0]) + static_cast<uint32_t>(x[1] * y[1]);
      }
      to[c] = static_cast<int32_t>(sum);
    }
  }
}
#else
template <int kRows>
HWY_NOINLINE void SumTile(int64_t pairs, const int16_t* a, int64_t a_row, const int16_t* b, int32_t* to, int64_t to_row,
                          int64_t columns) {
  const hn::ScalableTag<int32_t> d;
  const hn::Repartition<int16_t, decltype(d)> d16;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  // The second of each is for instruction sets that add up halves of the products.
  V sum[kRows][2], rest[kRows][2];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) sum[r][v] = rest[r][v] = hn::Zero(d);
  for (int64_t p = 0; p < pairs; ++p, a += 2, b += 4 * lanes) {
    const auto b0 = hn::LoadU(d16, b), b1 = hn::LoadU(d16, b + 2 * lanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      int32_t pair;
      std::memcpy(&pair, a + r * a_row, sizeof(pair));
      const auto x = hn::BitCast(d16, hn::Set(d, pair));
      sum[r][0] = hn::ReorderWidenMulAccumulate(d, x, b0, sum[r][0], rest[r][0]);
      sum[r][1] = hn::ReorderWidenMulAccumulate(d, x, b1, sum[r][1], rest[r][1]);
    }
  }
  HWY_ALIGN int32_t buffer[2 * HWY_MAX_BYTES / sizeof(int32_t)];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r, to += to_row) {
    int32_t* const row = columns == 2 * lanes ? to : buffer;
    hn::StoreU(hn::RearrangeToOddPlusEven(sum[r][0], rest[r][0]), d, row);
    hn::StoreU(hn::RearrangeToOddPlusEven(sum[r][1], rest[r][1]), d, row + lanes);
    if (row == buffer) std::memcpy(to, buffer, static_cast<size_t>(columns) * sizeof(int32_t));
  }
}
#endif

void MultiplyShorts(int64_t m, int64_t n, int64_t k, const int16_t* a, int64_t a_row, const int16_t* packed,
                    int32_t* sums, int64_t sums_row) {
  const int64_t width = PanelWidth(), pairs = (k + 1) / 2;
  for (int64_t column = 0; column < n; column += width, packed += width * pairs * 2) {
    const int64_t columns = HWY_MIN(width, n - column);
    int64_t i = 0;
    for (; i + kTall <= m; i += kTall) {
      SumTile<kTall>(pairs, a + i * a_row, a_row, packed, sums + i * sums_row + column, sums_row, columns);
    }
    for (; i + 2 <= m; i += 2) {
      SumTile<2>(pairs, a + i * a_row, a_row, packed, sums + i * sums_row + column, sums_row, columns);
    }
    if (i < m) SumTile<1>(pairs, a + i * a_row, a_row, packed, sums + i * sums_row + column, sums_row, columns);
  }
}

// What becomes of a vector of sums of channels [c, c + lanes). All that it needs lies in registers or in arrays of its
// own, so that the bytes it writes change nothing that it reads.
template <class D, bool kCorrected, bool kBefore, bool kAfter, bool kAdd>
struct Finisher {
  using DI = hn::Rebind<int32_t, D>;
  using V = hn::Vec<D>;
  using VI = hn::Vec<DI>;

  Finisher(D, const IntegerResult& r, const int32_t* subtracted)
      : corrections(subtracted),
        before(r.before),
        factor(r.factor),
        after(r.after),
        unit(hn::Set(d, r.unit)),
        scale(hn::Set(d, r.scale)),
        inverse(hn::Set(d, r.inverse)),
        shift(hn::Set(d, r.shift)),
        least(hn::Set(d, static_cast<float>(r.least - r.zero_point))),
        most(hn::Set(d, static_cast<float>(r.most - r.zero_point))),
        zero_point(hn::Set(di, r.zero_point)),
        add_scale(hn::Set(d, r.add_scale)),
        add_zero(hn::Set(d, static_cast<float>(r.add_zero_point))) {}

  HWY_INLINE VI Sum(const int32_t* sums, int64_t c) const {
    const VI sum = hn::LoadU(di, sums + c);
    return kCorrected ? hn::Sub(sum, hn::LoadU(di, corrections + c)) : sum;
  }
  HWY_INLINE void Finish(const int32_t* sums, const uint8_t*, int64_t c, int32_t* to) const { hn::StoreU(Sum(sums, c), di, to); }
  HWY_INLINE void Finish(const int32_t* sums, const uint8_t*, int64_t c, float* to) const {
    const V sum = hn::ConvertTo(d, Sum(sums, c));
    hn::StoreU(hn::MulAdd(sum, hn::LoadU(d, factor + c), hn::LoadU(d, after + c)), d, to);
  }
  HWY_INLINE void Finish(const int32_t* sums, const uint8_t* add, int64_t c, uint8_t* to) const {
    V x = hn::ConvertTo(d, Sum(sums, c));
    if (kBefore) x = hn::MulAdd(hn::LoadU(d, before + c), unit, x);
    x = hn::Mul(hn::Mul(x, scale), hn::LoadU(d, factor + c));
    const hn::Rebind<uint8_t, D> d8;
    if (kAfter) {
      x = hn::Add(x, hn::LoadU(d, after + c));
      if (kAdd) {
        const V other = hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8, add + c)));
        x = hn::Add(x, hn::Mul(hn::Sub(other, add_zero), add_scale));
      }
      x = hn::Add(hn::Mul(x, inverse), shift);
    }
    // Sums with 1.5 * 2^23 are rounded to whole numbers, which their lowest bits are.
    const VI rounded = hn::BitCast(di, hn::Add(hn::Min(hn::Max(x, least), most), hn::Set(d, 12582912.0f)));
    const hn::Rebind<uint32_t, D> du;
    hn::StoreU(hn::TruncateTo(d8, hn::BitCast(du, hn::Add(rounded, zero_point))), d8, to);
  }

  D d;
  DI di;
  const int32_t* corrections;
  const float *before, *factor, *after;
  V unit, scale, inverse, shift, least, most;
  VI zero_point;
  V add_scale, add_zero;
};

template <bool kCorrected, bool kBefore, bool kAfter, bool kAdd, class T>
void FinishRows(const IntegerResult& result, const int32_t* corrections, int64_t channels, int64_t rows,
                const int32_t* sums, const uint8_t* add, T* to) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const Finisher<decltype(d), kCorrected, kBefore, kAfter, kAdd> whole(d, result, corrections);
  const Finisher<decltype(one), kCorrected, kBefore, kAfter, kAdd> single(one, result, corrections);
  for (int64_t row = 0; row < rows; ++row, sums += channels, to += channels) {
    int64_t c = 0;
    for (; c + lanes <= channels; c += lanes) whole.Finish(sums, add, c, to + c);
    for (; c < channels; ++c) single.Finish(sums, add, c, to + c);
    if (kAdd) add += channels;
  }
}

template <bool kBefore, bool kAfter, bool kAdd = false, class T>
HWY_INLINE void FinishCorrected(const IntegerResult& result, const int32_t* corrections, int64_t channels, int64_t rows,
                                const int32_t* sums, T* to, const uint8_t* add = nullptr) {
  if (corrections == nullptr) {
    FinishRows<false, kBefore, kAfter, kAdd>(result, corrections, channels, rows, sums, add, to);
  } else {
    FinishRows<true, kBefore, kAfter, kAdd>(result, corrections, channels, rows, sums, add, to);
  }
}

void FinishSums(const IntegerResult& result, const int32_t* corrections, int64_t channels, int64_t first, int64_t rows,
                const int32_t* sums) {
  const int64_t begin = first * channels;
  if (result.to == IntegerResult::To::kSums) {
    return FinishCorrected<false, false>(result, corrections, channels, rows, sums,
                                         static_cast<int32_t*>(result.data) + begin);
  }
  if (result.to == IntegerResult::To::kNumbers) {
    return FinishCorrected<false, true>(result, corrections, channels, rows, sums,
                                        static_cast<float*>(result.data) + begin);
  }
  uint8_t* const to = static_cast<uint8_t*>(result.data) + begin;
  if (result.before == nullptr) {
    if (result.after == nullptr) return FinishCorrected<false, false>(result, corrections, channels, rows, sums, to);
    if (result.add != nullptr) {
      return FinishCorrected<false, true, true>(result, corrections, channels, rows, sums, to, result.add + begin);
    }
    return FinishCorrected<false, true>(result, corrections, channels, rows, sums, to);
  }
  if (result.after == nullptr) return FinishCorrected<true, false>(result, corrections, channels, rows, sums, to);
  FinishCorrected<true, true>(result, corrections, channels, rows, sums, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::matrix::internal {

int64_t packed_columns() {
  return AT_ISA_FUNCTION(PanelColumns)();
}
int64_t packed_shorts(int64_t n, int64_t k) {
  return AT_ISA_FUNCTION(PackedShorts)(n, k);
}
void pack_shorts(int64_t n, int64_t k, const int16_t* b, int16_t* packed) {
  AT_ISA_FUNCTION(PackShorts)(n, k, b, packed);
}
void multiply_shorts(int64_t m, int64_t n, int64_t k, const int16_t* a, int64_t a_row, const int16_t* packed,
                     int32_t* sums, int64_t sums_row) {
  AT_ISA_FUNCTION(MultiplyShorts)(m, n, k, a, a_row, packed, sums, sums_row);
}
void finish_sums(const IntegerResult& result, const int32_t* corrections, int64_t channels, int64_t first, int64_t rows,
                 const int32_t* sums) {
  AT_ISA_FUNCTION(FinishSums)(result, corrections, channels, first, rows, sums);
}

}  // namespace at::matrix::internal
#endif
