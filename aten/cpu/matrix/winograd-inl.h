// The panels of the products of Winograd's algorithm, for sources compiled once a target. Include after hwy/highway.h,
// tile-inl.h and winograd_transforms-inl.h.

#if defined(ATEN_CPU_MATRIX_WINOGRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_MATRIX_WINOGRAD_INL_H_
#undef ATEN_CPU_MATRIX_WINOGRAD_INL_H_
#else
#define ATEN_CPU_MATRIX_WINOGRAD_INL_H_
#endif

#include <cstdint>

#include "aten/cpu/matrix/winograd.h"

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE int64_t WholeVectors(int64_t count) {
  return (count + FloatLanes() - 1) / FloatLanes() * FloatLanes();
}

// The right factors of the products are cut into panels of two vectors, the last one of one or two (PanelWidth).
HWY_INLINE int64_t WidePanel() {
  return 2 * FloatLanes();
}
HWY_INLINE int64_t CountWidePanels(int64_t columns) {
  return (columns + WidePanel() - 1) / WidePanel();
}
HWY_INLINE int64_t WidthOfPanel(int64_t columns, int64_t panel) {
  return PanelWidth(columns - panel * WidePanel(), FloatLanes());
}

// Floats of a cache line.
inline constexpr int64_t kLine = 16;
// Steps between the 36 factors of a panel, and between their products. The odd line keeps them out of each other's
// cache sets; vectors that are stored into a left factor may reach beyond its rows.
HWY_INLINE int64_t RightStep(int64_t depth, int64_t width) {
  return depth * width + kLine;
}
HWY_INLINE int64_t LeftStep(int64_t depth) {
  return (depth * kRows + WidePanel()) / kLine * kLine + kLine;
}
HWY_INLINE int64_t ProductStep() {
  return kRows * WidePanel() + kLine;
}

// How many rows the panel of a product's left factor has that begins `left` rows before the last.
HWY_INLINE int64_t PanelHeight(int64_t left) {
  if (left >= kRows && left != 2 * kMiddleRows) return kRows;
  return left >= kMiddleRows ? kMiddleRows : kFewRows;
}

HWY_INLINE int64_t CountPanels(int64_t rows) {
  int64_t panels = 0;
  for (; rows > 0; ++panels) rows -= PanelHeight(rows);
  return panels;
}

// The 36 products of a panel of left factors, of whose `height` rows the first `rows` count, with one of right factors.
HWY_INLINE void MultiplyPanels(const float* left, const float* right, int64_t depth, int64_t height, int64_t rows,
                               int64_t width, float* products) {
  const bool two = width == WidePanel();
  Tile<float> t;
  t.k = depth;
  t.c_row = width;
  t.add = nullptr;
  t.add_row = 0;
  t.alpha = t.beta = 1;
  t.rows = rows;
  t.columns = width;
  for (int64_t i = 0; i < kWinogradProducts; ++i) {
    t.a = left + i * LeftStep(depth);
    t.b = right + i * RightStep(depth, width);
    t.c = products + i * ProductStep();
    if (height == kRows) {
      two ? RunTile<float, kRows, 2>(t) : RunTile<float, kRows, 1>(t);
    } else if (height == kMiddleRows) {
      two ? RunTile<float, kMiddleRows, 2>(t) : RunTile<float, kMiddleRows, 1>(t);
    } else {
      two ? RunTile<float, kFewRows, 2>(t) : RunTile<float, kFewRows, 1>(t);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the target
