#pragma once
// What a sampled grid reads from an image, and with what weights: formulas for every device's kernels.

#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace at::native {

enum class SamplingMode : int64_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum class SamplingPadding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

inline constexpr int kMostGridTaps = 16;

struct Sampling {
  int dims = 2;
  SamplingMode mode = SamplingMode::kBilinear;
  SamplingPadding padding = SamplingPadding::kZeros;
  bool align_corners = false;
  int64_t batch = 0, channels = 0, places = 0;
  std::array<int64_t, 3> size{1, 1, 1};  // of the input: width, height, depth, as a grid counts
  constexpr int64_t plane() const { return size[0] * size[1] * size[2]; }
  constexpr int taps() const {
    return mode == SamplingMode::kNearest ? 1 : mode == SamplingMode::kBicubic ? 16 : 1 << dims;
  }
};

namespace sampling {

// A coordinate and its derivative by the grid's number.
template <class C>
struct Coordinate {
  C at, slope;
};

template <class C>
constexpr Coordinate<C> unnormalized(const Sampling& s, C grid, int64_t size) {
  const C n = static_cast<C>(size);
  if (s.align_corners) return {(grid + 1) / 2 * (n - 1), (n - 1) / 2};
  return {((grid + 1) * n - 1) / 2, n / 2};
}

template <class C>
constexpr Coordinate<C> clipped(Coordinate<C> c, int64_t size) {
  const C last = static_cast<C>(size - 1);
  if (!(c.at > 0)) return {0, 0};  // also NaN
  if (c.at >= last) return {last, 0};
  return c;
}

// Folded at the centers of the outermost elements (align_corners), or at their outer edges.
template <class C>
constexpr Coordinate<C> reflected(Coordinate<C> c, int64_t size, bool align_corners) {
  const C low = align_corners ? 0 : C(-0.5), span = static_cast<C>(align_corners ? size - 1 : size);
  if (span == 0) return {0, 0};
  C at = c.at - low, slope = c.slope;
  if (at < 0) at = -at, slope = -slope;
  const C rest = std::fmod(at, span), flips = std::floor(at / span);
  if (std::fmod(flips, C(2)) == 0) return {rest + low, slope};
  return {span - rest + low, -slope};
}

template <class C>
constexpr Coordinate<C> padded(const Sampling& s, Coordinate<C> c, int64_t size) {
  if (s.padding == SamplingPadding::kBorder) return clipped(c, size);
  if (s.padding == SamplingPadding::kReflection) return clipped(reflected(c, size, s.align_corners), size);
  return c;
}

// What a coordinate reads in its dimension: up to four neighbours, -1 where there is none, with weights and their
// derivatives.
template <class C>
struct AxisTaps {
  int64_t index[4];
  C weight[4], slope[4], curve[4];  // the second derivatives
};

// The integer that a coordinate of any size stands for, or -2 beyond the input on either side.
template <class C>
constexpr int64_t whole(C v, int64_t size) {
  return v >= -1 && v <= static_cast<C>(size) ? static_cast<int64_t>(v) : -2;
}
constexpr int64_t inside_or_none(int64_t i, int64_t size) {
  return i >= 0 && i < size ? i : -1;
}

// The element that is nearest to v, halves to the even one, and the one before v: without calls where v is near the
// input; far from it, or NaN, -2.
template <class C>
constexpr int64_t nearest(C v, int64_t size) {
  if (size >= (int64_t{1} << 21)) return whole(std::nearbyint(v), size);
  if (!(v >= -1 && v <= static_cast<C>(size))) return -2;
  constexpr C kWholes = std::is_same_v<C, double> ? C(0x1.8p52) : C(0x1.8p23);  // numbers of this size have no fraction
  return static_cast<int64_t>((v + kWholes) - kWholes);
}
template <class C>
constexpr int64_t before(C v, int64_t size) {
  if (!(v >= -1 && v <= static_cast<C>(size))) return -2;
  const auto i = static_cast<int64_t>(v);
  return i - static_cast<int64_t>(static_cast<C>(i) > v);
}

// Keys' cubic convolution kernel with a = -0.75 and its derivatives, at a distance of either sign.
template <class C>
constexpr void cubic(C x, C* value, C* slope, C* curve) {
  constexpr C a = C(-0.75);
  const C t = std::abs(x), sign = x < 0 ? C(-1) : C(1);
  *value = t < 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : a * (((t - 5) * t + 8) * t - 4);
  *slope = sign * (t < 1 ? (3 * (a + 2) * t - 2 * (a + 3)) * t : a * ((3 * t - 10) * t + 8));
  *curve = t < 1 ? 6 * (a + 2) * t - 2 * (a + 3) : a * (6 * t - 10);
}

// kSide taps: one is nearest, two are linear, four cubic.
template <int kSide, class C>
constexpr void find_taps(const Sampling& s, C grid, int64_t size, AxisTaps<C>& taps) {
  Coordinate<C> c = unnormalized(s, grid, size);
  if constexpr (kSide == 4) {
    const C left = std::floor(c.at), part = c.at - left;
    for (int k = 0; k < 4; ++k) {
      cubic(part - static_cast<C>(k - 1), &taps.weight[k], &taps.slope[k], &taps.curve[k]);
      taps.slope[k] *= c.slope, taps.curve[k] *= c.slope * c.slope;
      const C at = padded(s, Coordinate<C>{left + static_cast<C>(k - 1), 0}, size).at;
      taps.index[k] = inside_or_none(whole(at, size), size);
    }
    return;
  }
  c = padded(s, c, size);
  if constexpr (kSide == 1) {
    taps.index[0] = inside_or_none(nearest(c.at, size), size);
    return;
  }
  const int64_t i = before(c.at, size);
  const C part = c.at - static_cast<C>(i);
  taps.index[0] = inside_or_none(i, size), taps.index[1] = inside_or_none(i + 1, size);
  taps.weight[0] = 1 - part, taps.weight[1] = part;
  taps.slope[0] = -c.slope, taps.slope[1] = c.slope;
}

// A weight and its derivatives, or, with a direction v in which the grid moves, the same of the weight's derivative
// along it.
template <class C>
struct TapWeight {
  C weight, slope[3];
  constexpr TapWeight(const AxisTaps<C>* axis, const int* k, const C* v) {
    const auto product = [&](const int* order) {
      C value = 1;
      for (int d = 0; d < 3; ++d) {
        const AxisTaps<C>& a = axis[d];
        value *= order[d] == 0 ? a.weight[k[d]] : order[d] == 1 ? a.slope[k[d]] : a.curve[k[d]];
      }
      return value;
    };
    int order[3] = {0, 0, 0};
    weight = v == nullptr ? product(order) : C(0);
    for (int d = 0; d < 3; ++d) {
      ++order[d];
      slope[d] = v == nullptr ? product(order) : C(0);
      if (v != nullptr) {
        weight += v[d] * product(order);
        for (int e = 0; e < 3; ++e) {
          ++order[e];
          slope[d] += v[e] * product(order);
          --order[e];
        }
      }
      --order[d];
    }
  }
};

}  // namespace sampling

}  // namespace at::native
