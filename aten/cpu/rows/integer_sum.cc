// integer_row_sum.
#include <algorithm>
#include <type_traits>

#include "aten/cpu/rows/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/rows/integer_sum.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// In lanes of 32 bits for elements of 8 and 16, for as long as no lane can be too large; else of 64.
template <class T>
int64_t integer_sum(const T* x, int64_t n) {
  constexpr bool kNarrow = sizeof(T) <= 2;
  using Lane = std::conditional_t<kNarrow, int32_t, int64_t>;
  constexpr int64_t kSteps = kNarrow ? int64_t{1} << 15 : int64_t{1} << 62;
  const hn::ScalableTag<Lane> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto widened = [&](const T* from) HWY_ATTR {
    if constexpr (std::is_same_v<T, Lane>) {
      return hn::LoadU(d, from);
    } else {
      return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, decltype(d)>(), from));
    }
  };
  uint64_t total = 0;
  int64_t i = 0;
  while (i + 4 * lanes <= n) {
    const int64_t end = i + std::min(kSteps, (n - i) / (4 * lanes)) * 4 * lanes;
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (; i < end; i += 4 * lanes) {
      s0 = hn::Add(s0, widened(x + i));
      s1 = hn::Add(s1, widened(x + i + lanes));
      s2 = hn::Add(s2, widened(x + i + 2 * lanes));
      s3 = hn::Add(s3, widened(x + i + 3 * lanes));
    }
    HWY_ALIGN Lane part[HWY_MAX_BYTES / sizeof(Lane)];
    for (const auto s : {s0, s1, s2, s3}) {
      hn::Store(s, d, part);
      for (int64_t k = 0; k < lanes; ++k) total += static_cast<uint64_t>(part[k]);
    }
  }
  for (; i < n; ++i) total += static_cast<uint64_t>(x[i]);
  return static_cast<int64_t>(total);
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::cpu {

template <class T>
int64_t integer_row_sum(const T* x, int64_t n) {
  return AT_ISA_FUNCTION(integer_sum<T>)(x, n);
}
template int64_t integer_row_sum(const uint8_t*, int64_t);
template int64_t integer_row_sum(const int8_t*, int64_t);
template int64_t integer_row_sum(const int16_t*, int64_t);
template int64_t integer_row_sum(const int32_t*, int64_t);
template int64_t integer_row_sum(const int64_t*, int64_t);

}  // namespace at::cpu
#endif  // HWY_ONCE
