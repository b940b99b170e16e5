#include "aten/cpu/matrix/flat_convolution_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/flat_convolution_tile.cc"
#include "hwy/foreach_target.h"  // keep first
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "hwy/cache_control.h"
#include "aten/cpu/matrix/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Accumulators of kTallest x 2 vectors, two vectors of input and one weight must fit the register file.
#if HWY_TARGET <= HWY_AVX3
inline constexpr int kTallest = 12, kTall = 8, kLow = 4;
#else
inline constexpr int kTallest = 6, kTall = 4, kLow = 2;
#endif
inline constexpr int64_t kTileRow = 2 * HWY_MAX_BYTES / sizeof(float);

// A tile's sums: `kTileRow` floats for each of its rows, and room for one vector more.
struct Sums {
  HWY_ALIGN float values[kTallest * kTileRow + kTileRow];
};

// The sums of output channels [first, first + kRows) at flat places [place, place + kVectors vectors).
template <int kRows, int kVectors>
HWY_NOINLINE void SumTile(const FlatConvolution& c, int64_t first, int64_t place, Sums* to) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  V sum[kRows][kVectors];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  // Rows in threes behind one pointer each: all twelve within one index register.
  constexpr int kPointers = (kRows + 2) / 3;
  const float* w[kPointers];
#pragma GCC unroll 4
  for (int p = 0; p < kPointers; ++p) w[p] = c.weight + (first + 3 * p) * c.weight_row;
  const int64_t row = c.weight_row, step = c.weight_place, next = c.weight_channel - c.window * c.weight_place;
  const int64_t* const places_end = c.places + c.window;
  const float* in = c.input + place;
  for (int64_t channel = c.channels; channel > 0; --channel, in += c.channel_step) {
    for (const int64_t* at = c.places; at != places_end; ++at) {
      V x[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) x[v] = hn::LoadU(d, in + *at + v * lanes);
#pragma GCC unroll 12
      for (int r = 0; r < kRows; ++r) {
        const V factor = hn::Set(d, w[r / 3][r % 3 * row]);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(factor, x[v], sum[r][v]);
      }
#pragma GCC unroll 4
      for (int p = 0; p < kPointers; ++p) w[p] += step;
    }
#pragma GCC unroll 4
    for (int p = 0; p < kPointers; ++p) w[p] += next;
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    const V bias = hn::Set(d, c.bias == nullptr ? 0.0f : c.bias[first + r]);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) hn::StoreU(hn::Add(sum[r][v], bias), d, to->values + r * kTileRow + v * lanes);
  }
}

// Writes those of `count` sums from flat place `place` on that are output places.
HWY_INLINE void StoreTile(const FlatConvolution& c, const Sums& sums, int64_t first, int64_t rows, int64_t place, int64_t count) {
  const int64_t image = c.height * c.width;
  int64_t y = place / c.pitch, x = place % c.pitch;
  for (int64_t at = 0; at < count; at += c.pitch - x, x = 0, ++y) {
    const int64_t run = HWY_MIN(c.width - x, count - at);
    const float* from = sums.values + at;
    float* to = c.output + first * image + y * c.width + x;
    const float* add = c.add == nullptr ? nullptr : c.add + first * image + y * c.width + x;
    for (int64_t r = 0; run > 0 && r < rows; ++r, from += kTileRow, to += image) {
      StoreFinished(from, run, add, c.alpha, c.relu, to);
      if (add != nullptr) add += image;
    }
  }
}

template <int kRows>
void Strip(const FlatConvolution& c, int64_t first) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  const int64_t places = (c.height - 1) * c.pitch + c.width;
  Sums sums;
  for (int64_t place = 0; place < places; place += 2 * lanes) {
    // The results' lines come while the sums are made.
    const int64_t result = place / c.pitch * c.width + HWY_MIN(place % c.pitch, c.width - 1);
    for (int64_t r = 0; r < kRows; ++r) {
      const float* const line = c.output + (first + r) * c.height * c.width + result;
      hwy::Prefetch(line);
      hwy::Prefetch(line + lanes);
    }
    const int64_t count = HWY_MIN(2 * lanes, places - place);
    if (count > lanes) SumTile<kRows, 2>(c, first, place, &sums);
    else SumTile<kRows, 1>(c, first, place, &sums);
    StoreTile(c, sums, first, kRows, place, count);
  }
}

void FlatRows(const FlatConvolution& c, int64_t first, int64_t last) {
  for (; last - first >= kTallest && last - first != 2 * kTall; first += kTallest) Strip<kTallest>(c, first);
  for (; last - first >= kTall; first += kTall) Strip<kTall>(c, first);
  for (; last - first >= kLow; first += kLow) Strip<kLow>(c, first);
  for (; first < last; ++first) Strip<1>(c, first);
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::matrix::internal {

void flat_convolution_rows(const FlatConvolution& c, int64_t first, int64_t last) { AT_ISA_FUNCTION(FlatRows)(c, first, last); }

}  // namespace at::matrix::internal
#endif
