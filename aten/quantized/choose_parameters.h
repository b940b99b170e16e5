#pragma once
// Scales and zero points as range observers choose them, on the host and in kernels.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "c10/macros/macros.h"

namespace at::quantized {

/// A range of integers.
struct Range {
  int64_t least = 0, most = 0;
};

struct ChosenParameters {
  double scale = 1;
  int64_t zero_point = 0;
};

/// What range observers choose for numbers within [least, most], which 0 is added to. `symmetric`: the zero point is in
/// the middle; `float_scale`: it is chosen for the scale as a float.
C10_HOST_DEVICE inline ChosenParameters choose_parameters(float least, float most, Range range, bool symmetric = false,
                                                          bool float_scale = false) {
  const auto low = static_cast<double>(range.least), high = static_cast<double>(range.most);
  double from = least, to = most;
  const bool both_sides = from < 0 && to > 0;
  if (symmetric && both_sides) {
    const double steps_below = std::floor((high - low) / 2) + 1, steps_above = std::floor((high - low) / 2);
    const double widest = std::max(std::abs(from / steps_below), std::abs(to / steps_above));
    from = static_cast<float>(-widest * steps_below);
    to = static_cast<float>(widest * steps_above);
  }
  from = std::min(from, 0.0);
  to = std::max(to, 0.0);
  double scale = (to - from) / (high - low);
  // Of numbers that are all zero, or so small that a step has no inverse.
  if (static_cast<float>(scale) == 0.0f || std::isinf(1.0f / static_cast<float>(scale))) scale = 0.1;
  constexpr double kSmallestScale = 6.1e-5;
  if (scale < kSmallestScale) {
    const double wider = kSmallestScale / scale;
    scale = kSmallestScale;
    if (from == 0) {
      to = scale * (high - low);
    } else if (to == 0) {
      from = -scale * (high - low);
    } else {
      from *= wider;
      to *= wider;
    }
  }
  if (float_scale) scale = static_cast<float>(scale);
  // The end whose rounding error is the smaller one decides.
  const double error_low = std::abs(low) + std::abs(from / scale), error_high = std::abs(high) + std::abs(to / scale);
  double zero = error_low < error_high ? low - from / scale : high - to / scale;
  if (symmetric && both_sides) zero = (low + high) / 2;
  if (!(zero >= low)) return {scale, range.least};  // NaN, too
  if (zero > high) return {scale, range.most};
  return {scale, static_cast<int64_t>(std::nearbyint(zero))};
}

}  // namespace at::quantized
