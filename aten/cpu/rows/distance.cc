#include "aten/cpu/rows/distance.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/rows/distance.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/rows/rows-inl.h"
#include "aten/cpu/vec_math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

using Kind = DistanceNorm::Kind;

// sum + the part of the norm that a difference is; of kInf the greater.
template <Kind kKind, class D>
HWY_INLINE hn::Vec<D> joined(D d, hn::Vec<D> sum, hn::Vec<D> difference, const DistanceNorm& norm) {
  if constexpr (kKind == Kind::kTwo) return hn::MulAdd(difference, difference, sum);
  const auto a = hn::Abs(difference);
  if constexpr (kKind == Kind::kZero) {
    return hn::Add(sum, hn::IfThenElseZero(hn::Ne(difference, hn::Zero(d)), hn::Set(d, hn::TFromD<D>(1))));
  } else if constexpr (kKind == Kind::kOne) {
    return hn::Add(sum, a);
  } else if constexpr (kKind == Kind::kInf) {
    // A NaN comes in by the first comparison and stays by the second.
    return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Gt(a, sum)), a, sum);
  } else if constexpr (kKind == Kind::kWhole) {
    return hn::Add(sum, whole_power(difference, norm.whole));
  } else if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    return hn::Add(sum, vm::exp2(d, hn::Mul(hn::Set(d, static_cast<float>(norm.p)), vm::log2(d, a))));
  } else {
    HWY_ALIGN double lanes[HWY_MAX_BYTES / sizeof(double)];
    hn::Store(a, d, lanes);
    for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = std::pow(lanes[i], norm.p);
    return hn::Add(sum, hn::Load(d, lanes));
  }
}

template <Kind kKind, class D>
HWY_INLINE hn::Vec<D> total(D d, hn::Vec<D> a, hn::Vec<D> b) {
  if constexpr (kKind == Kind::kInf) return hn::IfThenElse(hn::Or(hn::IsNaN(b), hn::Gt(b, a)), b, a);
  return hn::Add(a, b);
}

// kRows rows of x against two vectors of columns, packed[k] after packed[k - 1].
template <Kind kKind, int kRows, class T>
HWY_INLINE void distance_tile(const T* HWY_RESTRICT x, const T* HWY_RESTRICT packed, int64_t width,
                              const DistanceNorm& norm, T* out, int64_t out_stride) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t kBlock = 256;
  for (int64_t from = 0; from == 0 || from < width; from += kBlock) {
    const int64_t end = width - from < kBlock ? width : from + kBlock;
    hn::Vec<decltype(d)> low0 = hn::Zero(d), high0 = low0, low1 = low0, high1 = low0, low2 = low0, high2 = low0,
                         low3 = low0, high3 = low0;
    for (int64_t k = from; k < end; ++k) {
      const auto low = hn::LoadU(d, packed + 2 * lanes * k), high = hn::LoadU(d, packed + 2 * lanes * k + lanes);
      const auto step = [&](int row, auto& a, auto& b) HWY_ATTR {
        const auto v = hn::Set(d, x[row * width + k]);
        a = joined<kKind>(d, a, hn::Sub(v, low), norm);
        b = joined<kKind>(d, b, hn::Sub(v, high), norm);
      };
      step(0, low0, high0);
      if constexpr (kRows > 1) {
        step(1, low1, high1);
        step(2, low2, high2);
        step(3, low3, high3);
      }
    }
    const auto put = [&](int row, auto a, auto b) HWY_ATTR {
      T* to = out + row * out_stride;
      if (from > 0) a = total<kKind>(d, hn::LoadU(d, to), a), b = total<kKind>(d, hn::LoadU(d, to + lanes), b);
      if (kKind == Kind::kTwo && end == width) a = hn::Sqrt(a), b = hn::Sqrt(b);
      hn::StoreU(a, d, to);
      hn::StoreU(b, d, to + lanes);
    };
    put(0, low0, high0);
    if constexpr (kRows > 1) {
      put(1, low1, high1);
      put(2, low2, high2);
      put(3, low3, high3);
    }
  }
}

template <Kind kKind, class T>
void distances_of(const T* x, int64_t x_rows, const T* y, int64_t y_rows, int64_t width, const DistanceNorm& norm,
                  T* packed, T* out, int64_t out_stride) {
  const hn::ScalableTag<T> d;
  const int64_t panel = 2 * static_cast<int64_t>(hn::Lanes(d));
  static_assert(2 * hn::MaxLanes(hn::ScalableTag<T>()) <= kDistancePanel);
  for (int64_t j = 0; j < y_rows; j += panel) {
    const int64_t n = y_rows - j < panel ? y_rows - j : panel;
    for (int64_t k = 0; k < width; ++k) {
      for (int64_t c = 0; c < n; ++c) packed[k * panel + c] = y[(j + c) * width + k];
      for (int64_t c = n; c < panel; ++c) packed[k * panel + c] = T(0);
    }
    HWY_ALIGN T edge[4 * kDistancePanel];
    for (int64_t i = 0; i < x_rows;) {
      const int64_t rows = x_rows - i >= 4 ? 4 : 1;
      T* to = n == panel ? out + i * out_stride + j : edge;
      const int64_t to_stride = n == panel ? out_stride : panel;
      if (rows == 4) {
        distance_tile<kKind, 4>(x + i * width, packed, width, norm, to, to_stride);
      } else {
        distance_tile<kKind, 1>(x + i * width, packed, width, norm, to, to_stride);
      }
      for (int64_t r = 0; n < panel && r < rows; ++r) {
        for (int64_t c = 0; c < n; ++c) out[(i + r) * out_stride + j + c] = edge[r * panel + c];
      }
      i += rows;
    }
  }
}

template <class T>
void distances_impl(const T* x, int64_t x_rows, const T* y, int64_t y_rows, int64_t width, const DistanceNorm& norm,
                    T* packed, T* out, int64_t out_stride) {
  switch (norm.kind) {
    case Kind::kZero: return distances_of<Kind::kZero>(x, x_rows, y, y_rows, width, norm, packed, out, out_stride);
    case Kind::kOne: return distances_of<Kind::kOne>(x, x_rows, y, y_rows, width, norm, packed, out, out_stride);
    case Kind::kTwo: return distances_of<Kind::kTwo>(x, x_rows, y, y_rows, width, norm, packed, out, out_stride);
    case Kind::kInf: return distances_of<Kind::kInf>(x, x_rows, y, y_rows, width, norm, packed, out, out_stride);
    case Kind::kWhole: return distances_of<Kind::kWhole>(x, x_rows, y, y_rows, width, norm, packed, out, out_stride);
    default: return distances_of<Kind::kPower>(x, x_rows, y, y_rows, width, norm, packed, out, out_stride);
  }
}

template <class T>
bool from_products_impl(T* row, int64_t n, T x_square, const T* y_squares) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto x2 = hn::Set(d, x_square), two = hn::Set(d, T(2)), least = hn::Set(d, T(0.125)), lost = hn::Set(d, T(-1));
  const auto result = [&](auto product, auto y2, auto& good) HWY_ATTR {
    const auto sum = hn::Add(x2, y2), square = hn::NegMulAdd(two, product, sum);
    good = hn::Ge(square, hn::Mul(least, sum));  // not so for NaN
    return hn::IfThenElse(good, hn::Sqrt(square), lost);
  };
  bool all = true;
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    auto good = hn::FirstN(d, 0);
    hn::StoreU(result(hn::LoadU(d, row + j), hn::LoadU(d, y_squares + j), good), d, row + j);
    all = all && hn::AllTrue(d, good);
  }
  if (j < n) {
    auto good = hn::FirstN(d, 0);
    const auto v = result(load_part(d, row + j, n - j, T(0)), load_part(d, y_squares + j, n - j, T(1)), good);
    store_part(d, v, row + j, n - j);
    all = all && hn::AllTrue(d, hn::Or(good, hn::Not(hn::FirstN(d, static_cast<size_t>(n - j)))));
  }
  return all;
}

template <class T>
void products_impl(const T* x, const T* y, int64_t n, double* out) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  out[0] = out[1] = out[2] = 0;
  while (n > 0) {
    const int64_t m = n < kSumBlock ? n : kSumBlock;
    auto xy0 = hn::Zero(d), xx0 = xy0, yy0 = xy0, xy1 = xy0, xx1 = xy0, yy1 = xy0;
    const auto add = [](auto a, auto b, auto& xy, auto& xx, auto& yy) HWY_ATTR {
      xy = hn::MulAdd(a, b, xy);
      xx = hn::MulAdd(a, a, xx);
      yy = hn::MulAdd(b, b, yy);
    };
    int64_t i = 0;
    for (; i + 2 * lanes <= m; i += 2 * lanes) {
      add(hn::LoadU(d, x + i), hn::LoadU(d, y + i), xy0, xx0, yy0);
      add(hn::LoadU(d, x + i + lanes), hn::LoadU(d, y + i + lanes), xy1, xx1, yy1);
    }
    for (; i + lanes <= m; i += lanes) add(hn::LoadU(d, x + i), hn::LoadU(d, y + i), xy0, xx0, yy0);
    if (i < m) add(load_part(d, x + i, m - i, T(0)), load_part(d, y + i, m - i, T(0)), xy1, xx1, yy1);
    out[0] += static_cast<double>(lane_sum(d, hn::Add(xy0, xy1)));
    out[1] += static_cast<double>(lane_sum(d, hn::Add(xx0, xx1)));
    out[2] += static_cast<double>(lane_sum(d, hn::Add(yy0, yy1)));
    x += m;
    y += m;
    n -= m;
  }
}

void distances_float(const float* x, int64_t x_rows, const float* y, int64_t y_rows, int64_t width,
                     const DistanceNorm& norm, float* packed, float* out, int64_t out_stride) {
  distances_impl(x, x_rows, y, y_rows, width, norm, packed, out, out_stride);
}
void distances_double(const double* x, int64_t x_rows, const double* y, int64_t y_rows, int64_t width,
                      const DistanceNorm& norm, double* packed, double* out, int64_t out_stride) {
  distances_impl(x, x_rows, y, y_rows, width, norm, packed, out, out_stride);
}
bool from_products_float(float* row, int64_t n, float x2, const float* y2) {
  return from_products_impl(row, n, x2, y2);
}
bool from_products_double(double* row, int64_t n, double x2, const double* y2) {
  return from_products_impl(row, n, x2, y2);
}
void products_float(const float* x, const float* y, int64_t n, double* out) { products_impl(x, y, n, out); }
void products_double(const double* x, const double* y, int64_t n, double* out) { products_impl(x, y, n, out); }

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::cpu {

DistanceNorm::DistanceNorm(double exponent)
    : kind(Kind::kPower), whole(static_cast<int>(exponent < 17 ? exponent : 0)), p(exponent) {
  if (exponent == 0) {
    kind = Kind::kZero;
  } else if (exponent == 1) {
    kind = Kind::kOne;
  } else if (exponent == 2) {
    kind = Kind::kTwo;
  } else if (std::isinf(exponent)) {
    kind = Kind::kInf;
  } else if (exponent == whole) {
    kind = Kind::kWhole;
  }
}

template <>
void distances(const float* x, int64_t x_rows, const float* y, int64_t y_rows, int64_t width, const DistanceNorm& norm,
               float* packed, float* out, int64_t out_stride) {
  AT_ISA_FUNCTION(distances_float)(x, x_rows, y, y_rows, width, norm, packed, out, out_stride);
}
template <>
void distances(const double* x, int64_t x_rows, const double* y, int64_t y_rows, int64_t width,
               const DistanceNorm& norm, double* packed, double* out, int64_t out_stride) {
  AT_ISA_FUNCTION(distances_double)(x, x_rows, y, y_rows, width, norm, packed, out, out_stride);
}
template <>
bool distances_from_products(float* row, int64_t n, float x_square, const float* y_squares) {
  return AT_ISA_FUNCTION(from_products_float)(row, n, x_square, y_squares);
}
template <>
bool distances_from_products(double* row, int64_t n, double x_square, const double* y_squares) {
  return AT_ISA_FUNCTION(from_products_double)(row, n, x_square, y_squares);
}
template <>
void row_products(const float* x, const float* y, int64_t n, double* out) {
  AT_ISA_FUNCTION(products_float)(x, y, n, out);
}
template <>
void row_products(const double* x, const double* y, int64_t n, double* out) {
  AT_ISA_FUNCTION(products_double)(x, y, n, out);
}

}  // namespace at::cpu
#endif  // HWY_ONCE
