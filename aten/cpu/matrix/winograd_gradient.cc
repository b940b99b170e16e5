// Winograd's algorithm for the gradient of the weights: vectors hold the same place of neighbouring channels, so that
// the sums go over tiles. The transformed gradient of the output is the left factor, the transformed input the right
// one; each is cut into panels of channels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/winograd_gradient.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/matrix/tile-inl.h"
#include "aten/cpu/matrix/winograd_transforms-inl.h"
#include "aten/cpu/matrix/winograd-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {

int64_t GradientInputFloats(const WinogradShape& s, int64_t tile_rows) {
  return CountWidePanels(s.channels) * kWinogradProducts * RightStep(tile_rows * s.tiles_x(), WidePanel());
}
int64_t GradientOutputFloats(const WinogradShape& s, int64_t tile_rows) {
  return CountPanels(s.rows) * kWinogradProducts * LeftStep(tile_rows * s.tiles_x());
}

inline int64_t StageWidth() {
  return HWY_MAX(WidePanel(), WholeVectors(kRows));
}
inline int64_t StageFloats(const WinogradShape& s) {
  return 6 * (s.tiles_x() * kWinogradTile + 2) * StageWidth();
}

// The rows [y, y + rows) and columns [x, x + columns) of `channels` planes of [height][width], 0 outside, as
// [rows][columns][channel_width].
void Stage(const float* planes, int64_t height, int64_t width, int64_t channels, int64_t channel_width, int64_t y,
           int64_t x, int64_t rows, int64_t columns, float* to) {
  const int64_t begin = HWY_MIN(HWY_MAX(int64_t{0}, -x), columns), end = HWY_MAX(begin, HWY_MIN(columns, width - x));
  for (int64_t r = 0; r < rows; ++r, to += columns * channel_width) {
    const bool inside = y + r >= 0 && y + r < height;
    const int64_t from = inside ? begin : columns, last = inside ? end : columns;
    for (int64_t i = 0; i < from * channel_width; ++i) to[i] = 0;
    if (last > from)
      PackPanel<float>(planes + (y + r) * width + x + from, height * width, 1, channels, channel_width, last - from,
                       to + from * channel_width);
    for (int64_t i = last * channel_width; i < columns * channel_width; ++i) to[i] = 0;
  }
}

// A row of tiles of the input's channels [channel, channel + channels): right factors [tile][width].
void TransformInputRow(const WinogradGradient& w, int64_t image, int64_t tile_row, int64_t channel, int64_t channels,
                       int64_t width, float* stage, int64_t step, float* to) {
  const FloatTag d;
  const WinogradShape& s = w.shape;
  const int64_t lanes = FloatLanes(), columns = s.tiles_x() * kWinogradTile + 2;
  Stage(w.input + (image * s.channels + channel) * s.height * s.width, s.height, s.width, channels, width,
        tile_row * kWinogradTile - s.top, -s.left, 6, columns, stage);
  for (int64_t x = 0; x < s.tiles_x(); ++x) {
    for (int64_t v = 0; v < width; v += lanes) {
      const float* const from = stage + x * kWinogradTile * width + v;
      float* const out = to + x * width + v;
      TransformTiles<OfInput>(
          [&](int r, FloatVector* values) {
            for (int i = 0; i < 6; ++i) values[i] = hn::Load(d, from + (r * columns + i) * width);
          },
          [&](int r, int i, FloatVector value) { hn::Store(value, d, out + (r * 6 + i) * step); });
    }
  }
}

// A row of tiles of the gradients of `rows` output channels: left factors [tile][height].
void TransformGradRow(const WinogradGradient& w, int64_t image, int64_t tile_row, int64_t row, int64_t rows,
                      int64_t height, float* stage, int64_t step, float* to) {
  const FloatTag d;
  const WinogradShape& s = w.shape;
  const int64_t lanes = FloatLanes(), columns = s.tiles_x() * kWinogradTile, width = WholeVectors(height);
  Stage(w.grad_output + (image * s.rows + row) * s.out_height * s.out_width, s.out_height, s.out_width, rows, width,
        tile_row * kWinogradTile, 0, 4, columns, stage);
  HWY_ALIGN float last[kWinogradProducts * (kRows + 2 * HWY_MAX_BYTES / sizeof(float))];
  for (int64_t x = 0; x < s.tiles_x(); ++x) {
    // A vector of more lanes than `height` spoils the next tiles, which are written after it; but the next row of tiles
    // may be another thread's.
    const bool alone = x * height + width > s.tiles_x() * height;
    for (int64_t v = 0; v < width; v += lanes) {
      const float* const from = stage + x * kWinogradTile * width + v;
      float* const out = alone ? last + v : to + x * height + v;
      const int64_t out_step = alone ? width : step;
      TransformTiles<OfOutputGradient>(
          [&](int r, FloatVector* values) {
            for (int i = 0; i < 4; ++i) values[i] = hn::Load(d, from + (r * columns + i) * width);
          },
          [&](int r, int i, FloatVector value) { hn::StoreU(value, d, out + (r * 6 + i) * out_step); });
    }
    if (!alone) continue;
    for (int64_t i = 0; i < kWinogradProducts; ++i)
      for (int64_t r = 0; r < height; ++r) to[i * step + x * height + r] = last[i * width + r];
  }
}

// The first row of panel `panel`.
inline int64_t FirstRow(int64_t rows, int64_t panel) {
  int64_t row = 0;
  for (; panel > 0; --panel) row += PanelHeight(rows - row);
  return row;
}

// Units: each panel of input channels, then each of output channels, and of each the rows of tiles.
void GradientTransform(const WinogradGradient& w, float* stage, int64_t begin, int64_t end) {
  const WinogradShape& s = w.shape;
  const int64_t across = s.tiles_x(), tiles = w.tile_rows * across, input_panels = CountWidePanels(s.channels);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t panel = unit / w.tile_rows, r = unit % w.tile_rows;
    const int64_t image = (w.first_row + r) / s.tiles_y(), tile_row = (w.first_row + r) % s.tiles_y();
    if (panel < input_panels) {
      const int64_t channel = panel * WidePanel(), width = WidthOfPanel(s.channels, panel);
      TransformInputRow(
          w, image, tile_row, channel, HWY_MIN(width, s.channels - channel), width, stage, RightStep(tiles, width),
          w.transformed_input + panel * kWinogradProducts * RightStep(tiles, WidePanel()) + r * across * width);
    } else {
      const int64_t row_panel = panel - input_panels, row = FirstRow(s.rows, row_panel),
                    height = PanelHeight(s.rows - row);
      TransformGradRow(w, image, tile_row, row, HWY_MIN(height, s.rows - row), height, stage, LeftStep(tiles),
                       w.transformed_grad + row_panel * kWinogradProducts * LeftStep(tiles) + r * across * height);
    }
  }
}

// The weights' gradients of a panel of output and one of input channels, from their 36 products [height][width].
void StoreWeightGradient(const WinogradGradient& w, int64_t row, int64_t rows, int64_t channel, int64_t width,
                         const float* products) {
  const FloatTag d;
  const int64_t lanes = FloatLanes(), channels = w.shape.channels;
  HWY_ALIGN float turned[9 * HWY_MAX_BYTES / sizeof(float)], dense[9 * HWY_MAX_BYTES / sizeof(float)];
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t v = 0; v < width && channel + v < channels; v += lanes) {
      const float* const from = products + r * width + v;
      FloatVector out[3][3];
      TransformTiles<ToWeightGradient>(
          [&](int i, FloatVector* values) {
            for (int j = 0; j < 6; ++j) values[j] = hn::Load(d, from + (i * 6 + j) * ProductStep());
          },
          [&](int i, int j, FloatVector value) { out[i][j] = value; });
      // Columns of [channel][3], and of them [channel][3][3].
      for (int j = 0; j < 3; ++j) hn::StoreInterleaved3(out[0][j], out[1][j], out[2][j], d, turned + 3 * j * lanes);
      for (int64_t i = 0; i < 3; ++i)
        hn::StoreInterleaved3(hn::Load(d, turned + i * lanes), hn::Load(d, turned + (3 + i) * lanes),
                              hn::Load(d, turned + (6 + i) * lanes), d, dense + 3 * i * lanes);
      float* const to = w.grad_weight + ((row + r) * channels + channel + v) * 9;
      const int64_t count = 9 * HWY_MIN(lanes, channels - channel - v);
      int64_t i = 0;
      for (; i + lanes <= count; i += lanes) {
        const FloatVector value = hn::Load(d, dense + i);
        hn::StoreU(w.add ? hn::Add(hn::LoadU(d, to + i), value) : value, d, to + i);
      }
      for (; i < count; ++i) to[i] = w.add ? to[i] + dense[i] : dense[i];
    }
  }
}

// Units: the panels of input channels of each panel of output channels.
void GradientMultiply(const WinogradGradient& w, float* products, int64_t begin, int64_t end) {
  const WinogradShape& s = w.shape;
  const int64_t tiles = w.tile_rows * s.tiles_x(), input_panels = CountWidePanels(s.channels);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t row_panel = unit / input_panels, panel = unit % input_panels;
    const int64_t row = FirstRow(s.rows, row_panel), height = PanelHeight(s.rows - row),
                  width = WidthOfPanel(s.channels, panel);
    const int64_t rows = HWY_MIN(height, s.rows - row);
    MultiplyPanels(w.transformed_grad + row_panel * kWinogradProducts * LeftStep(tiles),
                   w.transformed_input + panel * kWinogradProducts * RightStep(tiles, WidePanel()), tiles, height, rows,
                   width, products);
    StoreWeightGradient(w, row, rows, panel * WidePanel(), width, products);
  }
}

int64_t GradientTransformUnits(const WinogradGradient& w) {
  return (CountWidePanels(w.shape.channels) + CountPanels(w.shape.rows)) * w.tile_rows;
}
int64_t GradientUnits(const WinogradGradient& w) {
  return CountWidePanels(w.shape.channels) * CountPanels(w.shape.rows);
}
int64_t GradientScratchFloats() {
  return kWinogradProducts * ProductStep();
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::matrix::internal {

int64_t winograd_gradient_input_floats(const WinogradShape& shape, int64_t tile_rows) {
  return AT_ISA_FUNCTION(GradientInputFloats)(shape, tile_rows);
}
int64_t winograd_gradient_output_floats(const WinogradShape& shape, int64_t tile_rows) {
  return AT_ISA_FUNCTION(GradientOutputFloats)(shape, tile_rows);
}
int64_t winograd_gradient_transform_units(const WinogradGradient& w) {
  return AT_ISA_FUNCTION(GradientTransformUnits)(w);
}
int64_t winograd_gradient_stage_floats(const WinogradShape& shape) {
  return AT_ISA_FUNCTION(StageFloats)(shape);
}
void winograd_gradient_transform(const WinogradGradient& w, float* scratch, int64_t begin, int64_t end) {
  AT_ISA_FUNCTION(GradientTransform)(w, scratch, begin, end);
}
int64_t winograd_gradient_units(const WinogradGradient& w) {
  return AT_ISA_FUNCTION(GradientUnits)(w);
}
int64_t winograd_gradient_scratch_floats() {
  return AT_ISA_FUNCTION(GradientScratchFloats)();
}
void winograd_gradient_multiply(const WinogradGradient& w, float* scratch, int64_t begin, int64_t end) {
  AT_ISA_FUNCTION(GradientMultiply)(w, scratch, begin, end);
}

}  // namespace at::matrix::internal
#endif
