#pragma once
// Where the modes of interpolation read in one dimension, and with what weights: formulas for every device's kernels.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace at::native {

enum class Filter { kNearest, kNearestExact, kLinear, kCubic, kLinearAntialias, kCubicAntialias, kLanczosAntialias };

// How places are rounded where they fall on the border of two elements, which PyTorch does in three ways: in float32;
// in float32 with a fused multiplication; in float64. In the first, that of all gradients, a scale that contradicts
// sizes of a ratio of 1 or 2 does not count for kNearest.
enum class NearestRule { kSizesFirst, kFloat, kDouble };

// More would take gigabytes for weights alone.
inline constexpr int64_t kMostTaps = int64_t{1} << 28;

constexpr bool antialiased(Filter filter) {
  return filter == Filter::kLinearAntialias || filter == Filter::kCubicAntialias || filter == Filter::kLanczosAntialias;
}

inline bool usable_scale(std::optional<double> scale) {
  return scale.has_value() && *scale > 0;
}

// The distance of neighbouring elements of the result, in elements of the input.
inline double axis_step(int64_t in, int64_t out, bool align_corners, std::optional<double> scale) {
  if (align_corners) return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
  return usable_scale(scale) ? 1.0 / *scale : static_cast<double>(in) / static_cast<double>(out);
}

// The steps of nearest elements.
struct NearestSteps {
  double step;
  float short_step;
};
inline NearestSteps nearest_steps(Filter filter, int64_t in, int64_t out, std::optional<double> scale,
                                  NearestRule rule) {
  if (rule == NearestRule::kSizesFirst && filter == Filter::kNearest && (out == in || out == 2 * in)) scale.reset();
  const double step = axis_step(in, out, false, scale);
  return {step, usable_scale(scale) ? static_cast<float>(step) : static_cast<float>(in) / static_cast<float>(out)};
}

// Functions are templates so that kernels of devices may call them.

template <class Int>
constexpr Int nearest_index(Filter filter, NearestRule rule, const NearestSteps& steps, Int in, Int i) {
  const bool exact = filter == Filter::kNearestExact;
  const double shift = exact ? 0.5 : 0.0;
  const float place = static_cast<float>(i) + static_cast<float>(shift);
  float at = 0;
  if (rule == NearestRule::kDouble) {
    at = static_cast<float>((static_cast<double>(i) + shift) * steps.step);
  } else if (rule == NearestRule::kFloat && exact) {
    at = std::fma(steps.short_step, place, -0.5f) + 0.5f;
  } else {
    at = place * steps.short_step;
  }
  at = std::floor(at);
  return at < static_cast<float>(in) ? std::min(static_cast<Int>(at), in - 1) : in - 1;
}

// The cubic convolution kernel (Keys, 1981) with parameter a.
template <class Real>
constexpr Real cubic_filter(Real x, Real a) {
  x = x < 0 ? -x : x;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? a * (((x - 5) * x + 8) * x - 4) : Real(0);
}

// Where linear (2 taps) and cubic (4 taps) interpolation read: the first tap, before indices are clamped to the input,
// and how far behind the tap at `first`, or for cubic the one after it, the place lies.
template <class Real>
struct InterpolationPlace {
  int64_t first;
  Real part;
};
template <class Real>
constexpr InterpolationPlace<Real> interpolation_place(Filter filter, bool align_corners, Real step, int64_t in,
                                                       int64_t i) {
  const Real last = static_cast<Real>(in - 1);
  Real at = align_corners ? step * static_cast<Real>(i) : step * (static_cast<Real>(i) + Real(0.5)) - Real(0.5);
  if (filter == Filter::kLinear) {
    at = std::max(at, Real(0));
    const int64_t left = at < last ? static_cast<int64_t>(at) : in - 1;
    return {left, std::clamp(at - static_cast<Real>(left), Real(0), Real(1))};
  }
  at = std::min(at, last + 1);
  const Real left = std::floor(at);
  return {static_cast<int64_t>(left) - 1, at - left};
}
template <class Real>
constexpr Real interpolation_weight(Filter filter, const InterpolationPlace<Real>& place, int64_t tap) {
  if (filter == Filter::kLinear) return tap == 0 ? 1 - place.part : place.part;
  return cubic_filter(place.part - static_cast<Real>(tap - 1), Real(-0.75));
}

// The filters of antialiasing are stretched by the step where that is above 1, so that every element of the input
// counts.
template <class Real>
struct AntialiasFilter {
  Filter filter;
  Real step, stretch, support;  // the distance from the center beyond which nothing counts
};
template <class Real>
constexpr AntialiasFilter<Real> antialias_filter(Filter filter, Real step) {
  step = std::min(step, Real(0x1p1000));  // that of a scale next to 0 is infinite
  const Real stretch = std::max(step, Real(1));
  return {filter, step, stretch,
          stretch * (filter == Filter::kLinearAntialias  ? 1
                     : filter == Filter::kCubicAntialias ? 2
                                                         : 3)};
}

template <class Real>
struct AntialiasPlace {
  int64_t begin, end;
  Real center;
};
template <class Real>
constexpr AntialiasPlace<Real> antialias_place(const AntialiasFilter<Real>& f, int64_t size, int64_t i) {
  const Real in = static_cast<Real>(size), half = Real(0.5);
  const Real center = std::min(f.step * (static_cast<Real>(i) + half), in + f.support);
  const int64_t begin = static_cast<int64_t>(std::clamp(center - f.support + half, Real(0), in - 1));
  const int64_t end = static_cast<int64_t>(std::clamp(center + f.support + half, static_cast<Real>(begin + 1), in));
  return {begin, end, center};
}
// Before it is divided by the sum of all of the place.
template <class Real>
constexpr Real antialias_weight(const AntialiasFilter<Real>& f, const AntialiasPlace<Real>& place, int64_t j) {
  constexpr Real kPi = Real(3.14159265358979323846);
  const Real x = (static_cast<Real>(j) - place.center + Real(0.5)) / f.stretch, distance = x < 0 ? -x : x;
  if (f.filter == Filter::kLinearAntialias) return std::max(Real(0), 1 - distance);
  if (f.filter == Filter::kCubicAntialias) return cubic_filter(x, Real(-0.5));
  if (distance >= 3) return 0;
  if (x == 0) return 1;
  const Real third = x / 3;
  return std::sin(kPi * x) / (kPi * x) * (std::sin(kPi * third) / (kPi * third));
}

// The most fractional bits that 16-bit weights of at most `most` have room for, up to 21, as image libraries take.
template <class Real>
constexpr int weight_bits(Real most) {
  int bits = 1;
  while (bits < 21 && static_cast<int>(Real(0.5) + most * static_cast<Real>(1 << (bits + 1))) < (1 << 15)) ++bits;
  return bits;
}

}  // namespace at::native
