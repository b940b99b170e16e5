// combine_rows, resample_row, their integer forms, and weighted sums of pixels.
#include "aten/cpu/resample/resample.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/resample/resample.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/rows/rows-inl.h"
// clang-format on

#ifndef ATEN_CPU_RESAMPLE_ONCE_
#define ATEN_CPU_RESAMPLE_ONCE_
namespace at::cpu {
template <class From, class To>
struct ResampleTable {
  using C = typename ComputeType<From>::type;
  void (*combine)(const From* const*, const C*, int64_t, To*, int64_t);
  void (*resample)(const From*, const RowTaps<C>&, To*);
};
// One for each pair of types, found by it.
struct ResampleTables : ResampleTable<float, float>,
                        ResampleTable<double, double>,
                        ResampleTable<c10::Half, float>,
                        ResampleTable<c10::BFloat16, float>,
                        ResampleTable<float, c10::Half>,
                        ResampleTable<float, c10::BFloat16> {};

template <class T>
struct PixelTable {
  using C = typename ComputeType<T>::type;
  void (*sample)(const T*, const PixelTaps<C>&, T*);
  void (*spread)(const T*, const PixelTaps<C>&, C*);
  void (*multiply)(const T*, const T*, const PixelTaps<C>&, C*);
};
struct PixelTables : PixelTable<float>, PixelTable<double>, PixelTable<c10::Half>, PixelTable<c10::BFloat16> {};
}  // namespace at::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

template <class From, class To>
void combine_impl(const From* const* rows, const Compute<From>* weight, int64_t count, To* y, int64_t n) {
  const Tag<From> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  if (count == 2) {
    const auto w0 = hn::Set(d, weight[0]), w1 = hn::Set(d, weight[1]);
    const From *x0 = rows[0], *x1 = rows[1];
    for (; i + lanes <= n; i += lanes) {
      store(d, hn::MulAdd(w1, load(d, x1 + i), hn::Mul(w0, load(d, x0 + i))), y + i);
    }
  }
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    auto a0 = hn::Zero(d), a1 = a0;
    for (int64_t k = 0; k < count; ++k) {
      const auto w = hn::Set(d, weight[k]);
      a0 = hn::MulAdd(w, load(d, rows[k] + i), a0);
      a1 = hn::MulAdd(w, load(d, rows[k] + i + lanes), a1);
    }
    store(d, a0, y + i);
    store(d, a1, y + i + lanes);
  }
  for (; i < n; i += lanes) {
    const int64_t m = n - i < lanes ? n - i : lanes;
    auto a = hn::Zero(d);
    for (int64_t k = 0; k < count; ++k) {
      a = hn::MulAdd(hn::Set(d, weight[k]), load_part(d, rows[k] + i, m, Compute<From>{0}), a);
    }
    store_part(d, a, y + i, m);
  }
}

template <class From>
HWY_INLINE Compute<From> tap_sum(const From* x, const RowTaps<Compute<From>>& taps, int64_t i) {
  Compute<From> sum = 0;
  for (int64_t k = taps.offset[i]; k < taps.offset[i + 1]; ++k) {
    sum += taps.weight[k] * static_cast<Compute<From>>(x[taps.index[k]]);
  }
  return sum;
}

template <class From, class To>
void uniform_row(const From* x, const RowTaps<Compute<From>>& taps, To* y) {
  using C = Compute<From>;
  const int64_t n = taps.n;
  int64_t i = 0;
  if constexpr (std::is_same_v<From, float>) {
    const Tag<From> d;
    const hn::RebindToSigned<Tag<From>> di;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    // Enlarging, a vector's taps lie within one vector of x, from which they are taken faster than from memory.
    const hn::RebindToUnsigned<Tag<From>> du;
    const auto within = hn::Set(du, static_cast<uint32_t>(lanes));
    bool near = taps.x_size >= lanes;
    for (; i + lanes <= n; i += lanes) {
      auto sum = hn::Zero(d);
      if (near) {
        const int32_t first = std::min(taps.index_by_tap[i], static_cast<int32_t>(taps.x_size - lanes));
        const auto window = hn::LoadU(d, x + first);
        for (int k = 0; k < taps.uniform; ++k) {
          const auto at = hn::Sub(hn::LoadU(di, taps.index_by_tap + k * n + i), hn::Set(di, first));
          near = near && hn::AllTrue(du, hn::Lt(hn::BitCast(du, at), within));
          if (!near) break;
          const auto tap = hn::TableLookupLanes(window, hn::IndicesFromVec(d, at));
          sum = hn::MulAdd(hn::LoadU(d, taps.weight_by_tap + k * n + i), tap, sum);
        }
        if (near) {
          store(d, sum, y + i);
          continue;
        }
        sum = hn::Zero(d);
      }
      for (int k = 0; k < taps.uniform; ++k) {
        const auto at = hn::LoadU(di, taps.index_by_tap + k * n + i);
        sum = hn::MulAdd(hn::LoadU(d, taps.weight_by_tap + k * n + i), hn::GatherIndex(d, x, at), sum);
      }
      store(d, sum, y + i);
    }
  }
  for (; i < n; ++i) {
    C sum = 0;
    for (int k = 0; k < taps.uniform; ++k) {
      sum += taps.weight_by_tap[k * n + i] * static_cast<C>(x[taps.index_by_tap[k * n + i]]);
    }
    y[i] = static_cast<To>(sum);
  }
}

template <class From, class To>
void resample_impl(const From* x, const RowTaps<Compute<From>>& taps, To* y) {
  if (taps.uniform != 0) return uniform_row(x, taps, y);
  for (int64_t i = 0; i < taps.n; ++i) y[i] = static_cast<To>(tap_sum(x, taps, i));
}

HWY_INLINE uint8_t rounded_byte(int32_t sum, int shift) {
  const int32_t v = sum >> shift;
  return static_cast<uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v);
}

void combine_bytes_impl(const uint8_t* const* rows, const int16_t* weight, int64_t count, int shift, uint8_t* y,
                        int64_t n) {
  const hn::ScalableTag<int32_t> d;
  const hn::Rebind<uint8_t, decltype(d)> db;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int32_t half = int32_t{1} << (shift - 1);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    auto sum = hn::Set(d, half);
    for (int64_t k = 0; k < count; ++k) {
      sum = hn::Add(sum, hn::Mul(hn::Set(d, int32_t{weight[k]}), hn::PromoteTo(d, hn::LoadU(db, rows[k] + i))));
    }
    hn::StoreU(hn::DemoteTo(db, hn::ShiftRightSame(sum, shift)), db, y + i);
  }
  for (; i < n; ++i) {
    int32_t sum = half;
    for (int64_t k = 0; k < count; ++k) sum += int32_t{weight[k]} * rows[k][i];
    y[i] = rounded_byte(sum, shift);
  }
}

void resample_bytes_impl(const uint8_t* x, const RowTaps<int16_t>& taps, int shift, uint8_t* y) {
  for (int64_t i = 0; i < taps.n; ++i) {
    int32_t sum = int32_t{1} << (shift - 1);
    for (int64_t k = taps.offset[i]; k < taps.offset[i + 1]; ++k) sum += int32_t{taps.weight[k]} * x[taps.index[k]];
    y[i] = rounded_byte(sum, shift);
  }
}

// f(d, first channel, channels of it) for vectors of channels, the last of which may be a part.
template <class T, class F>
HWY_INLINE void for_channels(int64_t channels, const F& f) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t c = 0; c < channels; c += lanes) f(d, c, channels - c < lanes ? channels - c : lanes);
}
template <class D, class T>
HWY_INLINE hn::Vec<D> load_channels(D d, const T* p, int64_t count) {
  return count == static_cast<int64_t>(hn::Lanes(d)) ? load(d, p) : load_part(d, p, count, hn::TFromD<D>{0});
}
template <class D, class T>
HWY_INLINE void store_channels(D d, hn::Vec<D> v, T* p, int64_t count) {
  if (count == static_cast<int64_t>(hn::Lanes(d))) return store(d, v, p);
  store_part(d, v, p, count);
}

template <class T>
void sample_pixels_impl(const T* x, const PixelTaps<Compute<T>>& taps, T* y) {
  for (int64_t b = 0; b < taps.n; ++b) {
    for_channels<T>(taps.channels, [&](auto d, int64_t c, int64_t count) HWY_ATTR {
      auto sum = hn::Zero(d);
      for (int k = 0; k < taps.count; ++k) {
        const int64_t tap = k * taps.n + b, pixel = taps.index[tap];
        if (pixel < 0) continue;
        sum = hn::MulAdd(hn::Set(d, taps.weight[tap]), load_channels(d, x + pixel * taps.step + c, count), sum);
      }
      store_channels(d, sum, y + b * taps.step + c, count);
    });
  }
}

template <class T>
void spread_pixels_impl(const T* g, const PixelTaps<Compute<T>>& taps, Compute<T>* y) {
  for (int64_t b = 0; b < taps.n; ++b) {
    for_channels<T>(taps.channels, [&](auto d, int64_t c, int64_t count) HWY_ATTR {
      const auto v = load_channels(d, g + b * taps.step + c, count);
      for (int k = 0; k < taps.count; ++k) {
        const int64_t tap = k * taps.n + b, pixel = taps.index[tap];
        if (pixel < 0) continue;
        Compute<T>* to = y + pixel * taps.step + c;
        const auto sum = hn::MulAdd(hn::Set(d, taps.weight[tap]), v, load_channels(d, to, count));
        store_channels(d, sum, to, count);
      }
    });
  }
}

template <class T>
void multiply_pixels_impl(const T* x, const T* g, const PixelTaps<Compute<T>>& taps, Compute<T>* products) {
  const Tag<T> d;
  for (int64_t b = 0; b < taps.n; ++b) {
    for (int k = 0; k < taps.count; ++k) {
      const int64_t tap = k * taps.n + b, pixel = taps.index[tap];
      auto sum = hn::Zero(d);
      if (pixel >= 0) {
        for_channels<T>(taps.channels, [&](auto dc, int64_t c, int64_t count) HWY_ATTR {
          sum = hn::MulAdd(load_channels(dc, x + pixel * taps.step + c, count),
                           load_channels(dc, g + b * taps.step + c, count), sum);
        });
      }
      products[tap] = lane_sum(d, sum);
    }
  }
}

template <class T>
constexpr PixelTable<T> pixel_table() {
  return {&sample_pixels_impl<T>, &spread_pixels_impl<T>, &multiply_pixels_impl<T>};
}
const PixelTables* pixel_tables() {
  static constexpr PixelTables tables{pixel_table<float>(), pixel_table<double>(), pixel_table<c10::Half>(),
                                      pixel_table<c10::BFloat16>()};
  return &tables;
}

template <class From, class To>
constexpr ResampleTable<From, To> table() {
  return {&combine_impl<From, To>, &resample_impl<From, To>};
}
const ResampleTables* resample_tables() {
  static constexpr ResampleTables tables{table<float, float>(),     table<double, double>(),
                                         table<c10::Half, float>(), table<c10::BFloat16, float>(),
                                         table<float, c10::Half>(), table<float, c10::BFloat16>()};
  return &tables;
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::cpu {
namespace {
template <class From, class To>
const ResampleTable<From, To>& resample_table() {
  return *AT_ISA_FUNCTION(resample_tables)();
}
}  // namespace

template <class From, class To>
void combine_rows(const From* const* rows, const typename ComputeType<From>::type* weight, int64_t count, To* y,
                  int64_t n) {
  resample_table<From, To>().combine(rows, weight, count, y, n);
}
template <class From, class To>
void resample_row(const From* x, const RowTaps<typename ComputeType<From>::type>& taps, To* y) {
  resample_table<From, To>().resample(x, taps, y);
}
void combine_byte_rows(const uint8_t* const* rows, const int16_t* weight, int64_t count, int shift, uint8_t* y,
                       int64_t n) {
  AT_ISA_FUNCTION(combine_bytes_impl)(rows, weight, count, shift, y, n);
}
void resample_byte_row(const uint8_t* x, const RowTaps<int16_t>& taps, int shift, uint8_t* y) {
  AT_ISA_FUNCTION(resample_bytes_impl)(x, taps, shift, y);
}

template <class T>
void sample_pixels(const T* x, const PixelTaps<typename ComputeType<T>::type>& taps, T* y) {
  static_cast<const PixelTable<T>*>(AT_ISA_FUNCTION(pixel_tables)())->sample(x, taps, y);
}
template <class T>
void spread_pixels(const T* g, const PixelTaps<typename ComputeType<T>::type>& taps, typename ComputeType<T>::type* y) {
  static_cast<const PixelTable<T>*>(AT_ISA_FUNCTION(pixel_tables)())->spread(g, taps, y);
}
template <class T>
void multiply_pixels(const T* x, const T* g, const PixelTaps<typename ComputeType<T>::type>& taps,
                     typename ComputeType<T>::type* products) {
  static_cast<const PixelTable<T>*>(AT_ISA_FUNCTION(pixel_tables)())->multiply(x, g, taps, products);
}

#define ATEN_CPU_PIXELS(T)                                                                           \
  template void sample_pixels(const T*, const PixelTaps<ComputeType<T>::type>&, T*);                 \
  template void spread_pixels(const T*, const PixelTaps<ComputeType<T>::type>&, ComputeType<T>::type*); \
  template void multiply_pixels(const T*, const T*, const PixelTaps<ComputeType<T>::type>&, ComputeType<T>::type*);
ATEN_CPU_PIXELS(float)
ATEN_CPU_PIXELS(double)
ATEN_CPU_PIXELS(c10::Half)
ATEN_CPU_PIXELS(c10::BFloat16)
#undef ATEN_CPU_PIXELS

#define ATEN_CPU_RESAMPLE(From, To)                                                                      \
  template void combine_rows(const From* const*, const ComputeType<From>::type*, int64_t, To*, int64_t); \
  template void resample_row(const From*, const RowTaps<ComputeType<From>::type>&, To*);
ATEN_CPU_RESAMPLE(float, float)
ATEN_CPU_RESAMPLE(double, double)
ATEN_CPU_RESAMPLE(c10::Half, float)
ATEN_CPU_RESAMPLE(c10::BFloat16, float)
ATEN_CPU_RESAMPLE(float, c10::Half)
ATEN_CPU_RESAMPLE(float, c10::BFloat16)
#undef ATEN_CPU_RESAMPLE

}  // namespace at::cpu
#endif  // HWY_ONCE
