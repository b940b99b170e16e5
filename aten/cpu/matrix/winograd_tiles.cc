// Winograd's algorithm, forward: vectors hold the same place of neighbouring tiles. The transformed input is written as
// panels of the products' right factors; the weights of a panel of rows are transformed when their products are due,
// and stay in the second cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/winograd_tiles.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/matrix/finish-inl.h"
#include "aten/cpu/matrix/tile-inl.h"
#include "aten/cpu/matrix/winograd_transforms-inl.h"
#include "aten/cpu/matrix/winograd-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {

inline int64_t TransformedFloats(const WinogradShape& s, int64_t tiles) {
  return CountWidePanels(tiles) * kWinogradProducts * RightStep(s.channels, WidePanel());
}

// Calls f(image, tile row, tile column, at, count) for the runs of tiles [first, last) in one row of tiles.
template <class F>
HWY_INLINE void VisitRuns(const WinogradShape& s, int64_t first, int64_t last, const F& f) {
  const int64_t across = s.tiles_x(), down = s.tiles_y();
  int64_t x = first % across, y = first / across % down, n = first / across / down;
  for (int64_t t = first; t < last;) {
    const int64_t count = HWY_MIN(across - x, last - t);
    f(n, y, x, t - first, count);
    t += count;
    x = 0;
    if (++y == down) y = 0, ++n;
  }
}

// to[i] = row[at + i] for i in [0, count), 0 outside the row's `width` values.
HWY_INLINE void CopyPadded(const float* row, int64_t width, int64_t at, int64_t count, float* to) {
  const FloatTag d;
  const int64_t lanes = FloatLanes();
  int64_t i = 0;
  for (; i < count && at + i < 0; ++i) to[i] = 0;
  const int64_t end = HWY_MIN(count, width - at), begin = i;
  for (; i + lanes <= end; i += lanes) hn::StoreU(hn::LoadU(d, row + at + i), d, to + i);
  if (i < end && end - lanes >= begin) {
    hn::StoreU(hn::LoadU(d, row + at + end - lanes), d, to + end - lanes);
    i = end;
  }
  for (; i < end; ++i) to[i] = row[at + i];
  for (; i < count; ++i) to[i] = 0;
}

// A panel's inputs of one channel, the six rows of its tiles: the first four columns of all tiles side by side, and
// then the last two.
struct Strips {
  static constexpr size_t kMost = 2 * HWY_MAX_BYTES / sizeof(float);
  HWY_ALIGN float four[6][4 * kMost + kLine];
  HWY_ALIGN float two[6][2 * kMost];

  HWY_INLINE void Fill(const WinogradForward& w, int64_t channel, int64_t first, int64_t last) {
    const WinogradShape& s = w.shape;
    VisitRuns(s, first, last, [&](int64_t n, int64_t y, int64_t x, int64_t at, int64_t count) {
      const float* const image = w.input + (n * s.channels + channel) * s.height * s.width;
      for (int r = 0; r < 6; ++r) {
        const int64_t row = y * kWinogradTile + r - s.top;
        float* const to = four[r] + 4 * at;
        // The two values behind a run are overwritten by the next one.
        if (row >= 0 && row < s.height)
          CopyPadded(image + row * s.width, s.width, x * kWinogradTile - s.left, 4 * count + 2, to);
        else
          for (int64_t i = 0; i < 4 * count + 2; ++i) to[i] = 0;
        for (int64_t t = 0; t < count; ++t) {
          two[r][2 * (at + t)] = to[4 * t + 4];
          two[r][2 * (at + t) + 1] = to[4 * t + 5];
        }
      }
    });
    for (int64_t t = last - first; t < static_cast<int64_t>(kMost); ++t)
      for (int r = 0; r < 6; ++r) {
        for (int64_t i = 0; i < 4; ++i) four[r][4 * t + i] = 0;
        two[r][2 * t] = two[r][2 * t + 1] = 0;
      }
  }
};

void TransformInput(const WinogradForward& w, int64_t begin, int64_t end) {
  const FloatTag d;
  const int64_t lanes = FloatLanes(), panel = WidePanel(), channels = w.shape.channels;
  Strips strips;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t p = unit / channels, channel = unit % channels;
    const int64_t left = HWY_MIN(panel, w.tiles - p * panel), first = w.first_tile + p * panel;
    const int64_t width = WidthOfPanel(w.tiles, p), step = RightStep(channels, width);
    strips.Fill(w, channel, first, first + left);
    float* const panel_out = w.transformed + p * kWinogradProducts * RightStep(channels, panel) + channel * width;
    for (int64_t v = 0; v < width; v += lanes) {
      float* const out = panel_out + v;
      TransformTiles<OfInput>(
          [&](int r, FloatVector* to) {
            FloatVector third, fourth;
            hn::LoadInterleaved4(d, strips.four[r] + 4 * v, to[0], to[1], third, fourth);
            to[2] = third, to[3] = fourth;
            hn::LoadInterleaved2(d, strips.two[r] + 2 * v, to[4], to[5]);
          },
          [&](int r, int i, FloatVector value) { hn::Store(value, d, out + (r * 6 + i) * step); });
    }
  }
}

// A panel of rows: left factors [k][height] for each product.
void TransformWeights(const WinogradForward& w, int64_t row, int64_t height, float* turned_block, float* to) {
  const FloatTag d;
  const int64_t lanes = FloatLanes(), channels = w.shape.channels, width = WholeVectors(height),
                step = LeftStep(channels);
  const int64_t valid = HWY_MIN(height, w.shape.rows - row);
  const float* const from = w.weight + row * w.weight_row;
  if (w.weight_channel == 9) {
    PackPanel<float>(from, w.weight_row, 1, valid, width, 9 * channels, turned_block);
  } else {
    for (int64_t k = 0; k < channels; ++k)
      PackPanel<float>(from + k * w.weight_channel, w.weight_row, 1, valid, width, 9, turned_block + k * 9 * width);
  }
  for (int64_t k = 0; k < channels; ++k) {
    for (int64_t v = 0; v < width; v += lanes) {
      const float* const block = turned_block + k * 9 * width + v;
      // Of more lanes than the panel has rows, the next channel's overwrite what is too much.
      float* const out = to + k * height + v;
      TransformTiles<OfWeights>(
          [&](int r, FloatVector* values) {
            for (int i = 0; i < 3; ++i) values[i] = hn::Load(d, block + (w.turned ? 8 - 3 * r - i : 3 * r + i) * width);
          },
          [&](int r, int i, FloatVector value) { hn::StoreU(value, d, out + (r * 6 + i) * step); });
    }
  }
}

// The outputs of a panel of tiles in some rows, from their 36 products [height][width].
void StoreOutputs(const WinogradForward& w, int64_t row, int64_t rows, const float* products, int64_t width,
                  int64_t first, int64_t last) {
  const FloatTag d;
  const int64_t lanes = FloatLanes();
  const WinogradShape& s = w.shape;
  HWY_ALIGN float strips[4][4 * Strips::kMost + kLine];
  for (int64_t r = 0; r < rows; ++r) {
    const FloatVector bias = Constant(w.bias == nullptr ? 0 : w.bias[row + r]);
    for (int64_t v = 0; v < width; v += lanes) {
      const float* const from = products + r * width + v;
      FloatVector out[4][4];
      TransformTiles<ToOutput>(
          [&](int i, FloatVector* values) {
            for (int j = 0; j < 6; ++j) values[j] = hn::Load(d, from + (i * 6 + j) * ProductStep());
          },
          [&](int i, int j, FloatVector value) { out[i][j] = hn::Add(value, bias); });
      for (int i = 0; i < 4; ++i)
        hn::StoreInterleaved4(out[i][0], out[i][1], out[i][2], out[i][3], d, strips[i] + 4 * v);
    }
    VisitRuns(s, first, last, [&](int64_t n, int64_t y, int64_t x, int64_t at, int64_t count) {
      const int64_t left = HWY_MIN(kWinogradTile * count, s.out_width - x * kWinogradTile);
      const int64_t down = HWY_MIN(kWinogradTile, s.out_height - y * kWinogradTile);
      for (int64_t i = 0; i < down; ++i) {
        const int64_t place =
            ((n * s.rows + row + r) * s.out_height + y * kWinogradTile + i) * s.out_width + x * kWinogradTile;
        const float* const sums = strips[i] + 4 * at;
        StoreFinished(sums, left, w.add == nullptr ? nullptr : w.add + place, w.alpha, w.relu, w.output + place);
      }
    });
  }
}

// Floats of the parts of a product's scratch memory, besides the products: the weights turned, and transformed.
inline int64_t TurnedFloats(int64_t channels) {
  return (channels * 9 * WholeVectors(kRows) + kLine - 1) / kLine * kLine;
}
inline int64_t WeightFloats(int64_t channels) {
  return kWinogradProducts * LeftStep(channels);
}

int64_t ProductFloats(const WinogradShape& s) {
  return TurnedFloats(s.channels) + WeightFloats(s.channels) + kWinogradProducts * ProductStep();
}

// Units go panel of rows by panel of rows, through the tiles for each.
void MultiplyTiles(const WinogradForward& w, float* scratch, int64_t begin, int64_t end) {
  const int64_t panel = WidePanel(), panels = CountWidePanels(w.tiles),
                channels = w.shape.channels;
  float* const turned_block = scratch;
  float* const weights = turned_block + TurnedFloats(channels);
  float* const products = weights + WeightFloats(channels);
  int64_t row = 0, row_panel = 0, transformed = -1;
  for (int64_t unit = begin; unit < end; ++unit) {
    for (; row_panel < unit / panels; ++row_panel) row += PanelHeight(w.shape.rows - row);
    const int64_t height = PanelHeight(w.shape.rows - row), p = unit % panels;
    if (transformed != row_panel) TransformWeights(w, row, height, turned_block, weights);
    transformed = row_panel;
    const int64_t left = HWY_MIN(panel, w.tiles - p * panel), width = WidthOfPanel(w.tiles, p);
    const int64_t rows = HWY_MIN(height, w.shape.rows - row);
    MultiplyPanels(weights, w.transformed + p * kWinogradProducts * RightStep(channels, panel), channels, height, rows,
                   width, products);
    const int64_t first = w.first_tile + p * panel;
    StoreOutputs(w, row, rows, products, width, first, first + left);
  }
}

int64_t InputUnits(const WinogradForward& w) {
  return CountWidePanels(w.tiles) * w.shape.channels;
}
int64_t ProductUnits(const WinogradForward& w) {
  return CountWidePanels(w.tiles) * CountPanels(w.shape.rows);
}
}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::matrix::internal {

int64_t winograd_transformed_floats(const WinogradShape& shape, int64_t tiles) {
  return AT_ISA_FUNCTION(TransformedFloats)(shape, tiles);
}
int64_t winograd_panel() {
  return AT_ISA_FUNCTION(WidePanel)();
}
int64_t winograd_input_units(const WinogradForward& w) {
  return AT_ISA_FUNCTION(InputUnits)(w);
}
void winograd_transform_input(const WinogradForward& w, int64_t begin, int64_t end) {
  AT_ISA_FUNCTION(TransformInput)(w, begin, end);
}
int64_t winograd_product_units(const WinogradForward& w) {
  return AT_ISA_FUNCTION(ProductUnits)(w);
}
int64_t winograd_product_scratch_floats(const WinogradShape& shape) {
  return AT_ISA_FUNCTION(ProductFloats)(shape);
}
void winograd_multiply(const WinogradForward& w, float* scratch, int64_t begin, int64_t end) {
  AT_ISA_FUNCTION(MultiplyTiles)(w, scratch, begin, end);
}

}  // namespace at::matrix::internal
#endif
