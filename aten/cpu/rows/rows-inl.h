// Loads, stores and block walks shared by the rows_*.cc sources; included once per Highway target.
#if defined(ATEN_CPU_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_ROWS_INL_H_
#undef ATEN_CPU_ROWS_INL_H_
#else
#define ATEN_CPU_ROWS_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "aten/cpu/rows/rows.h"
#include "hwy/highway.h"
// clang-format off
#include "aten/cpu/support/narrow-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Compute = typename ComputeType<T>::type;
template <class T>
using Tag = hn::ScalableTag<Compute<T>>;

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D>* p) {
  return hn::LoadU(d, p);
}
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const c10::Half* p) {
  return LoadFloats(d, p);
}
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const c10::BFloat16* p) {
  return LoadFloats(d, p);
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> v, hn::TFromD<D>* p) {
  hn::StoreU(v, d, p);
}
template <class D>
HWY_INLINE void store(D d, hn::Vec<D> v, c10::Half* p) {
#if HWY_TARGET <= HWY_AVX2
  const hn::Rebind<hwy::float16_t, D> dh;
  hn::StoreU(hn::DemoteTo(dh, v), dh, reinterpret_cast<hwy::float16_t*>(p));
#else
  // Without F16C instructions Highway truncates; c10::Half rounds to nearest even.
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, buffer);
  for (size_t i = 0; i < hn::Lanes(d); ++i) p[i] = c10::Half(buffer[i]);
#endif
}
template <class D>
HWY_INLINE void store(D d, hn::Vec<D> v, c10::BFloat16* p) {
  StoreBFloat16(d, RoundedToBFloat16(d, v), reinterpret_cast<uint16_t*>(p));
}

// The first n < Lanes(d) elements of p; the other lanes hold `fill`.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_part(D d, const T* p, int64_t n, hn::TFromD<D> fill) {
#if HWY_TARGET <= HWY_AVX2
  // Masked loads touch nothing behind the mask from AVX2 on.
  if constexpr (sizeof(T) >= 4) {
    const auto part = hn::FirstN(d, static_cast<size_t>(n));
    return hn::IfThenElse(part, hn::MaskedLoad(part, d, p), hn::Set(d, fill));
  }
#endif
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)] = {};
  std::memcpy(buffer, p, static_cast<size_t>(n) * sizeof(T));
  return hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(n)), load(d, buffer), hn::Set(d, fill));
}
template <class D, class T>
HWY_INLINE void store_part(D d, hn::Vec<D> v, T* p, int64_t n) {
#if HWY_TARGET <= HWY_AVX2
  if constexpr (sizeof(T) >= 4) return hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, p);
#endif
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)];
  store(d, v, buffer);
  std::memcpy(p, buffer, static_cast<size_t>(n) * sizeof(T));
}

template <class D>
HWY_INLINE hn::TFromD<D> lane_sum(D d, hn::Vec<D> v) {
  return hn::GetLane(hn::SumOfLanes(d, v));
}

// |v| to the power of a whole number of at least 1, by squares.
template <class V>
HWY_INLINE V whole_power(V v, int exponent) {
  auto base = hn::Abs(v), power = base;
  for (int rest = exponent - 1; rest > 0; rest /= 2) {
    if (rest % 2 == 1) power = hn::Mul(power, base);
    base = hn::Mul(base, base);
  }
  return power;
}

// sum + error, an unevaluated pair: exact addition of doubles (Knuth, TAOCP 2, 4.2.2).
struct CompensatedSum {
  double sum = 0, error = 0;
  HWY_INLINE void add(double v) {
    const double t = sum + v;
    const double back = t - sum;
    error += (sum - (t - back)) + (v - back);
    sum = t;
  }
  HWY_INLINE double value() const { return std::isfinite(sum) ? sum + error : sum; }
};

inline constexpr int64_t kSumBlock = 1024;

// sum_i map(x[i]): block sums in the compute type, blocks in double. map(0-filled tail lanes are masked by the caller's
// choice of `fill` with map(fill) == 0).
template <class T, class Map>
HWY_INLINE double block_sum(const T* x, int64_t n, Compute<T> fill, const Map& map) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  CompensatedSum total;
  while (n > 0) {
    const int64_t m = n < kSumBlock ? n : kSumBlock;
    auto a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0;
    int64_t i = 0;
    for (; i + 4 * lanes <= m; i += 4 * lanes) {
      a0 = hn::Add(a0, map(d, load(d, x + i)));
      a1 = hn::Add(a1, map(d, load(d, x + i + lanes)));
      a2 = hn::Add(a2, map(d, load(d, x + i + 2 * lanes)));
      a3 = hn::Add(a3, map(d, load(d, x + i + 3 * lanes)));
    }
    for (; i + lanes <= m; i += lanes) a0 = hn::Add(a0, map(d, load(d, x + i)));
    if (i < m) a1 = hn::Add(a1, map(d, load_part(d, x + i, m - i, fill)));
    total.add(static_cast<double>(lane_sum(d, hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)))));
    x += m;
    n -= m;
  }
  return total.value();
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#endif
