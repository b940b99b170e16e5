// Loops over elements of quantized tensors.
#include "aten/quantized/element_loops.h"

#include <cmath>
#include <limits>
#include <type_traits>

#ifndef ATEN_QUANTIZED_ELEMENT_LOOPS_ZERO
#define ATEN_QUANTIZED_ELEMENT_LOOPS_ZERO
namespace at::quantized {
namespace {
// Zero points: whole numbers, near or far, or others.
enum class Zero { kNear, kFar, kBroken };
}  // namespace
}  // namespace at::quantized
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/quantized/element_loops.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/quantized/element_loops-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace at::quantized {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whole numbers, or NaN, as integers of T.
template <class T, class D>
HWY_INLINE void store_integers(D d, hn::Vec<D> whole, T* q) {
  const hn::Rebind<int32_t, D> di;
  const auto least = hn::Set(d, static_cast<float>(std::numeric_limits<T>::min()));
  const auto most = hn::Set(d, static_cast<float>(std::numeric_limits<T>::max()));
  if constexpr (sizeof(T) == 4) {
    // As a float `most` is one more than there is.
    const auto above = hn::RebindMask(di, hn::Ge(whole, most));
    const auto kept = hn::IfThenElse(hn::And(hn::Gt(whole, least), hn::Lt(whole, most)), whole, least);
    hn::StoreU(hn::IfThenElse(above, hn::Set(di, std::numeric_limits<T>::max()), hn::ConvertTo(di, kept)), di, q);
  } else {
    const hn::Rebind<T, D> dq;
    const auto kept = hn::Min(hn::IfThenElse(hn::Gt(whole, least), whole, least), most);
    hn::StoreU(hn::DemoteTo(dq, hn::ConvertTo(di, kept)), dq, q);
  }
}

// The same of numbers that are to be rounded, and then moved by a whole zero point that is near: bounds that are whole
// numbers stand before the rounding as well as behind it.
template <class T, class D>
HWY_INLINE void store_rounded(D d, hn::Vec<D> scaled, hn::Vec<D> zero, T* q) {
  if constexpr (sizeof(T) == 4) {
    store_integers(d, hn::Add(hn::Round(scaled), zero), q);
  } else {
    const hn::Rebind<int32_t, D> di;
    const hn::Rebind<uint32_t, D> du;
    const hn::Rebind<uint8_t, D> dq;
    const auto least = hn::Sub(hn::Set(d, static_cast<float>(std::numeric_limits<T>::min())), zero);
    const auto most = hn::Sub(hn::Set(d, static_cast<float>(std::numeric_limits<T>::max())), zero);
    const auto kept = hn::Min(hn::IfThenElse(hn::Gt(scaled, least), scaled, least), most);
    const auto whole = hn::Add(hn::NearestInt(kept), hn::ConvertTo(di, zero));
    hn::StoreU(hn::TruncateTo(dq, hn::BitCast(du, whole)), dq, reinterpret_cast<uint8_t*>(q));
  }
}

template <class T, class D>
HWY_INLINE hn::Vec<D> load_integers(D d, const T* q) {
  const hn::Rebind<int32_t, D> di;
  if constexpr (sizeof(T) == 4) {
    return hn::ConvertTo(d, hn::LoadU(di, q));
  } else {
    return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(hn::Rebind<T, D>(), q)));
  }
}

template <class T>
HWY_INLINE void quantize(const float* x, T* q, int64_t n, const Steps& steps, Zero kind) {
  with_steps(steps, [&](const Steps& own) INLINED {
    if (kind == Zero::kNear) {
      for_each<float>(n, [&](auto d, int64_t i) INLINED {
        store_rounded(d, hn::Mul(hn::LoadU(d, x + i), inverses(d, own, i)), zeros(d, own, i), q + i);
      });
    } else {
      for_each<float>(n, [&](auto d, int64_t i) INLINED {
        const auto scaled = hn::Mul(hn::LoadU(d, x + i), inverses(d, own, i)), zero = zeros(d, own, i);
        const bool far = kind == Zero::kFar;
        store_integers(d, far ? hn::Add(hn::Round(scaled), zero) : hn::Round(hn::Add(scaled, zero)), q + i);
      });
    }
  });
}

// Distances of less than 2^24 are exact in float.
template <class T>
HWY_INLINE void dequantize(const T* q, float* x, int64_t n, const Steps& steps) {
  with_steps(steps, [&](const Steps& own) INLINED {
    for_each<float>(n, [&](auto d, int64_t i) INLINED {
      hn::StoreU(hn::Mul(hn::Sub(load_integers(d, q + i), zeros(d, own, i)), scales(d, own, i)), d, x + i);
    });
  });
}
// Others are exact in double.
HWY_INLINE void dequantize_exactly(const int32_t* q, float* x, int64_t n, const Steps& steps) {
  with_steps(steps, [&](const Steps& own) INLINED {
    for_each<double>(n, [&](auto d, int64_t i) INLINED {
      const hn::Rebind<float, decltype(d)> df;
      const hn::Rebind<int32_t, decltype(d)> di;
      const auto distance = hn::Sub(hn::PromoteTo(d, hn::LoadU(di, q + i)), zeros(d, own, i));
      hn::StoreU(hn::Mul(hn::DemoteTo(df, distance), scales(df, own, i)), df, x + i);
    });
  });
}

template <class T>
HWY_INLINE void combine(const T* a, const T* b, T* q, int64_t n, const Combination& given) {
  const Combination how = given;  // which no write of the loop can change
  // Of a product the distances come first: theirs is exact.
  const float inverse = how.multiply ? how.scale_a * how.scale_b * (1.0f / how.scale) : 1.0f / how.scale;
  const float scale_a = how.multiply ? 1.0f : how.scale_a, scale_b = how.multiply ? 1.0f : how.scale_b;
  with_constant(how.multiply, [&](auto multiply) INLINED {
    with_constant(how.rectified, [&](auto rectified) INLINED {
      for_each<float>(n, [&](auto d, int64_t i) INLINED {
        const auto x = hn::Mul(hn::Sub(load_integers(d, a + i), hn::Set(d, how.zero_a)), hn::Set(d, scale_a));
        const auto y = hn::Mul(hn::Sub(load_integers(d, b + i), hn::Set(d, how.zero_b)), hn::Set(d, scale_b));
        auto result = multiply ? hn::Mul(x, y) : hn::Add(x, y);
        if (rectified) result = hn::IfThenElse(hn::Lt(result, hn::Zero(d)), hn::Zero(d), result);
        store_rounded(d, hn::Mul(result, hn::Set(d, inverse)), hn::Set(d, how.zero), q + i);
      });
    });
  });
}

template <class T>
HWY_INLINE void line(const T* q, T* out, int64_t n, const Steps& lines, float zero_in, float zero_out) {
  with_steps(lines, [&](const Steps& own) INLINED {
    for_each<float>(n, [&](auto d, int64_t i) INLINED {
      const auto distance = hn::Sub(load_integers(d, q + i), hn::Set(d, zero_in));
      const auto result = hn::Add(hn::Mul(scales(d, own, i), distance), zeros(d, own, i));
      store_rounded(d, result, hn::Set(d, zero_out), out + i);
    });
  });
}

// A part of the table of 16 bytes after the other: a byte of another part has its upper bit set, and finds 0.
void look_up(const uint8_t* q, uint8_t* out, int64_t n, const uint8_t* table) {
  int64_t i = 0;
#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int kParts = 16;
  hn::Vec<decltype(d)> parts[kParts];
  for (int p = 0; p < kParts; ++p) parts[p] = hn::LoadDup128(d, table + 16 * p);
  for (; i + lanes <= n; i += lanes) {
    const auto bytes = hn::LoadU(d, q + i);
    auto found = hn::Zero(d);
    for (int p = 0; p < kParts; ++p) {
      const auto own = hn::Xor(bytes, hn::Set(d, static_cast<uint8_t>(16 * p)));
      found = hn::Or(found, hn::TableLookupBytesOr0(parts[p], hn::SaturatedAdd(own, hn::Set(d, uint8_t{0x70}))));
    }
    hn::StoreU(found, d, out + i);
  }
#endif
  for (; i < n; ++i) out[i] = table[q[i]];
}

// Of bytes whose bits `flip` are turned around.
int64_t sum_of_bytes(const uint8_t* q, int64_t n, uint8_t flip) {
  const hn::ScalableTag<uint8_t> d;
  const hn::RepartitionToWide<hn::RepartitionToWide<hn::RepartitionToWide<decltype(d)>>> wide;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto first = hn::Zero(wide), second = hn::Zero(wide);
  const auto flips = hn::Set(d, flip);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    first = hn::Add(first, hn::SumsOf8(hn::Xor(hn::LoadU(d, q + i), flips)));
    second = hn::Add(second, hn::SumsOf8(hn::Xor(hn::LoadU(d, q + i + lanes), flips)));
  }
  auto total = static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(wide, hn::Add(first, second))));
  for (; i < n; ++i) total += q[i] ^ flip;
  return total;
}

template <class T>
HWY_INLINE void clamp(const T* q, T* out, int64_t n, T least, T most) {
  for_each<T>(n, [&](auto d, int64_t i) INLINED {
    hn::StoreU(hn::Min(hn::Max(hn::LoadU(d, q + i), hn::Set(d, least)), hn::Set(d, most)), d, out + i);
  });
}

void extremes(const float* x, int64_t n, float* least, float* most) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr int kVectors = 4;
  hn::Vec<decltype(d)> low[kVectors], high[kVectors], nan[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    low[v] = hn::Set(d, kInfinity);
    high[v] = hn::Set(d, -kInfinity);
    nan[v] = hn::Zero(d);
  }
  int64_t i = 0;
  for (; i + kVectors * lanes <= n; i += kVectors * lanes) {
    for (int v = 0; v < kVectors; ++v) {
      const auto numbers = hn::LoadU(d, x + i + v * lanes);
      low[v] = hn::Min(numbers, low[v]);
      high[v] = hn::Max(numbers, high[v]);
      nan[v] = hn::Or(nan[v], hn::IfThenZeroElse(hn::Eq(numbers, numbers), numbers));
    }
  }
  for (int v = 1; v < kVectors; ++v) {
    low[0] = hn::Min(low[0], low[v]);
    high[0] = hn::Max(high[0], high[v]);
    nan[0] = hn::Or(nan[0], nan[v]);
  }
  bool numbers_only = hn::AllTrue(d, hn::Eq(nan[0], nan[0]));
  float from = hn::GetLane(hn::MinOfLanes(d, low[0])), to = hn::GetLane(hn::MaxOfLanes(d, high[0]));
  for (; i < n; ++i) {
    numbers_only &= x[i] == x[i];
    from = x[i] < from ? x[i] : from;
    to = x[i] > to ? x[i] : to;
  }
  *least = numbers_only ? from : std::numeric_limits<float>::quiet_NaN();
  *most = numbers_only ? to : std::numeric_limits<float>::quiet_NaN();
}

// A function of its own for each type.
#define OF_INTEGERS(T, name)                                                                             \
  void quantize_##name(const float* x, T* q, int64_t n, const Steps& steps, Zero kind) {                 \
    quantize(x, q, n, steps, kind);                                                                      \
  }                                                                                                      \
  void dequantize_##name(const T* q, float* x, int64_t n, const Steps& steps) {                          \
    dequantize(q, x, n, steps);                                                                          \
  }                                                                                                      \
  void clamp_##name(const T* q, T* out, int64_t n, T least, T most) {                                    \
    clamp(q, out, n, least, most);                                                                       \
  }
OF_INTEGERS(uint8_t, u8)
OF_INTEGERS(int8_t, i8)
OF_INTEGERS(int32_t, i32)
#undef OF_INTEGERS
void dequantize_exactly_i32(const int32_t* q, float* x, int64_t n, const Steps& steps) {
  dequantize_exactly(q, x, n, steps);
}
void line_u8(const uint8_t* q, uint8_t* out, int64_t n, const Steps& lines, float zero_in, float zero_out) {
  line(q, out, n, lines, zero_in, zero_out);
}
void line_i8(const int8_t* q, int8_t* out, int64_t n, const Steps& lines, float zero_in, float zero_out) {
  line(q, out, n, lines, zero_in, zero_out);
}
void combine_u8(const uint8_t* a, const uint8_t* b, uint8_t* q, int64_t n, const Combination& how) {
  combine(a, b, q, n, how);
}
void combine_i8(const int8_t* a, const int8_t* b, int8_t* q, int64_t n, const Combination& how) {
  combine(a, b, q, n, how);
}

}  // namespace HWY_NAMESPACE
}  // namespace at::quantized
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::quantized {

namespace {
// Whether all whole zero points are near.
bool is_near(const Steps& steps, int64_t n) {
  const int64_t count = steps.each ? n : 1;
  int far = 0;  // counted to the end, which takes vectors
  for (int64_t i = 0; i < count; ++i) far |= std::abs(steps.zero[i]) <= kNear ? 0 : 1;
  return far == 0;
}
}  // namespace

#define OF_INTEGERS(T, name)                                                                                    \
  template <>                                                                                                   \
  void quantize_run<T>(const float* x, T* q, int64_t n, const Steps& steps, bool whole) {                       \
    const Zero kind = !whole ? Zero::kBroken : is_near(steps, n) ? Zero::kNear : Zero::kFar;                    \
    AT_ISA_FUNCTION(quantize_##name)(x, q, n, steps, kind);                                                     \
  }                                                                                                             \
  template <>                                                                                                   \
  void clamp_run<T>(const T* q, T* out, int64_t n, T least, T most) {                                           \
    AT_ISA_FUNCTION(clamp_##name)(q, out, n, least, most);                                                      \
  }
OF_INTEGERS(uint8_t, u8)
OF_INTEGERS(int8_t, i8)
OF_INTEGERS(int32_t, i32)
#undef OF_INTEGERS

namespace {
template <class T>
void dequantize_far(const T* q, float* x, int64_t n, const Steps& steps) {
  for (int64_t i = 0; i < n; ++i) {
    const Steps own = steps.from(i);
    x[i] = static_cast<float>(static_cast<double>(q[i]) - static_cast<double>(*own.zero)) * *own.scale;
  }
}
}  // namespace

template <>
void dequantize_run<uint8_t>(const uint8_t* q, float* x, int64_t n, const Steps& steps, bool whole) {
  if (whole && !is_near(steps, n)) return dequantize_far(q, x, n, steps);
  AT_ISA_FUNCTION(dequantize_u8)(q, x, n, steps);
}
template <>
void dequantize_run<int8_t>(const int8_t* q, float* x, int64_t n, const Steps& steps, bool whole) {
  if (whole && !is_near(steps, n)) return dequantize_far(q, x, n, steps);
  AT_ISA_FUNCTION(dequantize_i8)(q, x, n, steps);
}
template <>
void dequantize_run<int32_t>(const int32_t* q, float* x, int64_t n, const Steps& steps, bool whole) {
  if (whole) return AT_ISA_FUNCTION(dequantize_exactly_i32)(q, x, n, steps);
  AT_ISA_FUNCTION(dequantize_i32)(q, x, n, steps);
}

template <>
void combine_run<uint8_t>(const uint8_t* a, const uint8_t* b, uint8_t* q, int64_t n, const Combination& how) {
  AT_ISA_FUNCTION(combine_u8)(a, b, q, n, how);
}
template <>
void combine_run<int8_t>(const int8_t* a, const int8_t* b, int8_t* q, int64_t n, const Combination& how) {
  AT_ISA_FUNCTION(combine_i8)(a, b, q, n, how);
}

template <>
void line_run<uint8_t>(const uint8_t* q, uint8_t* out, int64_t n, const Steps& lines, float zero_in, float zero_out) {
  AT_ISA_FUNCTION(line_u8)(q, out, n, lines, zero_in, zero_out);
}
template <>
void line_run<int8_t>(const int8_t* q, int8_t* out, int64_t n, const Steps& lines, float zero_in, float zero_out) {
  AT_ISA_FUNCTION(line_i8)(q, out, n, lines, zero_in, zero_out);
}

void look_up_run(const uint8_t* q, uint8_t* out, int64_t n, const uint8_t* table) {
  AT_ISA_FUNCTION(look_up)(q, out, n, table);
}

int64_t sum_run(const uint8_t* q, int64_t n) {
  return AT_ISA_FUNCTION(sum_of_bytes)(q, n, 0);
}
int64_t sum_run(const int8_t* q, int64_t n) {
  return AT_ISA_FUNCTION(sum_of_bytes)(reinterpret_cast<const uint8_t*>(q), n, 128) - 128 * n;
}

void extremes_run(const float* x, int64_t n, float* least, float* most) {
  AT_ISA_FUNCTION(extremes)(x, n, least, most);
}

}  // namespace at::quantized
#endif  // HWY_ONCE
