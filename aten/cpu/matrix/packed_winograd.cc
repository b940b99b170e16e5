// The image is cut into tiles of 4 x 4 outputs. Of a block of tiles, the inputs are transformed, vectors of channels at
// a time; each of the 36 transformed places is a matrix product, tiles by channels; the products are transformed back.
#include "aten/cpu/matrix/packed_winograd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/packed_winograd.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/matrix/packed_tile-inl.h"
#include "aten/cpu/matrix/winograd_transforms-inl.h"
// clang-format on

#ifndef ATEN_CPU_MATRIX_PACKED_WINOGRAD_ONCE_
#define ATEN_CPU_MATRIX_PACKED_WINOGRAD_ONCE_
namespace at::matrix::internal {

constexpr int64_t kPlaces = 36, kTileOutputs = 4, kTileInputs = 6;

// A block of tiles.
struct WinogradBlock {
  const Convolution* c;
  int64_t first, tiles;  // numbered row by row, image by image
  const float* weights;  // for each place: strips
  const float* bias;
  const float* zeros;  // as many as there are channels
  const float* input;
  const float* add;
  float low, high;
  float* output;
  float* transformed;  // [place][tile][channel], places apart by step()
  float* products;     // likewise, of output channels
  // A line more than the numbers need keeps the places out of each other's cache sets.
  int64_t step(int64_t channels) const { return tiles * channels + 16; }
};

}  // namespace at::matrix::internal
#endif

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {

struct TileAt {
  int64_t image, y, x;  // of the first output
};
HWY_INLINE TileAt Locate(const Convolution& c, int64_t tile) {
  const int64_t across = (c.output[2] + kTileOutputs - 1) / kTileOutputs;
  const int64_t down = (c.output[1] + kTileOutputs - 1) / kTileOutputs;
  return {tile / across / down, tile / across % down * kTileOutputs, tile % across * kTileOutputs};
}

// Tiles [begin, end) of the block.
void TransformTilesIn(const WinogradBlock& b, int64_t begin, int64_t end) {
  const D d;
  const Convolution& c = *b.c;
  const int64_t lanes = Lanes(), channels = c.in_channels, step = b.step(channels);
  for (int64_t t = begin; t < end; ++t) {
    const TileAt at = Locate(c, b.first + t);
    const float* from[kPlaces];
    for (int64_t i = 0; i < kTileInputs; ++i) {
      for (int64_t j = 0; j < kTileInputs; ++j) {
        const int64_t y = at.y - c.padding[1] + i, x = at.x - c.padding[2] + j;
        const bool inside = y >= 0 && y < c.input[1] && x >= 0 && x < c.input[2];
        from[i * kTileInputs + j] =
            inside ? b.input + ((at.image * c.input[1] + y) * c.input[2] + x) * channels : b.zeros;
      }
    }
    float* const to = b.transformed + t * channels;
    for (int64_t channel = 0; channel < channels; channel += lanes) {
      TransformTiles<OfInput>(
          [&](int r, FloatVector* values) {
            for (int i = 0; i < kTileInputs; ++i) values[i] = hn::LoadU(d, from[r * kTileInputs + i] + channel);
          },
          [&](int r, int i, FloatVector value) { hn::StoreU(value, d, to + (r * kTileInputs + i) * step + channel); });
    }
  }
}

// kRows tiles of a strip, one place.
template <int kRows, int kWide>
HWY_INLINE void ProductTile(const float* x, int64_t depth, const float* weights, float* y, int64_t y_row,
                            Ahead& ahead) {
  const D d;
  const int64_t lanes = Lanes();
  const float* from[kRows];
  V sums[kRows][kWide];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    from[r] = x + r * depth;
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) sums[r][v] = hn::Zero(d);
  }
  Accumulate(from, depth, weights, sums, ahead);
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) hn::StoreU(sums[r][v], d, y + r * y_row + v * lanes);
}

template <int kWide>
HWY_NOINLINE void ProductStrip(const float* x, int64_t tiles, int64_t depth, const float* weights, float* y,
                               int64_t y_row) {
  // The next strip.
  const int64_t bytes = kWide * Lanes() * static_cast<int64_t>(sizeof(float));
  Ahead ahead{reinterpret_cast<const char*>(weights) + bytes * depth, bytes * kTall / (tiles + kTall) + 1};
  const auto rows = [&](auto count, int64_t begin, int64_t end) {
    constexpr int kRows = decltype(count)::value;
    // The last ones are computed twice where they are fewer.
    for (int64_t t = begin; t < end; t += kRows) {
      const int64_t at = HWY_MIN(t, end - kRows);
      ProductTile<kRows, kWide>(x + at * depth, depth, weights, y + at * y_row, y_row, ahead);
    }
  };
  if (tiles < kLow) return rows(std::integral_constant<int, 1>(), 0, tiles);
  const int64_t tall = tiles == 2 * kLow ? 0 : tiles / kTall * kTall;
  rows(std::integral_constant<int, kTall>(), 0, tall);
  rows(std::integral_constant<int, kLow>(), tall, tiles);
}

// Places [begin, end) of all tiles.
void MultiplyPlaces(const WinogradBlock& b, int64_t begin, int64_t end) {
  const Convolution& c = *b.c;
  const int64_t lanes = Lanes(), strip = Strip();
  for (int64_t place = begin; place < end; ++place) {
    const float* const x = b.transformed + place * b.step(c.in_channels);
    float* const y = b.products + place * b.step(c.out_channels);
    for (int64_t channel = 0; channel < c.out_channels; channel += strip) {
      const float* const w = b.weights + (place * c.out_channels + channel) * c.in_channels;
      const int64_t vectors = (c.out_channels - channel) / lanes;
      if (vectors >= kStripVectors) {
        ProductStrip<kStripVectors>(x, b.tiles, c.in_channels, w, y + channel, c.out_channels);
      } else {
        ProductStrip<1>(x, b.tiles, c.in_channels, w, y + channel, c.out_channels);
      }
    }
  }
}

// Tiles [begin, end) of the block.
void TransformTilesOut(const WinogradBlock& b, int64_t begin, int64_t end) {
  const D d;
  const Convolution& c = *b.c;
  const int64_t lanes = Lanes(), channels = c.out_channels, step = b.step(channels);
  const V low = hn::Set(d, b.low), high = hn::Set(d, b.high);
  for (int64_t t = begin; t < end; ++t) {
    const TileAt at = Locate(c, b.first + t);
    const int64_t rows = HWY_MIN(kTileOutputs, c.output[1] - at.y), columns = HWY_MIN(kTileOutputs, c.output[2] - at.x);
    const int64_t to = ((at.image * c.output[1] + at.y) * c.output[2] + at.x) * channels;
    const float* const from = b.products + t * channels;
    for (int64_t channel = 0; channel < channels; channel += lanes) {
      const V bias = hn::LoadU(d, b.bias + channel);
      TransformTiles<ToOutput>(
          [&](int r, FloatVector* values) {
            for (int i = 0; i < kTileInputs; ++i)
              values[i] = hn::LoadU(d, from + (r * kTileInputs + i) * step + channel);
          },
          [&](int r, int i, FloatVector value) {
            if (r >= rows || i >= columns) return;
            const int64_t place = to + (r * c.output[2] + i) * channels + channel;
            hn::StoreU(Finish(hn::Add(value, bias), b.add == nullptr ? nullptr : b.add + place, low, high), d,
                       b.output + place);
          });
    }
  }
}

// Transformed weights, for each place [strip][in_channels][channel of the strip]; with bias and zeros behind them.
void TransformWeightsOnce(const Convolution& c, const float* weight, float* to) {
  const D d;
  const int64_t lanes = Lanes(), strip = Strip(), step = c.out_channels * c.in_channels;
  HWY_ALIGN float windows[9 * HWY_MAX_BYTES / sizeof(float)];
  for (int64_t channel = 0; channel < c.out_channels; channel += lanes) {
    const int64_t begin = channel / strip * strip, wide = HWY_MIN(strip, c.out_channels - begin);
    for (int64_t k = 0; k < c.in_channels; ++k) {
      for (int64_t l = 0; l < lanes; ++l)
        for (int64_t i = 0; i < 9; ++i) windows[i * lanes + l] = weight[((channel + l) * c.in_channels + k) * 9 + i];
      float* const out = to + begin * c.in_channels + k * wide + channel - begin;
      TransformTiles<OfWeights>(
          [&](int r, FloatVector* values) {
            for (int i = 0; i < 3; ++i) values[i] = hn::LoadU(d, windows + (3 * r + i) * lanes);
          },
          [&](int r, int i, FloatVector value) { hn::StoreU(value, d, out + (r * kTileInputs + i) * step); });
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "aten/cpu/matrix/packed_convolution.h"
#include "c10/parallel/parallel.h"

namespace at::matrix {
namespace internal {
namespace {

constexpr int64_t kChannelUnit = 16;

int64_t all_tiles(const Convolution& c) {
  return c.batch * at::divup(c.output[1], kTileOutputs) * at::divup(c.output[2], kTileOutputs);
}

// The most tiles at a time: what is transformed stays in the second cache, or, where the weights weigh more, in the
// last.
int64_t most_tiles(const Convolution& c) {
  constexpr int64_t kSecondCache = int64_t{384} << 10, kWhole = 12;
  const int64_t weights = kPlaces * c.in_channels * c.out_channels * static_cast<int64_t>(sizeof(float));
  const int64_t tile = kPlaces * (c.in_channels + c.out_channels) * static_cast<int64_t>(sizeof(float));
  return std::min(all_tiles(c), rounded_up(std::max(kSecondCache, weights / 2) / tile + 1, kWhole));
}

// Blocks of about one size.
int64_t block_tiles(const Convolution& c) {
  const int64_t most = most_tiles(c), all = all_tiles(c);
  return all == 0 ? 0 : std::min(most, rounded_up(at::divup(all, at::divup(all, most)), 6));
}

int64_t block_floats(const Convolution& c, int64_t tiles) {
  return kPlaces * (tiles * (c.in_channels + c.out_channels) + 2 * kChannelUnit);
}

}  // namespace
}  // namespace internal

const char* PackedWinograd::refusal(const Convolution& c) {
  if (const char* why = PackedConvolution::refusal(c)) return why;
  for (int d = 1; d < 3; ++d) {
    if (c.kernel[d] != 3 || c.stride[d] != 1 || c.dilation[d] != 1) return "only windows of 3 x 3 side by side";
  }
  if (c.in_channels % internal::kChannelUnit != 0 || c.out_channels % internal::kChannelUnit != 0)
    return "channels that are no multiple of 16";
  return nullptr;
}

// Multiply-adds that take as long as transforming a tile of a channel, and as reading a transformed weight; measured.
bool PackedWinograd::is_worth(const Convolution& c) {
  constexpr double kTileCost = 900, kWeightCost = 14;
  const double pairs = static_cast<double>(c.in_channels) * static_cast<double>(c.out_channels);
  const double tiles = static_cast<double>(internal::all_tiles(c));
  const double direct = 9 * pairs * static_cast<double>(c.batch * c.output[1] * c.output[2]);
  return internal::kPlaces * pairs * (tiles + kWeightCost) +
             kTileCost * tiles * static_cast<double>(c.in_channels + c.out_channels) <
         direct;
}

PackedWinograd::PackedWinograd(const Convolution& c, const float* weight, const float* bias)
    : packed_(internal::kPlaces * c.in_channels * c.out_channels + c.in_channels + c.out_channels) {
  using namespace internal;
  AT_ISA_FUNCTION(TransformWeightsOnce)(c, weight, packed_.data());
  float* to = packed_.data() + kPlaces * c.in_channels * c.out_channels;
  to = pack_bias(bias, c.out_channels, 1, to);
  std::fill(to, to + c.in_channels, 0.0f);
}

int64_t PackedWinograd::scratch_floats(const Convolution& c) {
  return internal::block_floats(c, internal::most_tiles(c));
}

void PackedWinograd::run(const Convolution& c, const float* input, const float* add, float low, float high,
                         float* output, float* scratch) const {
  using namespace internal;
  const float* const weights = packed_.data();
  const float* const bias = weights + kPlaces * c.in_channels * c.out_channels;
  WinogradBlock b{&c, 0, 0, weights, bias, bias + c.out_channels, input, add, low, high, output, scratch, nullptr};
  const int64_t all = all_tiles(c), block = block_tiles(c);
  constexpr int64_t kWorthAThread = 1 << 18;
  const auto in = AT_ISA_FUNCTION(TransformTilesIn), out = AT_ISA_FUNCTION(TransformTilesOut),
             multiply = AT_ISA_FUNCTION(MultiplyPlaces);
  for (; b.first < all; b.first += block) {
    b.tiles = std::min(block, all - b.first);
    b.products = scratch + kPlaces * b.step(c.in_channels);
    at::parallel_for(0, b.tiles, kWorthAThread / (300 * c.in_channels) + 1,
                     [&](int64_t begin, int64_t end) { in(b, begin, end); });
    at::parallel_for(0, kPlaces, kWorthAThread / (b.tiles * c.in_channels * c.out_channels) + 1,
                     [&](int64_t begin, int64_t end) { multiply(b, begin, end); });
    at::parallel_for(0, b.tiles, kWorthAThread / (300 * c.out_channels) + 1,
                     [&](int64_t begin, int64_t end) { out(b, begin, end); });
  }
}

}  // namespace at::matrix
#endif  // HWY_ONCE
