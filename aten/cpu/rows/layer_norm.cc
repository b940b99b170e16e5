// layer_norm_row, layer_norm_backward_row, layer_norm_weight_row.
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/rows/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/rows/layer_norm.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/rows/rows-inl.h"
// clang-format on

#ifndef ATEN_CPU_ROWS_LAYER_NORM_ONCE_
#define ATEN_CPU_ROWS_LAYER_NORM_ONCE_
namespace at::cpu {
template <class T>
struct LayerNormTable {
  void (*forward)(const T*, const T*, const T*, T*, int64_t, double, T*, T*);
  void (*backward)(const T*, const T*, const T*, T*, int64_t, T, T);
  void (*weight)(const T*, const T*, int64_t, T, T, T*, T*);
};
using LayerNormTables = RealTables<LayerNormTable>;
}  // namespace at::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

template <class T>
double squares_about(const T* x, int64_t n, T center) {
  return block_sum(x, n, center, [center](auto d, auto v) HWY_ATTR {
    const auto c = hn::Sub(v, hn::Set(d, center));
    return hn::Mul(c, c);
  });
}

template <class T>
void forward_impl(const T* x, const T* w, const T* b, T* y, int64_t n, double eps, T* mean, T* rstd) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const double count = static_cast<double>(n);
  double mu = block_sum(x, n, T{0}, [](auto, auto v) HWY_ATTR { return v; }) / count;
  T center = static_cast<T>(mu);
  // The squares are taken about the rounded mean; the correction removes what rounding it added.
  double off = mu - static_cast<double>(center);
  double square = squares_about(x, n, center);
  if (square != 0 && square < mu * mu * count * 0x1p-20) {
    // Nearly constant: the mean's own rounding shows beside the deviation, so it is found again from the distances.
    mu = static_cast<double>(center) + block_sum(x, n, center, [center](auto d, auto v) HWY_ATTR {
      return hn::Sub(v, hn::Set(d, center));
    }) / count;
    center = static_cast<T>(mu);
    off = mu - static_cast<double>(center);
    square = squares_about(x, n, center);
  }
  const double variance = square / count - off * off;
  const T scale = static_cast<T>(1 / std::sqrt((variance > 0 || variance != variance ? variance : 0) + eps));
  *mean = center;
  *rstd = scale;
  const auto m = hn::Set(d, center), r = hn::Set(d, scale);
  const auto one = hn::Set(d, T{1}), zero = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto xhat = hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), r);
    hn::StoreU(hn::MulAdd(xhat, w ? hn::LoadU(d, w + i) : one, b ? hn::LoadU(d, b + i) : zero), d, y + i);
  }
  for (; i < n; ++i) y[i] = (x[i] - center) * scale * (w ? w[i] : T{1}) + (b ? b[i] : T{0});
}

template <class T>
void backward_impl(const T* g, const T* x, const T* w, T* gx, int64_t n, T mean, T rstd) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto m = hn::Set(d, mean), r = hn::Set(d, rstd), one = hn::Set(d, T{1});
  double sum_g = 0, sum_gx = 0;
  for (int64_t i = 0; i < n;) {
    const int64_t end = n - i < kSumBlock ? n : i + kSumBlock;
    auto a = hn::Zero(d), c = a;
    for (; i + lanes <= end; i += lanes) {
      const auto gw = hn::Mul(hn::LoadU(d, g + i), w ? hn::LoadU(d, w + i) : one);
      a = hn::Add(a, gw);
      c = hn::MulAdd(gw, hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), r), c);
    }
    sum_g += static_cast<double>(lane_sum(d, a));
    sum_gx += static_cast<double>(lane_sum(d, c));
    for (; i < end; ++i) {
      const T gw = g[i] * (w ? w[i] : T{1});
      sum_g += static_cast<double>(gw);
      sum_gx += static_cast<double>(gw * ((x[i] - mean) * rstd));
    }
  }
  const T mean_g = static_cast<T>(sum_g / static_cast<double>(n)), mean_gx = static_cast<T>(sum_gx / static_cast<double>(n));
  const auto vg = hn::Set(d, mean_g), vgx = hn::Set(d, mean_gx);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto gw = hn::Mul(hn::LoadU(d, g + i), w ? hn::LoadU(d, w + i) : one);
    const auto xhat = hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), r);
    hn::StoreU(hn::Mul(r, hn::NegMulAdd(xhat, vgx, hn::Sub(gw, vg))), d, gx + i);
  }
  for (; i < n; ++i) gx[i] = rstd * (g[i] * (w ? w[i] : T{1}) - mean_g - (x[i] - mean) * rstd * mean_gx);
}

template <class T>
void weight_impl(const T* g, const T* x, int64_t n, T mean, T rstd, T* gw, T* gb) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto m = hn::Set(d, mean), r = hn::Set(d, rstd);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, g + i);
    if (gw) hn::StoreU(hn::MulAdd(v, hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), r), hn::LoadU(d, gw + i)), d, gw + i);
    if (gb) hn::StoreU(hn::Add(v, hn::LoadU(d, gb + i)), d, gb + i);
  }
  for (; i < n; ++i) {
    if (gw) gw[i] += g[i] * (x[i] - mean) * rstd;
    if (gb) gb[i] += g[i];
  }
}

const LayerNormTables* layer_norm_tables() {
  static constexpr LayerNormTables tables{{forward_impl<float>, backward_impl<float>, weight_impl<float>},
                                          {forward_impl<double>, backward_impl<double>, weight_impl<double>}};
  return &tables;
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::cpu {

namespace {
template <class T>
const LayerNormTable<T>& layer_norm_table() {
  return AT_ISA_FUNCTION(layer_norm_tables)()->template get<T>();
}
}  // namespace

template <class T>
void layer_norm_row(const T* x, const T* w, const T* b, T* y, int64_t n, double eps, T* mean, T* rstd) {
  layer_norm_table<T>().forward(x, w, b, y, n, eps, mean, rstd);
}
template <class T>
void layer_norm_backward_row(const T* g, const T* x, const T* w, T* gx, int64_t n, T mean, T rstd) {
  layer_norm_table<T>().backward(g, x, w, gx, n, mean, rstd);
}
template <class T>
void layer_norm_weight_row(const T* g, const T* x, int64_t n, T mean, T rstd, T* gw, T* gb) {
  layer_norm_table<T>().weight(g, x, n, mean, rstd, gw, gb);
}

#define ATEN_CPU_ROWS_LAYER_NORM(T)                                                                           \
  template void layer_norm_row(const T*, const T*, const T*, T*, int64_t, double, T*, T*);                    \
  template void layer_norm_backward_row(const T*, const T*, const T*, T*, int64_t, T, T);                     \
  template void layer_norm_weight_row(const T*, const T*, int64_t, T, T, T*, T*);
ATEN_CPU_ROWS_LAYER_NORM(float)
ATEN_CPU_ROWS_LAYER_NORM(double)
#undef ATEN_CPU_ROWS_LAYER_NORM

}  // namespace at::cpu
#endif  // HWY_ONCE
