// normalize_run, normalize_row, gradient_sums_run, gradient_sums_rows, gradient_run, gradient_row.
#include "aten/cpu/rows/batch_norm.h"
#include "aten/cpu/rows/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/rows/batch_norm.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/rows/rows-inl.h"
// clang-format on

#ifndef ATEN_CPU_ROWS_BATCH_NORM_ONCE_
#define ATEN_CPU_ROWS_BATCH_NORM_ONCE_
namespace at::cpu {
template <class T>
struct BatchNormTable {
  using C = typename ComputeType<T>::type;
  void (*normalize_run)(const T*, T*, int64_t, Affine<C>);
  void (*normalize_row)(const T*, T*, int64_t, Affine<const C*>);
  void (*sums_run)(const T*, const T*, int64_t, C, double*, double*);
  void (*sums_rows)(const T*, const T*, int64_t, int64_t, const C*, double*, double*);
  void (*gradient_run)(const T*, const T*, T*, int64_t, ChannelGradient<C>);
  void (*gradient_row)(const T*, const T*, T*, int64_t, ChannelGradient<const C*>);
};
using BatchNormTables = FloatingTables<BatchNormTable>;
}  // namespace at::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

// One number for all elements, or one for each, of which the first n < Lanes(d) may be all there are.
template <class D>
HWY_INLINE hn::Vec<D> take(D d, hn::TFromD<D> number, int64_t) {
  return hn::Set(d, number);
}
template <class D>
HWY_INLINE hn::Vec<D> take(D d, const hn::TFromD<D>* numbers, int64_t i) {
  return hn::LoadU(d, numbers + i);
}
template <class D>
HWY_INLINE hn::Vec<D> take_part(D d, hn::TFromD<D> number, int64_t, int64_t) {
  return hn::Set(d, number);
}
template <class D>
HWY_INLINE hn::Vec<D> take_part(D d, const hn::TFromD<D>* numbers, int64_t i, int64_t n) {
  return load_part(d, numbers + i, n, hn::TFromD<D>{0});
}

template <class T, class Numbers>
void normalize(const T* x, T* y, int64_t n, Affine<Numbers> a) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto centred = hn::Sub(load(d, x + i), take(d, a.mean, i));
    store(d, hn::MulAdd(centred, take(d, a.scale, i), take(d, a.shift, i)), y + i);
  }
  if (i < n) {
    const int64_t m = n - i;
    const auto centred = hn::Sub(load_part(d, x + i, m, Compute<T>{0}), take_part(d, a.mean, i, m));
    store_part(d, hn::MulAdd(centred, take_part(d, a.scale, i, m), take_part(d, a.shift, i, m)), y + i, m);
  }
}

template <class T>
void sums_run(const T* g, const T* x, int64_t n, Compute<T> mean, double* sum_g, double* sum_gx) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto m = hn::Set(d, mean);
  for (int64_t i = 0; i < n;) {
    const int64_t end = n - i < kSumBlock ? n : i + kSumBlock;
    auto a0 = hn::Zero(d), a1 = a0, b0 = a0, b1 = a0;
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      const auto g0 = load(d, g + i), g1 = load(d, g + i + lanes);
      a0 = hn::Add(a0, g0);
      a1 = hn::Add(a1, g1);
      b0 = hn::MulAdd(g0, hn::Sub(load(d, x + i), m), b0);
      b1 = hn::MulAdd(g1, hn::Sub(load(d, x + i + lanes), m), b1);
    }
    for (; i < end; i += lanes) {
      const int64_t left = end - i;
      const auto gi = left < lanes ? load_part(d, g + i, left, Compute<T>{0}) : load(d, g + i);
      const auto xi = left < lanes ? load_part(d, x + i, left, mean) : load(d, x + i);
      a0 = hn::Add(a0, gi);
      b0 = hn::MulAdd(gi, hn::Sub(xi, m), b0);
    }
    i = end;
    *sum_g += static_cast<double>(lane_sum(d, hn::Add(a0, a1)));
    *sum_gx += static_cast<double>(lane_sum(d, hn::Add(b0, b1)));
  }
}

// kVectors neighbouring vectors of channels, of which the last may have n < Lanes(d) (else 0), over rows `stride`
// elements apart.
template <int kVectors, class T>
HWY_INLINE void sums_block(const T* g, const T* x, int64_t rows, int64_t stride, int64_t n, const Compute<T>* mean,
                           double* sum_g, double* sum_gx) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t kRows = 64;  // added in the compute type, blocks of them in double
  HWY_ALIGN Compute<T> part[HWY_MAX_BYTES / sizeof(Compute<T>)];
  const auto in = [&](auto* p) HWY_ATTR { return n != 0 ? load_part(d, p, n, Compute<T>{0}) : load(d, p); };
  const auto add = [&](hn::Vec<Tag<T>> v, double* to) HWY_ATTR {
    hn::Store(v, d, part);
    for (int64_t i = 0; i < (n != 0 ? n : lanes); ++i) to[i] += static_cast<double>(part[i]);
  };
  for (int64_t left = rows; left > 0; left -= kRows) {
    hn::Vec<Tag<T>> m[kVectors], a[kVectors], b[kVectors];
    for (int k = 0; k < kVectors; ++k) {
      m[k] = in(mean + k * lanes);
      a[k] = b[k] = hn::Zero(d);
    }
    for (int64_t i = left < kRows ? left : kRows; i > 0; --i, g += stride, x += stride) {
      for (int k = 0; k < kVectors; ++k) {
        const auto v = in(g + k * lanes);
        a[k] = hn::Add(a[k], v);
        b[k] = hn::MulAdd(v, hn::Sub(in(x + k * lanes), m[k]), b[k]);
      }
    }
    for (int k = 0; k < kVectors; ++k) {
      add(a[k], sum_g + k * lanes);
      add(b[k], sum_gx + k * lanes);
    }
  }
}

template <class T>
void sums_rows(const T* g, const T* x, int64_t rows, int64_t cols, const Compute<T>* mean, double* sum_g,
               double* sum_gx) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  const auto block = [&](auto vectors, int64_t n) HWY_ATTR {
    sums_block<decltype(vectors)::value>(g + j, x + j, rows, cols, n, mean + j, sum_g + j, sum_gx + j);
  };
  for (; j + 4 * lanes <= cols; j += 4 * lanes) block(std::integral_constant<int, 4>(), 0);
  for (; j + lanes <= cols; j += lanes) block(std::integral_constant<int, 1>(), 0);
  if (j < cols) block(std::integral_constant<int, 1>(), cols - j);
}

template <class T, class Numbers>
void gradient(const T* g, const T* x, T* gx, int64_t n, ChannelGradient<Numbers> c) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto centred = hn::Sub(load(d, x + i), take(d, c.mean, i));
    const auto straight = hn::MulSub(load(d, g + i), take(d, c.scale, i), take(d, c.offset, i));
    store(d, hn::NegMulAdd(centred, take(d, c.slope, i), straight), gx + i);
  }
  if (i < n) {
    const int64_t m = n - i;
    const auto centred = hn::Sub(load_part(d, x + i, m, Compute<T>{0}), take_part(d, c.mean, i, m));
    const auto straight =
        hn::MulSub(load_part(d, g + i, m, Compute<T>{0}), take_part(d, c.scale, i, m), take_part(d, c.offset, i, m));
    store_part(d, hn::NegMulAdd(centred, take_part(d, c.slope, i, m), straight), gx + i, m);
  }
}

template <class T>
constexpr BatchNormTable<T> batch_norm_entries() {
  using C = Compute<T>;
  return {normalize<T, C>, normalize<T, const C*>, sums_run<T>, sums_rows<T>, gradient<T, C>, gradient<T, const C*>};
}

const BatchNormTables* batch_norm_tables() {
  static constexpr BatchNormTables tables{{batch_norm_entries<float>(), batch_norm_entries<double>()},
                                          batch_norm_entries<c10::Half>(),
                                          batch_norm_entries<c10::BFloat16>()};
  return &tables;
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::cpu {

namespace {
template <class T>
const BatchNormTable<T>& batch_norm_table() {
  return AT_ISA_FUNCTION(batch_norm_tables)()->template get<T>();
}
template <class T>
using ComputeOf = typename ComputeType<T>::type;
}  // namespace

template <class T>
void normalize_run(const T* x, T* y, int64_t n, Affine<ComputeOf<T>> a) {
  batch_norm_table<T>().normalize_run(x, y, n, a);
}
template <class T>
void normalize_row(const T* x, T* y, int64_t n, Affine<const ComputeOf<T>*> a) {
  batch_norm_table<T>().normalize_row(x, y, n, a);
}
template <class T>
void gradient_sums_run(const T* g, const T* x, int64_t n, ComputeOf<T> mean, double* sum_g, double* sum_gx) {
  batch_norm_table<T>().sums_run(g, x, n, mean, sum_g, sum_gx);
}
template <class T>
void gradient_sums_rows(
    const T* g, const T* x, int64_t rows, int64_t cols, const ComputeOf<T>* mean, double* sum_g, double* sum_gx) {
  batch_norm_table<T>().sums_rows(g, x, rows, cols, mean, sum_g, sum_gx);
}
template <class T>
void gradient_run(const T* g, const T* x, T* gx, int64_t n, ChannelGradient<ComputeOf<T>> c) {
  batch_norm_table<T>().gradient_run(g, x, gx, n, c);
}
template <class T>
void gradient_row(const T* g, const T* x, T* gx, int64_t n, ChannelGradient<const ComputeOf<T>*> c) {
  batch_norm_table<T>().gradient_row(g, x, gx, n, c);
}

#define ATEN_CPU_ROWS_BATCH_NORM(T)                                                                              \
  template void normalize_run(const T*, T*, int64_t, Affine<ComputeOf<T>>);                                      \
  template void normalize_row(const T*, T*, int64_t, Affine<const ComputeOf<T>*>);                               \
  template void gradient_sums_run(const T*, const T*, int64_t, ComputeOf<T>, double*, double*);                  \
  template void gradient_sums_rows(const T*, const T*, int64_t, int64_t, const ComputeOf<T>*, double*, double*); \
  template void gradient_run(const T*, const T*, T*, int64_t, ChannelGradient<ComputeOf<T>>);                    \
  template void gradient_row(const T*, const T*, T*, int64_t, ChannelGradient<const ComputeOf<T>*>);
ATEN_CPU_ROWS_BATCH_NORM(float)
ATEN_CPU_ROWS_BATCH_NORM(double)
ATEN_CPU_ROWS_BATCH_NORM(c10::Half)
ATEN_CPU_ROWS_BATCH_NORM(c10::BFloat16)
#undef ATEN_CPU_ROWS_BATCH_NORM

}  // namespace at::cpu
#endif  // HWY_ONCE
